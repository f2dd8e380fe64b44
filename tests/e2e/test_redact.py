# SPDX-License-Identifier: MIT
"""--redact: neither arguments nor string keys of the program's dictionaries are in the file."""
import json

import pytest

from recording import record_python

SECRETS = (b"--token=very-secret", b"person-4711")


@pytest.mark.parametrize("is_redacted", (False, True))
def test_arguments_and_keys_are_left_out(is_redacted, tmp_path):
    recording = record_python(tmp_path, "private_names.py", "--token=very-secret", env={"VTRACE_PROBE": "2"},
                              options=("--redact",) if is_redacted else ())
    assert recording.process.returncode == 0, recording.process.stderr
    data = recording.database.read_bytes()
    assert [secret in data for secret in SECRETS] == [not is_redacted] * len(SECRETS)
    assert len(json.loads(recording.value("SELECT value FROM run WHERE key = 'command'"))) == (1 if is_redacted else 3)
    names = {name for name, in recording.query("SELECT s.text FROM tensor t JOIN string s ON s.id = t.name")}
    assert {"weight", "bias", "weight.exp_avg"} <= names
    assert ("tables.?" in names) == is_redacted


@pytest.mark.parametrize("is_redacted", (False, True))
def test_the_journal_has_no_more_than_the_database(is_redacted, tmp_path):
    """It stays where the program is killed, and is what somebody may send instead of the database."""
    hidden = b"of-no-interest-4712"
    recording = record_python(tmp_path, "private_names.py", "--token=very-secret",
                              env={"VTRACE_PROBE": "2", "API_KEY": hidden.decode()},
                              options=("--no-collect", *["--redact"] * is_redacted))
    assert recording.process.returncode == 0, recording.process.stderr
    (journal,) = tmp_path.glob("*.journal")
    data = journal.read_bytes()
    assert b"weight.exp_avg" in data and b"VTRACE_SIM_PROFILE" in data
    assert [secret in data for secret in SECRETS] == [not is_redacted] * len(SECRETS)
    assert hidden not in data and b"API_KEY" not in data

# SPDX-License-Identifier: MIT
"""Files are their owner's, never made through a link nor over another file; the environment stays where it is."""
import os
import re
import stat
import subprocess

import pytest

from recording import SOURCE, clean_environment, vtrace
from scenes import BEGIN, SCENES, calls_of, perform
from victim import DRIVER_FOLDER, environment, finish

SECRET = "wXyZ-do-not-tell-4711"


def modes(directory):
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in directory.iterdir()}


@pytest.fixture(name="is_open_to_all")
def fixture_is_open_to_all():
    before = os.umask(0)
    yield
    os.umask(before)


def test_files_are_their_owner_s(tmp_path, is_open_to_all):
    assert is_open_to_all is None
    subprocess.run([SCENES, "by_abort"], cwd=tmp_path, env=environment(tmp_path, VTRACE_COLLECT="0"), check=False)
    assert modes(tmp_path) == {"run.journal": 0o600}
    finish(tmp_path)
    assert modes(tmp_path) == {"run.db": 0o600}


def test_files_of_a_living_program_are_their_owner_s(tmp_path, is_open_to_all):
    assert is_open_to_all is None
    with subprocess.Popen([SCENES, "waits"], cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as program:
        assert program.stdout.readline() == b"begun\n"
        # Its collector writes; a reader makes what SQLite needs beside the database.
        finish(tmp_path)
        found = modes(tmp_path)
        program.communicate(b"\n")
    assert set(found) >= {"run.db", "run.journal"} and set(found.values()) == {0o600}, found


@pytest.mark.parametrize("suffix", (".db", ".journal"))
@pytest.mark.parametrize("is_dangling", (False, True))
@pytest.mark.parametrize("is_collected", ("0", "1"))
def test_nothing_goes_through_a_link(tmp_path, suffix, is_dangling, is_collected):
    target = tmp_path / "elsewhere"
    if not is_dangling:
        target.write_text("mine")
    (tmp_path / f"run{suffix}").symlink_to(target)
    subprocess.run([SCENES, "by_abort"], cwd=tmp_path, env=environment(tmp_path, VTRACE_COLLECT=is_collected),
                   check=False)
    assert vtrace("info", tmp_path / "run-2.db").returncode == 0
    assert calls_of(tmp_path / "run-2.db")[0] == BEGIN
    assert (tmp_path / f"run{suffix}").is_symlink()
    assert (not target.exists()) if is_dangling else target.read_text() == "mine"


def test_a_link_in_the_way_of_the_command(tmp_path):
    (tmp_path / "run.db").symlink_to(tmp_path / "elsewhere")
    done = perform(tmp_path, "by_exit")
    assert done.returncode == 3 and "is a dangling symbolic link" in done.stderr
    assert os.listdir(tmp_path) == ["run.db"]


def test_a_link_that_comes_later(tmp_path):
    """Between the recording's start and the database's: the import refuses it and keeps the journal."""
    subprocess.run([SCENES, "by_abort"], cwd=tmp_path, env=environment(tmp_path, VTRACE_COLLECT="0"), check=False)
    (tmp_path / "run.db").symlink_to(tmp_path / "elsewhere")
    assert vtrace("info", tmp_path / "run.db").returncode == 3
    assert sorted(os.listdir(tmp_path)) == ["run.db", "run.journal"]
    (tmp_path / "run.db").unlink()
    finish(tmp_path)
    assert calls_of(tmp_path / "run.db")[0] == BEGIN


@pytest.mark.parametrize("name", ("run.db", "run.journal"))
def test_a_file_in_the_way_stays(tmp_path, name):
    (tmp_path / name).write_text("mine")
    done = perform(tmp_path, "by_exit")
    assert done.returncode == 3 and "--force" in done.stderr
    subprocess.run([SCENES, "by_exit"], cwd=tmp_path, env=environment(tmp_path), check=False)
    assert (tmp_path / name).read_text() == "mine"
    assert calls_of(tmp_path / "run-2.db")[0][:2] == BEGIN


def documented_variables():
    """The list in docs/privacy.md."""
    text = (SOURCE / "docs" / "privacy.md").read_text()
    section = text[text.index("## Environment"):]
    return set(re.findall(r"`([A-Z][A-Z0-9_]+)`", section.split("\n## ")[0]))


def test_only_the_documented_variables_are_stored(tmp_path):
    documented = documented_variables()
    assert len(documented) > 10
    secrets = {name: SECRET for name in ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "PYTORCH_TOKEN", "CUDA_PASSWORD",
                                         "VTRACE_PASSWORD", "RANK_SECRET")}
    known = {name: f"value-of-{name}" for name in documented}
    env = clean_environment({**secrets, **known, "LD_LIBRARY_PATH": str(DRIVER_FOLDER)})
    subprocess.run([SCENES, "by_abort"], cwd=tmp_path, check=False,
                   env=env | environment(tmp_path, VTRACE_COLLECT="0") | secrets | known)
    journal = (tmp_path / "run.journal").read_bytes()
    finish(tmp_path)
    database = (tmp_path / "run.db").read_bytes()
    assert SECRET.encode() not in journal and SECRET.encode() not in database
    _, run = calls_of(tmp_path / "run.db")
    stored = {key.removeprefix("env:"): value for key, value in run.items() if key.startswith("env:")}
    assert stored == known

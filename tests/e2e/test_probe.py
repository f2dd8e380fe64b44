# SPDX-License-Identifier: MIT
"""The probe: names of storages from the program's own Python objects, and that nobody notices it."""
import json
import pathlib
import subprocess

import pytest
from recording import PYTHON, SOURCE, WORKLOADS, complete, record, record_python

ALWAYS = {"VTRACE_PROBE": "2"}
NAMES = """SELECT t.size_bytes, r.name, n.text, h.text FROM tensor t JOIN tensor_role r ON r.id = t.role
    LEFT JOIN string n ON n.id = t.name LEFT JOIN string h ON h.id = t.holder"""
REASONS = "SELECT s.text FROM probe p JOIN string s ON s.id = p.reason ORDER BY p.id"


def torch_python(version, python):
    """The Python of another PyTorch or interpreter; made (0.5 GB) if it is not there."""
    script = SOURCE / "scripts" / "torch-venv"
    pyenv = sorted((pathlib.Path.home() / ".pyenv" / "versions").glob(f"{python}.*/bin/python3"))
    options = ["--python", str(pyenv[0])] if pyenv else ["--python", f"python{python}"]
    return subprocess.run([str(script), *options, version], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module", params=[
    "this",
    pytest.param(("2.6.0", "3.9"), marks=pytest.mark.full),
    pytest.param(("2.6.0", "3.11"), marks=pytest.mark.full),
    pytest.param(("2.11.0", "3.10"), marks=pytest.mark.full),
    pytest.param(("2.11.0", "3.12"), marks=pytest.mark.full),
    pytest.param(("2.11.0", "3.13"), marks=pytest.mark.full),
    pytest.param(("2.15.0", "3.11"), marks=pytest.mark.full),
])
def python(request):
    return PYTHON if request.param == "this" else torch_python(*request.param)


def run(directory, script, python=PYTHON, env=ALWAYS):
    """(recording, what the workload printed last as JSON)"""
    recording = record(directory, python, WORKLOADS / script, env=env, options=("-q",))
    assert recording.process.returncode == 0, recording.process.stdout + recording.process.stderr
    return recording, json.loads(recording.process.stdout.splitlines()[-1])


def found(recording):
    """{bytes: {(role, name, holder)}}"""
    names = {}
    for size_bytes, *what in recording.query(NAMES):
        names.setdefault(size_bytes, set()).add(tuple(what))
    return names


def missing(recording, expected):
    names = found(recording)
    return [(what, names.get(size)) for size, *what in expected if tuple(what) not in names.get(size, ())]


def test_every_kind_of_object_has_its_name(python, tmp_path):
    recording, expected = run(tmp_path, "probe_names.py", python)
    assert len(expected) > 30
    assert missing(recording, expected) == []


def test_nobody_notices(python, tmp_path):
    """Objects that shout when they are touched, a program that looks at itself: as without the probe."""
    (tmp_path / "on").mkdir()
    (tmp_path / "off").mkdir()
    recording, probed = run(tmp_path / "on", "probe_survives.py", python)
    _, plain = run(tmp_path / "off", "probe_survives.py", python, {"VTRACE_PROBE": "0"})
    assert probed["touched"] == []
    assert missing(recording, probed["expected"]) == []
    assert "mark" in [reason for reason, in recording.query(REASONS)]
    assert probed["same"] == plain["same"]
    assert {key: probed["same"][key] for key in ("state", "references", "memory", "warned", "alive")} == {
        "state": True, "references": True, "memory": True, "warned": 0, "alive": 0}
    assert recording.process.stderr == ""


def blocks(recording):
    return recording.query("SELECT kind, device, size_bytes, address, id, freed_event FROM allocation"
                           " WHERE kind = 1 ORDER BY id")


def test_events_are_the_same_with_and_without(tmp_path):
    runs = []
    for name, value in ("off", "0"), ("on", "2"):
        (tmp_path / name).mkdir()
        runs.append(record_python(tmp_path / name, "train_mlp.py", env={"VTRACE_PROBE": value}))
    off, on = runs
    assert off.value("SELECT count(*) FROM probe") == 0
    assert on.value("SELECT count(*) FROM probe") >= 3
    assert blocks(off) == blocks(on)
    assert on.process.stdout == off.process.stdout


def test_the_first_optimizer_steps_are_looked_at_within_the_budget(tmp_path):
    recording = record_python(tmp_path, "train_mlp.py")
    assert "optimizer step" in [reason for reason, in recording.query(REASONS)]
    roles = {role for names in found(recording).values() for role, _, _ in names}
    assert {"parameter", "gradient", "optimizer"} <= roles


def test_switch_of_run(tmp_path):
    recording = record_python(tmp_path, "train_mlp.py", options=("--probe", "0"))
    assert recording.value("SELECT count(*) FROM probe") == 0
    assert recording.value("SELECT count(*) FROM tensor") == 0


def test_module_rows_are_the_instances_in_the_stacks(tmp_path):
    recording = record_python(tmp_path, "train_mlp.py", env=ALWAYS)
    in_stacks = recording.value("""SELECT count(DISTINCT f.self_address) FROM python_frame f
        JOIN torch_module m ON m.address = f.self_address""")
    assert in_stacks > 2
    roots = recording.query("""SELECT DISTINCT h.text, m.address = m.root_address FROM torch_module m
        JOIN string h ON h.id = m.holder WHERE m.name IS NULL""")
    assert ("main: model", 1) in roots


def test_out_of_memory_names_what_the_failed_frame_held(tmp_path):
    recording = record_python(tmp_path, "out_of_memory.py", "--uncaught", profile="h100-80g,memory=4GiB")
    assert recording.process.returncode == 1
    assert "out of memory" in [reason for reason, in recording.query(REASONS)]
    kept = [what for names in found(recording).values() for what in names if what[1].startswith("kept.")]
    assert len(kept) == recording.value("SELECT count(*) FROM live_at_peak WHERE kind = 1")
    assert {holder for _, _, holder in kept} == {"out_of_memory.py:main"}


def test_a_fork_child_has_names_of_its_own(tmp_path):
    recording = record_python(tmp_path, "probe_fork.py", env={**ALWAYS, "VTRACE_OUTPUT": str(tmp_path / "%p.db")},
                              name="%p.db")
    assert recording.process.returncode == 0, recording.process.stderr
    databases = complete(tmp_path)
    assert len(databases) == 2
    names = []
    for database in databases:
        recording.database = database
        names += [{what for found_here in found(recording).values() for what in found_here}]
    assert {("variable", "parents", "probe_fork.py:main")} in names
    assert {("variable", "childs", "probe_fork.py:child")} in names

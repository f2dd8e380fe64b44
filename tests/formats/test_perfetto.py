# SPDX-License-Identifier: MIT
"""`vtrace export --format perfetto`, opened by Perfetto's own trace processor."""
import pytest
from exported import export, peaks, query_trace, recording, training  # noqa: F401


@pytest.fixture(scope="module")
def trace(recording, tmp_path_factory):  # noqa: F811
    return query_trace(export(recording.database, "perfetto", tmp_path_factory.mktemp("trace") / "run.perfetto"))


def test_peaks_are_ours(recording, trace):  # noqa: F811
    assert {row["id"]: {"allocated": trace["counters"][f"cuda:{row['id']} allocated"]["most"],
                        "used": trace["counters"][f"cuda:{row['id']} device used"]["most"]}
            for row in recording.report()["devices"] if row["peak"]} == peaks(recording)


def test_owners_are_counters(recording, trace):  # noqa: F811
    """Each owner of the peak reached what it had there, and ends with what it has at the end."""
    for device in recording.report()["devices"]:
        for row in device["peak"]["owners"] if device["peak"] else []:
            if row["blocks"]:
                counter = trace["counters"][f"cuda:{device['id']} {row['owner']}"]
                assert counter["most"] >= row["bytes"] and counter["least"] >= 0


def test_stages_and_steps_are_slices(training, tmp_path):  # noqa: F811
    trace = query_trace(export(training.database, "perfetto", tmp_path / "run.perfetto"))
    by_track = {}
    for row in trace["slices"]:
        by_track.setdefault(row["track"].split(" of ")[0], []).append(row)
    assert [row["name"] for row in by_track["steps"]] == ["step 1", "step 2"]
    assert {"load", "forward", "backward", "optimizer"} <= {row["name"] for row in by_track["stages"]}
    stages = by_track["stages"]
    assert all(row["ts"] + row["dur"] == after["ts"] for row, after in zip(stages, stages[1:]))
    assert "Optimizer.step#AdamW.step" in {row["name"] for row in by_track["marks"]}
    assert any(row["name"].startswith("most allocated: ") and row["dur"] == 0 for row in by_track["cuda:0"])
    assert [row["name"] for row in trace["processes"]] == ["train_gpt.py"]


def test_files_behind_each_other_are_one_trace(training, tmp_path, recording):  # noqa: F811
    """As of the ranks of one run: `cat rank*.perfetto`."""
    one, other = (export(made.database, "perfetto", tmp_path / name).read_bytes()
                  for made, name in ((training, "a"), (recording, "b")))
    (tmp_path / "both").write_bytes(one + other)
    assert len(query_trace(tmp_path / "both")["processes"]) == 2

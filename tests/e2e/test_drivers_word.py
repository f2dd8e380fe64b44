# SPDX-License-Identifier: MIT
"""The ledger is closed against what the driver said; what nobody recorded is as much as the simulator's ledger says."""
import json
import re
import subprocess
from html import escape

import pytest

from living import Program, last_sample, until
from recording import (BUILD, LIBRARY, PYTHON, SOURCE, TIMEOUT_S, WORKLOADS, clean_environment, complete, read_ledger,
                       record_python, vtrace)

MIB, MODULES = 1 << 20, 3
SETTINGS = {
    "default": {},
    "cache off": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    "async": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
    "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "graphs": {},
}


def at_highest_use(lines):
    """Bytes of the contexts, and of what was loaded into them, when the ledger was highest."""
    highest = max(range(len(lines)), key=lambda i: lines[i].used)
    context = loaded = 0
    for line in lines[:highest + 1]:
        context += line.size if (line.op, line.kind) == ("create", "context") else 0
        loaded += line.size if line.op == "load" else 0
    return context, loaded


def row(name, peak, used):
    owned = sum(o["bytes"] for o in peak["owners"])
    print(f"{name:14} {used:12} {peak['device_used_bytes']:12} {peak['rounding_bytes']:9} {peak['context_bytes']:10}"
          f" {peak['difference_bytes']:10} {peak['device_used_bytes'] - owned - peak['difference_bytes']:3}")


def check_parts(split, context, modules, graphs):
    """Of the split context: the first measurement, and what each line that loads modules added."""
    assert split["first_bytes"] == context and split["bytes"] == context + modules * 8 * MIB + graphs
    assert not split["is_of_process"] and split["limits"] == []
    of_lines = [(part["bytes"], part["modules"], part["places"], part["where"].split()[1])
                for part in split["parts"] if part["modules"]]
    assert of_lines == ([(modules * 8 * MIB, modules, 1, "load_module")] if modules else [])
    assert sum(part["bytes"] for part in split["parts"] if not part["modules"]) == graphs


@pytest.mark.parametrize("setting, grows", [(setting, MODULES) for setting in SETTINGS] + [("cache off", 0)])
def test_what_the_driver_has_more_is_unaccounted(setting, grows, tmp_path):
    """Without NVML: nobody else can say what it is."""
    recording = record_python(tmp_path, "growing_context.py", setting, str(grows), profile="h100-80g,module=8MiB",
                              env={"VTRACE_COLLECT": "0", **SETTINGS[setting]})
    assert recording.process.returncode == 0, recording.process.stderr
    ledger = recording.read_ledger()
    context, loaded = at_highest_use(ledger.lines)
    graphs = sum(line.size for line in ledger.lines if (line.op, line.kind) == ("load", "exec"))
    assert loaded == grows * 8 * MIB + graphs and (graphs > 0) == (setting == "graphs")
    report = recording.report()
    peak = report["devices"][0]["peak"]
    row(f"{setting} {grows}", peak, ledger.peak[0])
    assert peak["context_bytes"] == context
    assert peak["difference_bytes"] == loaded
    assert peak["device_used_bytes"] == ledger.peak[0]
    assert sum(o["bytes"] for o in peak["owners"]) + loaded == ledger.peak[0]
    check_parts(report["devices"][0]["context"], context, grows, graphs)
    shares = report["coverage"]
    owned = sum(o["bytes"] for o in peak["owners"] if sum(o["provenance"].values()))
    assert sum(shares.values()) == pytest.approx(1, abs=1e-3) and shares["unknown"] >= 0.9 * loaded / (owned + loaded)
    text = vtrace("report", recording.database).stdout
    if grows:
        more = f"{loaded / MIB:.2f} MiB"
        assert f"the driver reports {more} more in use on cuda:0 than was recorded" in text
        assert f"unaccounted {more}" in text or "unaccounted 0.02 GiB" in text
    else:
        assert "the driver reports" not in text


def test_the_stack_limit_is_a_part_of_the_context(tmp_path):
    """A card keeps a stack for each of its threads: what the ledger says, at the line that set the limit."""
    recording = record_python(tmp_path, "growing_context.py", "limits", "1", profile="h100-80g,module=8MiB",
                              env={"VTRACE_COLLECT": "0"})
    assert recording.process.returncode == 0, recording.process.stderr
    grown, = [line.size for line in recording.read_ledger().lines if (line.op, line.kind) == ("load", "local")]
    split = recording.report()["devices"][0]["context"]
    stacks, = [part for part in split["parts"] if part["limits"]]
    assert (stacks["bytes"], stacks["modules"], stacks["limits"]) == (grown, 0, 1) and grown > 0
    assert stacks["where"].endswith(" set_limits")
    assert [(limit["name"], limit["value"]) for limit in split["limits"]] == [
        ("stack of a thread", 4096), ("device heap", 64 * MIB)]
    text = vtrace("report", recording.database).stdout
    section = text[text.index("\nCONTEXT  "):].partition("\n\n")[0]
    row_of_limit = rf"\n +\+{grown / MIB:.2f} MiB  1 limit set  \S+growing_context.py:\d+ set_limits\n"
    assert re.search(row_of_limit, section), section
    assert "\n  limits: stack of a thread 4.00 KiB, device heap 64.00 MiB" in section
    assert vtrace("html", "-o", tmp_path / "run.html", recording.database).returncode == 0
    page = (tmp_path / "run.html").read_text()
    assert f'<section id="context"><h2>Context</h2>\n<pre>{escape(section.lstrip())}\n' in page


def test_libraries_after_the_last_measurement_are_not_known(tmp_path):
    recording = record_python(tmp_path, "growing_context.py", "late", "1", profile="h100-80g,module=8MiB",
                              env={"VTRACE_COLLECT": "0"})
    assert recording.process.returncode == 0, recording.process.stderr
    split = recording.report("--at", "end")["devices"][0]["context"]
    assert split["unmeasured_modules"] > 0 and [part["bytes"] for part in split["parts"]] == [8 * MIB]
    text = vtrace("report", recording.database, "--at", "end").stdout
    unknown = r"\n  unknown: the size of what was loaded after the last measurement \(\d+ modules? or libraries\)\n"
    assert re.search(unknown, text), text


def test_two_processes_and_a_context_that_grows(tmp_path):
    """With NVML: what grew is the context, and the other process is told apart."""
    shared = tmp_path / "devices"
    shared.touch()
    programs = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        own = {"VTRACE_SIM_SHARED": str(shared), "VTRACE_SIM_LEDGER": str(tmp_path / name / "ledger")}
        programs.append(Program(tmp_path / name, "h100-80g,module=8MiB", own))
    first, second = programs
    try:
        first.tell("alloc 3")
        second.tell("alloc 40")
        first.tell("load 2")
        wanted = {"context": (522 + 16) * MIB, "other": (522 + 40 * 2) * MIB}
        until(lambda: last_sample(first) == (wanted["context"] + 6 * MIB, wanted["other"]))
        first.tell("alloc 1")
    finally:
        errors = [program.end("quit 0")[1] for program in programs]
    done = vtrace("report", "--json", first.directory / "run.db")
    peak = json.loads(done.stdout)["devices"][0]["peak"]
    taken = sum(max(line.used for line in read_ledger(tmp_path / name / "ledger").lines)
                for name in ("first", "second"))
    row("two processes", peak, taken)
    assert peak["device_used_bytes"] == taken
    assert peak["context_bytes"] == wanted["context"] and peak["other_processes_bytes"] == wanted["other"]
    assert peak["rounding_bytes"] == 4 * MIB and peak["difference_bytes"] == 0
    assert peak["device_used_bytes"] == wanted["context"] + wanted["other"] + 8 * MIB
    said = uses_said_of(first.directory / "run.db")
    assert {said[name] for name in ("report", "info", "metrics")} == {taken}
    assert {said[name] for name in ("list", "diff", "check")} == {taken - wanted["other"]}
    assert use_in_closing_line(errors[0]) == f"{taken / (1 << 30):.2f} GiB"


def uses_said_of(database):
    """By command: the highest use of the device."""
    def answer(*command):
        done = vtrace(*command, cwd=database.parent)
        assert done.returncode == 0, done.stderr
        return done.stdout if command[0] == "metrics" else json.loads(done.stdout)
    (database.parent / "memory.toml").write_text('[total]\ndevice_used = "2 TiB"\n')
    return {
        "report": answer("report", "--json", database)["devices"][0]["peak"]["device_used_bytes"],
        "info": answer("info", "--json", database)["devices"][0]["device_used_bytes"],
        "list": answer("list", "--json", database)["recordings"][0]["process_used_bytes"],
        "diff": answer("diff", "--json", database, database)["devices"][0]["process_used"]["new_bytes"],
        "check": answer("check", "--json", database)["limits"][0]["figure"],
        "metrics": int(re.search(r"^vtrace_peak_used_bytes\{.*\} (\d+)$", answer("metrics", database), re.M)[1]),
    }


def use_in_closing_line(errors):
    return re.search(r"; peak (\S+ \S+) on cuda:0; ", errors)[1]


@pytest.mark.parametrize("profile, setting", (("h100-80g", "alloc 300"), ("h100-80g,memory=2GiB", "alloc 757"),
                                              ("h100-80g,module=8MiB", "load 3")))
def test_every_command_says_the_same_highest_use(profile, setting, tmp_path):
    """Of small allocations, whose pages are mostly empty; of a card that is full; of a context that grew."""
    program = Program(tmp_path, profile)
    program.tell("alloc 5")
    program.tell(setting)
    _, errors = program.end("alloc 1")
    database = tmp_path / "run.db"
    said = uses_said_of(database)
    assert set(said.values()) == {said["report"]}, said
    peak = json.loads(vtrace("report", "--json", database).stdout)["devices"][0]["peak"]
    assert peak["rounding_bytes"] > 0
    info = json.loads(vtrace("info", "--json", database).stdout)["devices"][0]
    assert info["context_bytes"] == peak["context_bytes"]
    assert use_in_closing_line(errors) == re.search(r"^PEAK +(\S+ \S+) of", vtrace("report", database).stdout, re.M)[1]


def test_the_recorder_says_it_itself(tmp_path):
    """Without `vtrace run`; the collector's sum is waited for."""
    environment = clean_environment() | {"VTRACE_PRELOAD": str(LIBRARY), "VTRACE_OUTPUT": str(tmp_path / "run.db")}
    done = subprocess.run([SOURCE / "tests" / "simulator" / "sim-run", BUILD, "h100-80g", PYTHON,
                           WORKLOADS / "hold_memory.py"], cwd=tmp_path, env=environment, input="alloc 300\n",
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    complete(tmp_path)
    text = vtrace("report", tmp_path / "run.db").stdout
    assert use_in_closing_line(done.stderr) == re.search(r"^PEAK +(\S+ \S+) of", text, re.M)[1] == "1.10 GiB"


def test_every_command_says_what_was_allocated_without_a_framework(tmp_path):
    """No allocator cuts blocks: it is what the driver gave."""
    program = Program(tmp_path)
    program.tell("alloc 40")
    program.end("quit 0")
    database = tmp_path / "run.db"
    (tmp_path / "memory.toml").write_text('[total]\nallocated = "1 GiB"\n')
    listed = json.loads(vtrace("list", "--json", tmp_path).stdout)["recordings"][0]["allocated_bytes"]
    compared = json.loads(vtrace("diff", "--json", database, database).stdout)["devices"][0]["allocated"]["new_bytes"]
    checked = json.loads(vtrace("check", "--json", database, cwd=tmp_path).stdout)["limits"][0]["figure"]
    assert [listed, compared, checked] == [40 * MIB] * 3
    assert "in blocks" not in vtrace("info", database).stdout
    (tmp_path / "grown").mkdir()
    program = Program(tmp_path / "grown")
    program.tell("alloc 50")
    program.end("quit 0")
    text = vtrace("diff", database, tmp_path / "grown/run.db").stdout
    assert text.startswith("peak allocated +10.00 MiB (+25.0 %): "), text
    assert "\n  peak allocated       50.00 MiB (was 40.00 MiB)" in text and "  1 owner unchanged  " in text, text

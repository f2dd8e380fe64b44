# SPDX-License-Identifier: MIT
"""vtrace check: a run against its budget, what broke a limit, and budgets that are refused."""
import json
import re
from xml.etree import ElementTree

import pytest

from recording import BUILD, PYTHON, WORKLOADS, record, vtrace

DRIVER_KINDS = BUILD / "tests" / "workloads" / "driver_kinds"
SCRIPT = WORKLOADS / "diff_training.py"
# NAME: allocates 64 MiB and frees it between two marks, leaves 8 MiB behind; 16 MiB were there before.
MARKED = """
import ctypes, sys
cuda, marks = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
pointer = ctypes.c_uint64()
def allocate(mib):
    assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(mib << 20)) == 0
    return ctypes.c_uint64(pointer.value)
cuda.cuInit(0)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
first = allocate(256); cuda.cuMemFree_v2(first)
before = allocate(16)
marks.vtrace_mark(b"begin")
inside = allocate(64); kept = allocate(8); cuda.cuMemFree_v2(inside)
marks.vtrace_mark(b"done")
cuda.cuMemFree_v2(kept)
if sys.argv[1:]:
    import os; os.abort()
"""


# What became of a program: (what it runs, what is said of it).
ENDINGS = {
    "well": ("", None),
    "by an exception": ("raise ValueError('a wrong shape')", "the run ended with exit status 1: figures cover"),
    "out of memory": ("torch.empty(1 << 42, device='cuda')", "the run did not end normally (out of memory): figures"),
}


def record_training(directory, *arguments):
    recording = record(directory, PYTHON, SCRIPT, *arguments)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording.database


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return record_training(tmp_path_factory.mktemp("base"), "batch=3")


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    return record_training(tmp_path_factory.mktemp("grown"), "batch=4")


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    recording = record(tmp_path_factory.mktemp("marked"), PYTHON, "-c", MARKED)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording.database


@pytest.fixture
def check(tmp_path):
    def run(database, budget, *options, code):
        path = tmp_path / "memory.toml"
        path.write_text(budget)
        done = vtrace("check", database, "--budget", path, *options, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        return done
    return run


@pytest.fixture
def rows(check):
    def run(database, budget, *options, code):
        found = json.loads(check(database, budget, "--json", *options, code=code).stdout)
        return {row["limit"]: row for row in found["limits"]}
    return run


# Each with what the report says of it.
FIGURES = {
    "total.device_used": lambda r: r["devices"][0]["peak"]["device_used_bytes"],
    "total.reserved": lambda r: r["devices"][0]["peak"]["reserved_bytes"],
    "stages.forward": lambda r: max(s["peak_bytes"] for s in r["stages"] if s["name"] == "forward"),
    "steps.peak": lambda r: max(s["peak_bytes"] for s in r["steps"]),
    "steps.2": lambda r: r["steps"][1]["peak_bytes"],
    "findings.logits-kept-whole": lambda r: sum(f["saves_bytes"] for f in r["findings"]
                                                if f["id"] == "logits-kept-whole"),
}


def budget_of(name, amount):
    table, key = name.split(".", 1)
    return f'[{table}]\nabsent = ["{key}"]\n' if table == "findings" else f'[{table}]\n"{key}" = "{amount}"\n'


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_those_of_the_report(rows, grown, name):
    report = json.loads(vtrace("report", grown, "--json").stdout)
    expected = FIGURES[name](report)
    assert expected > 1 << 20
    row = rows(grown, budget_of(name, f"{expected - 1}"), code=1)[name]
    assert (row["figure"], row["outcome"], row["places"] != []) == (expected, "broken", True)
    if not name.startswith("findings"):
        row = rows(grown, budget_of(name, f"{expected}"), code=0)[name]
        assert (row["figure"], row["outcome"], row["margin"]) == (expected, "held", 0)


def test_what_pools_keep_is_used_too(rows, tmp_path):
    """Bytes that no allocation stands for: the device has lost them all the same."""
    recording = record(tmp_path, DRIVER_KINDS, "kept")
    assert recording.process.returncode == 0, recording.process.stderr
    expected = FIGURES["total.device_used"](recording.report())
    row = rows(recording.database, "[total]\ndevice_used = 0\n", code=1)["total.device_used"]
    assert row["figure"] == expected


def test_an_owner_counts_at_its_own_highest_with_all_below_it(rows, grown):
    found = rows(grown, '[owners]\nactivations = 0\n"activations/mlp" = 0\nlogits = "4 GiB"\n', code=1)
    blocks = json.loads(vtrace("report", grown, "--at", "stage:forward", "--json").stdout)
    owners = {o["owner"]: o["bytes"] for o in blocks["devices"][0]["peak"]["owners"]}
    assert found["owners.activations"]["figure"] >= sum(b for o, b in owners.items() if o.startswith("activations"))
    mlp = found["owners.activations/mlp"]
    assert found["owners.activations"]["figure"] > mlp["figure"] >= owners["activations/mlp"]
    assert all(p["owner"] == "activations/mlp" for p in mlp["places"])
    assert found["owners.logits"]["outcome"] == "held"


def test_a_broken_limit_names_the_line_that_grew(check, rows, base, grown):
    budget = f'baseline = "{base}"\n[total]\nallocated = "+1%"\n[owners]\nweights = "+0"\n'
    found = rows(grown, budget, code=1)
    total, weights = found["total.allocated"], found["owners.weights"]
    assert (total["outcome"], weights["outcome"]) == ("broken", "held")
    assert total["figure"] - total["allowed"] == -total["margin"] and total["base"] < total["allowed"]
    place = total["places"][0]
    assert place["owner"] == "logits" and place["bytes"] > place["base_bytes"] > 0
    assert place["file"].endswith("diff_training.py") and "loss_of" in place["stack"][0]
    source = SCRIPT.read_text().splitlines()[place["line"] - 1]
    assert "cross_entropy" in source
    text = check(grown, budget, "--github", code=1).stdout
    assert "FAILED total.allocated: " in text and "memory.toml:3" in text
    assert re.search(r"^::error file=\S*diff_training.py,line=%d,title=vtrace%%3A total.allocated::" % place["line"],
                     text, re.M), text
    # The other way round all is well: less is never a failure.
    assert check(base, f'baseline = "{grown}"\n[total]\nallocated = "+0"\n', code=0).stdout.count("  ok  ") == 1


def test_figures_of_a_run_can_be_the_baseline_of_the_next(check, rows, base, grown, tmp_path):
    figures = tmp_path / "figures.json"
    figures.write_text(check(base, '[total]\nallocated = "1 TiB"\n', "--json", code=0).stdout)
    budget = 'baseline = "figures.json"\n[total]\nallocated = "+1%"\n'
    assert rows(base, budget, code=0)["total.allocated"]["base"] == \
        rows(grown, budget, code=1)["total.allocated"]["base"]
    # Which line grew, figures do not say; the largest need not have.
    text = check(grown, budget, "--github", code=1).stdout
    assert re.search(r"^::error file=\S*memory.toml,line=3,title=", text, re.M), text
    row = rows(grown, budget + 'reserved = "+1%"\n', code=1)["total.reserved"]
    assert (row["outcome"], row["failed"]) == ("missing", True) and "does not have this figure" in row["why"]
    # The option stands for the key.
    assert rows(grown, budget, "--baseline", grown, code=0)["total.allocated"]["margin"] > 0


def test_several_baselines_show_what_is_noise(rows, base, tmp_path):
    figure = rows(base, '[total]\nallocated = "1 TiB"\n', code=0)["total.allocated"]["figure"]

    def write(name, kib):
        (tmp_path / name).write_text(json.dumps({"limits": [
            {"limit": "total.allocated", "figure": figure - 1024 * kib}]}))
    for name, kib in (("a.json", 3072), ("b.json", 1024), ("c.json", 2048), ("d.json", 2500)):
        write(name, kib)
    budget = '[total]\nallocated = "+0"\n'
    of_three = 'baseline = ["a.json", "b.json", "c.json"]\n' + budget
    row = rows(base, of_three, code=0)["total.allocated"]
    assert (row["base"], row["spread"], row["allowed"]) == (figure - (2 << 20), 2 << 20, figure)
    # Closer together they allow less; a tolerance that is larger allows that.
    of_two = 'baseline = ["c.json", "d.json"]\n' + budget
    row = rows(base, of_two, code=1)["total.allocated"]
    assert (row["base"], row["spread"]) == (figure - 2500 * 1024, 452 * 1024)
    assert rows(base, 'tolerance = "3 MiB"\n' + of_two, code=0)["total.allocated"]["outcome"] == "held"
    options = [word for name in ("a", "b", "c") for word in ("--baseline", tmp_path / f"{name}.json")]
    assert rows(base, of_two, *options, code=0)["total.allocated"]["spread"] == 2 << 20
    (tmp_path / "b.json").write_text('{"limits": []}')
    row = rows(base, of_three, code=1)["total.allocated"]
    assert row["outcome"] == "missing" and "does not have this figure" in row["why"]


def test_baselines_that_are_wrong(check, base, tmp_path):
    limit = '[total]\nallocated = "+0"\n'
    (tmp_path / "a.json").write_text('{"limits": []}')
    assert "a.json is given twice" in check(base, 'baseline = ["a.json", "a.json"]\n' + limit, code=2).stderr
    for line in ("baseline = []", "baseline = [1]", 'baseline = [""]'):
        assert "memory.toml:1:" in check(base, f"{line}\n{limit}", code=3).stderr


@pytest.mark.parametrize("limit,why", (
    ("stages.evaluation", "no stage evaluation"), ("steps.99", "has 5 steps"),
    ("steps.growth", "5 steps")))
def test_what_the_run_does_not_have_fails_or_is_skipped(check, rows, grown, limit, why):
    row = rows(grown, budget_of(limit, "1 TiB"), code=1)[limit]
    assert (row["outcome"], row["figure"], row["failed"]) == ("missing", None, True) and why in row["why"]
    skipped = check(grown, budget_of(limit, "1 TiB"), "--missing", "skip", code=0).stdout
    assert "skipped" in skipped and why in skipped


@pytest.mark.parametrize("table", ("owners", "left"))
@pytest.mark.parametrize("owner", ("nobody", "activations/nothing", "weight"))
def test_a_misspelt_owner_is_a_wrong_budget(check, grown, table, owner):
    done = check(grown, f'[total]\nallocated = 1\n[{table}]\n"{owner}" = "1 TiB"\n', "--missing", "skip", code=3)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert f"memory.toml:4: unknown owner \"{table}.{owner}\"" in done.stderr and "logits" in done.stderr


def test_programs_without_pytorch_name_their_owners_themselves(rows, tmp_path):
    plain = record(tmp_path, BUILD / "tests" / "workloads" / "driver_client", "2").database
    row = rows(plain, '[owners]\nmy_pool = "1 TiB"\n', code=1)["owners.my_pool"]
    assert row["outcome"] == "missing" and "unknown owner" in row["why"]


def test_growth_and_what_holds_it(rows, tmp_path):
    """A leak of 12 steps: the figure is that of vtrace leaks, the place is the one that piles up."""
    script = tmp_path / "twelve.py"
    script.write_text(SCRIPT.read_text().replace("range(5)", "range(12)"))
    recording = record(tmp_path, PYTHON, script, "leak=1")
    assert recording.process.returncode == 0, recording.process.stderr
    row = rows(recording.database, '[steps]\ngrowth = "64 KiB"\n', code=1)["steps.growth"]
    growth = json.loads(vtrace("leaks", recording.database, "--json").stdout)["growth"]
    assert row["figure"] == pytest.approx(sum(g["bytes_per_iteration"] for g in growth), rel=0.01)
    assert row["figure"] >= 1 << 20
    assert "main" in row["places"][0]["stack"][0]


def test_between_two_marks(rows, marked):
    budget = '[total]\nallocated = 0\n[left]\ntotal = 0\n'
    whole = rows(marked, budget, code=1)
    # All that is left at the end of the program.
    assert (whole["total.allocated"]["figure"], whole["left.total"]["figure"]) == (256 << 20, 16 << 20)
    between = rows(marked, budget, "--from", "begin", "--to", "done", code=1)
    assert (between["total.allocated"]["figure"], between["left.total"]["figure"]) == (88 << 20, 8 << 20)


def test_marks_that_are_not_there_or_the_wrong_way_round(check, marked):
    budget = '[total]\nallocated = "1 GiB"\n'
    assert "no mark named \"nowhere\"" in check(marked, budget, "--from", "nowhere", code=3).stderr
    done = check(marked, budget, "--from", "done", "--to", "begin", code=3)
    assert done.stderr.count("\n") == 1 and "comes before" in done.stderr


def test_junit(check, grown, tmp_path):
    budget = '[total]\nallocated = 1\nreserved = "1 TiB"\n[stages]\ngeneration = "1 GiB"\n'
    check(grown, budget, "--junit", "out.xml", "--missing", "skip", code=1)
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {"total.allocated": ["failure"], "total.reserved": [], "stages.generation": ["skipped"]}
    assert "diff_training.py" in suite.find("testcase/failure").text
    # What is there stays, and is refused before anything is checked: no verdict is lost in exit code 3.
    (tmp_path / "out.xml").write_text("mine")
    refused = check(grown, budget, "--junit", "out.xml", code=3)
    assert "use --force to overwrite" in refused.stderr and refused.stdout == ""
    assert (tmp_path / "out.xml").read_text() == "mine"
    # Who reads the old one goes on reading it; nothing else is left behind.
    with open(tmp_path / "out.xml") as old:
        check(grown, budget, "--junit", "out.xml", "--force", code=1)
        assert old.read() == "mine"
    assert ElementTree.parse(tmp_path / "out.xml").getroot().get("tests") == "3"
    assert {path.name for path in tmp_path.iterdir()} == {"memory.toml", "out.xml"}
    (tmp_path / "link.xml").symlink_to("out.xml")
    check(grown, "[total]\nallocated = 1\n", "--junit", "link.xml", "--force", code=1)
    assert (tmp_path / "link.xml").is_symlink()
    assert ElementTree.parse(tmp_path / "out.xml").getroot().get("tests") == "1"
    (tmp_path / "link.xml").unlink()
    (tmp_path / "folder").mkdir()
    # Before the check: what it found would be hidden by this exit code.
    for target in ("folder", "nowhere/out.xml"):
        done = check(grown, budget, "--junit", target, "--force", code=3)
        assert target in done.stderr and (target == "folder" or not done.stdout)
    assert {path.name for path in tmp_path.iterdir()} == {"memory.toml", "out.xml", "folder"}


def test_keys_and_names_drive_no_terminal_and_break_no_xml(marked, tmp_path):
    (tmp_path / "b\033[32m.toml").write_text('[owners]\n"unknown" = "1 TiB"\n"a\\u001b[31mRED\\n" = 1\n')
    options = ("--budget", "b\033[32m.toml", "--junit", "out.xml")
    done = vtrace("check", marked, *options, cwd=tmp_path)
    assert done.returncode == 1 and "\033" not in done.stdout + done.stderr
    assert "owners.a?[31mRED?" in done.stdout and "b?[32m.toml" in done.stdout
    cases = ElementTree.parse(tmp_path / "out.xml").getroot().iter("testcase")
    assert [case.get("name") for case in cases] == ["owners.unknown", "owners.a?[31mRED?"]


@pytest.mark.parametrize("budget,line,words", (
    ('[total]\nall = "1 GiB"\n', 2, "total.all: [total] accepts only device_used, allocated, reserved"),
    ('[totals]\nallocated = "1 GiB"\n', 2,
     "unknown table [totals]; known: total, owners, stages, steps, fragmentation, left, findings, recording\n"),
    ('top = 1\n', 1, 'only "baseline"'),
    ('[total]\nallocated = "2 parsecs"\n', 2, 'total.allocated: "2 parsecs" is not'),
    ('[total]\nallocated = -5\n', 2, '"-5" is not'),
    ('[total]\nallocated = 1.5\n', 2, "an amount such as"),
    ('[total]\nallocated = ["1 GiB"]\n', 2, "an amount such as"),
    ('[total]\nallocated = []\nreserved = "1 TiB"\n', 2, "total.allocated: an amount such as"),
    ('baseline = []\n[total]\nallocated = 1\n', 1, "the name of a recording"),
    ('[totals]\nallocated = []\n[total]\nallocated = 1\n', 2, "unknown table [totals]"),
    ('[total]\nallocated = "5%"\n', 2, "an increase over the baseline"),
    ('[total]\nallocated = "+5%"\n', 2, "needs a baseline"),
    ('[total]\nallocated = "1 GiB"\nallocated = "2 GiB"\n', 3, "allocated"),
    ('[owners.activations]\nmlp = 1\n', 1, "owners.activations: an amount"),
    ('[stages]\nforwards = "1 GiB"\n', 2,
     "unknown stage; known: load, forward, backward, optimizer, evaluation, generation, other\n"),
    ('[steps]\nhighest = "1 GiB"\n', 2, "peak, growth or a step number"),
    ('[steps]\n0 = "1 GiB"\n', 2, "a step number"),
    ('[fragmentation]\nshare = "1 GiB"\n', 2, "is not a percentage"),
    ('[findings]\nabsent = ["equal-bufers"]\n', 2, 'no finding is called "equal-bufers"'),
    ('[findings]\nabsent = ["equal-buffers", "equal-buffers"]\n', 2, "twice"),
    ('[recording]\nlost = "1 GiB"\n', 2, "a number"), ('[recording]\nended = true\n', 2, '"normally"'),
    ('[recording]\nwhole = true\n', 2, "[recording] accepts only lost, ended"),
    ('[findings]\nabsent = true\n', 2, "a list of findings"),
    ('baseline = 7\n[total]\nallocated = 1\n', 1, "the name of a recording"),
    ('[total\n', 1, ""), ('[total]\nallocated = "1\n', 2, "")))
def test_bad_budgets_are_refused_where_they_are_bad(check, marked, budget, line, words):
    done = check(marked, budget, code=3)
    assert re.fullmatch(r"vtrace: \S*memory.toml:%d: .*\n" % line, done.stderr), done.stderr
    assert words in done.stderr and done.stdout == ""


@pytest.mark.parametrize("budget,words", (("", "defines no limits"), ("[total]\n", "defines no limits"),
                                          ("[findings]\nabsent = []\n", "defines no limits"),
                                          ('baseline = "none.db"\n[total]\nallocated = "+1%"\n', "none.db"),
                                          ('baseline = "memory.toml"\n[total]\nallocated = "+1%"\n', "memory.toml"),
                                          ('baseline = "bad.json"\n[total]\nallocated = "+1%"\n', "bad.json")))
def test_files_that_are_none_are_refused(check, marked, tmp_path, budget, words):
    (tmp_path / "bad.json").write_text("[]")
    done = check(marked, budget, code=3)
    assert words in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_wrong_usage(marked, tmp_path):
    for options in (["--missing", "maybe"], ["--top", "many"], ["--budget"]):
        assert vtrace("check", marked, *options, cwd=tmp_path).returncode == 2
    done = vtrace("check", marked, cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr == "vtrace: no budget: memory.toml is not in this folder, and --budget FILE is not given\n"
    done = vtrace("check", marked, "--budget", "other.toml", cwd=tmp_path)
    assert (done.returncode, "other.toml: No such file" in done.stderr) == (3, True)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_that_did_not_end_well_says_so(ending, check, tmp_path):
    """It may not have come as far as to what would have broken a limit."""
    program, said = ENDINGS[ending]
    program = f"import torch; x = torch.empty(1 << 20, device='cuda'); {program}"
    database = record(tmp_path, PYTHON, "-c", program).database
    budget = '[total]\ndevice_used = "1 TiB"\n'
    text = check(database, budget, code=0).stdout
    notes = json.loads(check(database, budget, "--json", code=0).stdout)["notes"]
    assert [line[8:] for line in text.splitlines() if line.startswith("  note: ")] == notes
    assert [note for note in notes if note.startswith("the run ")] == notes and len(notes) == (said is not None)
    assert not said or notes[0].startswith(said)


def test_a_warning_fails_nothing_and_is_said(check, rows, grown, tmp_path):
    budget = 'warn = ["total.allocated"]\n[total]\nallocated = 0\nreserved = "70 GiB"\n'
    done = check(grown, budget, "--github", code=0)
    assert "total.allocated  WARNING" in done.stdout and "all limits hold (1 warning)" in done.stdout
    assert "::warning file=tests/workloads/diff_training.py,line=" in done.stdout and "::error" not in done.stdout
    found = rows(grown, budget, code=0)["total.allocated"]
    assert (found["outcome"], found["failed"], found["warned"]) == ("broken", False, True)
    check(grown, budget, "--junit", "out.xml", code=0)
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert suite.get("failures") == "0" and "diff_training.py" in suite.find("testcase/system-out").text


def test_a_tolerance_is_for_what_grew(rows, base, grown):
    """Between batch 3 and batch 4 lie more than 10 MiB, and less than 1 GiB."""
    limits = f'baseline = "{base}"\n[total]\nallocated = "+0"\n'
    more = rows(grown, limits, code=1)["total.allocated"]
    more = more["figure"] - more["base"]
    for tolerance, code in (("1 B", 1), (f"{more - 1}", 1), (f"{more}", 0), ("900%", 0)):
        found = rows(grown, f'tolerance = "{tolerance}"\n{limits}', code=code)["total.allocated"]
        assert found["outcome"] == ("broken" if code else "held"), found


@pytest.mark.parametrize("line, words", (
    ('warn = ["total.used"]', 'has no limit "total.used"'), ("warn = true", "a list of limits"),
    ('tolerance = "+5%"', "allowed between equal runs"), ('tolerance = "much"', "allowed between equal runs"),
    ("patience = 3", '"baseline", "tolerance" and "warn"')))
def test_bad_words_for_all_limits(check, marked, line, words):
    assert words in check(marked, f'{line}\n[total]\nallocated = "1 GiB"\n', code=3).stderr


def test_markdown_for_a_summary_page(check, grown):
    done = check(grown, '[total]\nallocated = 0\nreserved = "70 GiB"\n', "--format", "markdown", "--repository",
                 "https://gitlab.com/a/b", "--revision", "abc", code=1)
    assert done.stdout.startswith("### GPU memory: 1 of 2 limits failed\n\n| limit |")
    assert "(https://gitlab.com/a/b/-/blob/abc/tests/workloads/diff_training.py#L" in done.stdout


def test_a_budget_to_begin_with(grown, tmp_path):
    """It holds for the run that it was made of; less room breaks it."""
    done = vtrace("check", "--init", "memory.toml", grown, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "memory.toml\n"), done.stderr
    text = (tmp_path / "memory.toml").read_text()
    assert all(word in text for word in ("[total]", "[owners]", '"logits"', "[recording]", "# this run: "))
    assert vtrace("check", grown, cwd=tmp_path).returncode == 0
    (tmp_path / "memory.toml").write_text(re.sub(r'(allocated += )"\d+ MiB"', r'\1"9 MiB"', text))
    assert vtrace("check", grown, cwd=tmp_path).returncode == 1
    again = vtrace("check", "--init", "memory.toml", grown, cwd=tmp_path)
    assert again.returncode == 3 and "use --force to overwrite" in again.stderr
    both = vtrace("check", "--init", "new.toml", "--budget", "memory.toml", grown, cwd=tmp_path)
    assert both.returncode == 2 and "nothing is checked" in both.stderr and not (tmp_path / "new.toml").exists()
    assert vtrace("check", "--init", "memory.toml", "--force", grown, cwd=tmp_path).returncode == 0


def test_a_budget_to_begin_with_of_a_run_that_failed(tmp_path):
    """It does not ask for an end that the run did not have."""
    failed = record(tmp_path, PYTHON, "-c", MARKED, "abort").database
    made = vtrace("check", "--init", "memory.toml", failed, cwd=tmp_path)
    assert (made.returncode, made.stdout) == (0, "memory.toml\n")
    assert "did not end normally" in made.stderr and made.stderr.count("\n") == 1
    assert "# ended " in (tmp_path / "memory.toml").read_text()
    assert vtrace("check", failed, cwd=tmp_path).returncode == 0

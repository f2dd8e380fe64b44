# SPDX-License-Identifier: MIT
"""The hooks: a test with a mark of ours runs in a recorded process of its own, whose figures its limits bound."""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

import pytest

from . import baselines, child, limits, process, session_torch

PROPERTY = "vtrace"  # of a report: how figures come from xdist's workers
TOOK = "vtrace-took"
STATE = pytest.StashKey()
OOM_LINES = 30
NO_OOM = "no failed request"  # `vtrace oom` of a run that never ran out


def installed_command():
    """That of the wheel, whose environment need not be on PATH."""
    try:
        from vtrace import command
    except ImportError:
        return None
    return command()


class State:
    def __init__(self, config):
        self.is_child = os.environ.get(child.VARIABLE) == str(os.getpid())
        self.has_page = config.getoption("vtrace_html")
        self.vtrace = (config.getoption("vtrace_command") or os.environ.get("VTRACE") or shutil.which("vtrace")
                       or installed_command())
        self.simulate = config.getoption("vtrace_simulate")
        self.is_update = config.getoption("vtrace_update")
        kept = config.getoption("vtrace_dir")
        # pytest takes no folder for its cache that has ".." in it.
        self.kept = pathlib.Path(kept).resolve() if kept else None
        self.folder = None
        self.figures = {}  # by file of baselines, by test
        self.has_failed = False
        self.top = config.getoption("vtrace_top")
        self.took = {}  # bytes by test

    def folder_of(self, item):
        if not self.folder:
            self.folder = self.kept or pathlib.Path(tempfile.mkdtemp(prefix="pytest-vtrace-")).resolve()
        folder = self.folder / process.name_of(item.nodeid)
        # Of a test that is run again, or by an earlier session.
        shutil.rmtree(folder, ignore_errors=True)
        return folder


def pytest_addoption(parser):
    group = parser.getgroup("vtrace", "GPU memory of tests")
    group.addoption("--vtrace-simulate", metavar="PROFILE",
                    help="run marked tests on a simulated GPU, such as h100-80g")
    group.addoption("--vtrace-update", action="store_true",
                    help='write the figures of limits such as "+5%%" to the baseline files')
    group.addoption("--vtrace-dir", metavar="DIR", help="keep all recordings there (default: those of failures)")
    group.addoption("--vtrace-html", action="store_true",
                    help="write a page beside each recording that a failure names (vtrace html)")
    group.addoption("--vtrace-top", metavar="N", type=int, default=0,
                    help="list the N marked tests that had most memory allocated")
    group.addoption("--vtrace-command", metavar="FILE", help="the vtrace command (default: $VTRACE, or that on PATH)")


def pytest_configure(config):
    for line in ('gpu_memory(limit, owner=None, what="allocated"): the most GPU memory while the test runs: '
                 '"2 GiB", or "+5%" more than the baseline',
                 'gpu_leaks(limit="0", owner=None): what the test may leave allocated behind it'):
        config.addinivalue_line("markers", line)
    config.stash[STATE] = state = State(config)
    if state.is_child:
        return
    if not hasattr(config, "workerinput"):
        if state.kept:
            make_kept(state.kept, config.getoption("vtrace_dir"))
        if state.simulate:
            check_profile(state)
    if state.simulate and state.vtrace and shutil.which(state.vtrace):
        with tempfile.TemporaryDirectory(prefix="pytest-vtrace-") as folder:
            session_torch.make_importable(state.vtrace, state.simulate, folder)


def make_kept(folder, name):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Made, but not for us to write to: said now, instead of by every test.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise pytest.UsageError(f"--vtrace-dir {name}: {error.strerror}") from None


def check_profile(state):
    """Once at the start, instead of in every test; a missing command is said by the tests that need it."""
    if not state.vtrace or not shutil.which(state.vtrace):
        return
    with tempfile.TemporaryDirectory(prefix="pytest-vtrace-") as folder:
        database = os.path.join(folder, "run.db")
        done = subprocess.run([state.vtrace, "run", "-q", "-o", database, "--simulate", state.simulate, "--", "true"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise pytest.UsageError((done.stderr.strip() or f"--vtrace-simulate {state.simulate}").splitlines()[0])


def fail(item, text, when="call"):
    return pytest.TestReport(nodeid=item.nodeid, location=item.location, keywords={x: 1 for x in item.keywords},
                             outcome="failed", longrepr=text, when=when)


def explain_oom(state, outcome):
    """The first lines of why memory ran out, if it did."""
    done = subprocess.run([state.vtrace, "oom", str(outcome.database)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    has_failed = done.returncode == 0 and not done.stdout.startswith(NO_OOM)
    return "\n".join(done.stdout.splitlines()[:OOM_LINES]) if has_failed else ""


def kept_line(state, outcome):
    """A process that never used a GPU leaves no recording."""
    if not outcome.database.exists():
        return ""
    line = f"\nrecording: {outcome.database}"
    if not state.has_page:
        return line
    done = subprocess.run([state.vtrace, "html", str(outcome.database)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    return f"{line}\npage: {(done.stdout if done.returncode == 0 else done.stderr).strip()}"


def crash_report(state, item, outcome):
    text = f"the test's process {outcome.died}\n{outcome.output}{kept_line(state, outcome)}"
    return fail(item, text)


def judge(state, item, outcome, wanted, report, folder):
    """Turns the passed report of a call into a failed one where a limit is exceeded."""
    # What is to be replaced is not what it is compared with.
    known = {} if state.is_update else baselines.read(baselines.path_of(item))
    baseline = known.get(baselines.name_in(item), {})
    rows, error = limits.check(state.vtrace, outcome.database, wanted, baseline, folder, state.is_update)
    text = error or limits.failure_text(rows)
    if text:
        report.outcome = "failed"
        report.longrepr = f"{text}{kept_line(state, outcome)}"
        return
    relative = {f"{table}.{key}" for (table, key), limit in wanted.items() if limits.is_relative(limit)}
    figures = {row["limit"]: row["figure"] for row in rows if row["limit"] in relative and row["figure"] is not None}
    if state.is_update and figures:
        report.user_properties.append((PROPERTY, [str(baselines.path_of(item)), baselines.name_in(item), figures]))


def from_child(item, data):
    """JSON has no tuples, and pytest takes nothing else for the place and reason of a skip."""
    report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
    if isinstance(report.longrepr, list):
        report.longrepr = tuple(report.longrepr)
    return report


def most_allocated(database):
    try:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT max(max(max_allocated_bytes, used_bytes * (max_allocated_bytes = 0)))"
                                      " FROM peak").fetchone()[0] or 0
    except sqlite3.Error:
        return 0


def reports_of(state, item, wanted, folder):
    outcome = process.run(item, state.vtrace, folder, state.simulate)
    reports = [from_child(item, data) for data in outcome.reports]
    if state.top and reports:
        reports[-1].user_properties.append((TOOK, [item.nodeid, most_allocated(outcome.database)]))
    if not outcome.has_ended:
        return [*reports, crash_report(state, item, outcome)]
    for report in reports:
        if report.when == "call" and report.failed:
            why = explain_oom(state, outcome)
            if why:
                report.sections.append(("vtrace oom", why))
    for report in reports:
        if report.when == "call" and report.passed and all(r.outcome == "passed" for r in reports):
            judge(state, item, outcome, wanted, report, folder)
    return reports


def run(state, item):
    try:
        wanted = limits.limits_of(item)
    except limits.WrongMark as error:
        return [fail(item, str(error), when="setup")]
    if not state.vtrace or not shutil.which(state.vtrace):
        return [fail(item, f"pytest-vtrace: {state.vtrace or 'vtrace'}: command not found; put vtrace on PATH, or name "
                           "it with --vtrace-command")]
    folder = state.folder_of(item)
    try:
        limits.validate(state.vtrace, wanted, folder)
    except limits.WrongMark as error:
        shutil.rmtree(folder, ignore_errors=True)
        return [fail(item, str(error), when="setup")]
    reports = reports_of(state, item, wanted, folder)
    if any(report.failed for report in reports):
        state.has_failed = True
    elif not state.kept:
        shutil.rmtree(folder, ignore_errors=True)
    return reports


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    state = item.config.stash[STATE]
    if state.is_child or not any(item.get_closest_marker(name) for name in limits.MARKS):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in run(state, item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class Figures:
    """In the one process that sees all reports."""

    def __init__(self, state):
        self.state = state

    def pytest_runtest_logreport(self, report):
        for name, value in report.user_properties:
            if name == PROPERTY:
                path, test, figures = value
                self.state.figures.setdefault(path, {})[test] = figures
            elif name == TOOK:
                test, took = value
                self.state.took[test] = took


def pytest_sessionstart(session):
    config = session.config
    if not hasattr(config, "workerinput") and (config.stash[STATE].is_update or config.stash[STATE].top):
        config.pluginmanager.register(Figures(config.stash[STATE]))


def pytest_sessionfinish(session):
    state = session.config.stash[STATE]
    if state.folder and not state.kept and not state.has_failed:
        shutil.rmtree(state.folder, ignore_errors=True)
    for path, figures in state.figures.items():
        baselines.update(path, figures)


def pytest_terminal_summary(terminalreporter, config):
    for path, figures in sorted(config.stash[STATE].figures.items()):
        plural = "s" * (len(figures) != 1)
        terminalreporter.write_line(f"vtrace: {os.path.relpath(path)}: {len(figures)} baseline{plural}")
    print_took(terminalreporter, config.stash[STATE])


def print_took(terminalreporter, state):
    """As --durations does it for time."""
    most = sorted(state.took.items(), key=lambda item: (-item[1], item[0]))[:state.top]
    if most:
        terminalreporter.section(f"most GPU memory allocated by {len(most)} of {len(state.took)} marked tests")
    for test, took in most:
        terminalreporter.write_line(f"{limits.bytes_text(took):>12}  {test}")

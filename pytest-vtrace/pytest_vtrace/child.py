# SPDX-License-Identifier: MIT
"""The process that one marked test runs in, recorded: pytest for that test alone, whose reports go to the parent.

Started as a file, with a file that says what to do (process.py); imports nothing of pytest before sys.path is that of
the parent.
"""
import ctypes
import gc
import json
import os
import sys

VARIABLE = "PYTEST_VTRACE_CHILD"
BEGIN, END = "pytest-vtrace begin", "pytest-vtrace end"

# Options of this process, or what would make it do more than run one test; all others are as in the parent.
NOT_TAKEN_OVER = {
    "basetemp", "cacheclear", "capture", "collectonly", "confcutdir", "debug", "dist", "distload", "durations",
    "failedfirst", "file_or_dir", "help", "inifilename", "keyword", "lf", "looponfail", "markexpr", "maxfail",
    "newfirst", "numprocesses", "override_ini", "plugins", "px", "report_log", "rootdir", "stepwise",
    "stepwise_skip", "trace", "tx", "usepdb", "version", "xmlpath",
}


def leave_mark(name):
    """In the recording, where there is one: its library is in the process already."""
    mark = getattr(ctypes.CDLL(None), "vtrace_mark", None)
    if mark:
        mark(name.encode())


class Child:
    def __init__(self, task):
        self.task = task
        self.reports = open(task["reports"], "w", encoding="utf-8")

    def take_over(self, config):
        for name, value in self.task["options"].items():
            if name not in NOT_TAKEN_OVER and hasattr(config.option, name):
                setattr(config.option, name, value)

    def write(self, kind, data):
        self.reports.write(json.dumps({"kind": kind, "data": data}, default=str) + "\n")
        self.reports.flush()

    def protocol(self):
        """Around setup, test and teardown; what only a cycle keeps alive is not left behind."""
        leave_mark(BEGIN)
        yield
        gc.collect()
        leave_mark(END)
        self.write("end", None)


def make_plugin(child):
    import pytest

    class Plugin:
        @pytest.hookimpl(tryfirst=True)
        def pytest_configure(self, config):
            self.config = config
            child.take_over(config)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_protocol(self, item, nextitem):
            yield from child.protocol()

        def pytest_runtest_logreport(self, report):
            data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
            child.write("report", data)

    return Plugin()


def main(path):
    with open(path, encoding="utf-8") as file:
        task = json.load(file)
    # The pid, so that a pytest that the test itself starts is no child of ours.
    os.environ[VARIABLE] = str(os.getpid())
    sys.path[:] = task["sys_path"]
    import pytest
    return pytest.main(task["arguments"], plugins=[make_plugin(Child(task))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

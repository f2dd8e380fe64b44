# SPDX-License-Identifier: MIT
"""sim-run simulates without recording, which no command does: it sets what `vtrace run --simulate` sets."""
import json
import subprocess

from recording import BUILD, PYTHON, SOURCE, TIMEOUT_S, clean_environment, record

PROGRAM = "import json, os; print(json.dumps(dict(os.environ)))"
PROFILE = "h100-80g,memory=24GiB"
# Of the recording and its test, of the devices of one `vtrace run`, and what a shell adds.
OTHERS = {"NVTX_INJECTION64_PATH", "VTRACE_OUTPUT", "VTRACE_SIM_LEDGER", "VTRACE_SIM_SHARED", "_", "PWD", "OLDPWD",
          "SHLVL"}


def of_sim_run(cwd, extra):
    done = subprocess.run([SOURCE / "tests" / "simulator" / "sim-run", BUILD, PROFILE, PYTHON, "-c", PROGRAM], cwd=cwd,
                          env=clean_environment(extra), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_run(cwd, extra):
    found = json.loads(record(cwd, PYTHON, "-c", PROGRAM, profile=PROFILE, env=extra).process.stdout)
    recorder, *rest = found["LD_PRELOAD"].split(":")
    assert recorder == str(BUILD / "libvtrace.so")
    return found | {"LD_PRELOAD": ":".join(rest)}


def test_both_set_the_same(tmp_path):
    for extra in ({}, {"LD_LIBRARY_PATH": "/x/lib", "LIBRARY_PATH": "/y/lib", "LD_PRELOAD": "libdl.so.2"}):
        one, other = ({name: value for name, value in found.items() if name not in OTHERS}
                      for found in (of_sim_run(tmp_path, extra), of_run(tmp_path, extra)))
        assert one == other
        assert one["VTRACE_SIM_PROFILE"] == PROFILE and one["VTRACE_SIM_STUBS"]

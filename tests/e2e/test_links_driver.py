# SPDX-License-Identifier: MIT
"""A program that compiles its kernels when it needs them links the driver, which lies where linkers look."""
from recording import vtrace

ASKS_THE_DRIVER = "int cuInit(unsigned); int main(void) { return cuInit(0); }"


def test_what_is_compiled_in_a_simulated_run_links_the_driver(tmp_path):
    (tmp_path / "ask.c").write_text(ASKS_THE_DRIVER)
    done = vtrace("run", "-q", "--simulate", "a100-40g", "-o", tmp_path / "run.db", "--", "sh", "-c",
                  "cc ask.c -lcuda -o ask && ./ask", cwd=tmp_path)
    assert done.returncode == 0, done.stderr

# SPDX-License-Identifier: MIT
"""The simulated nvidia-smi: what programs read of a card when they ask it in place of NVML."""
import pytest

from recording import PYTHON, vtrace

USES_TWO_GIB = """
import subprocess, torch
kept = torch.zeros(1 << 31, dtype=torch.uint8, device="cuda:1")
free, total = torch.cuda.mem_get_info(1)
print(total >> 20, free >> 20, (total - free) >> 20, flush=True)
query = "--query-gpu=memory.total,memory.free,memory.used"
subprocess.run(["nvidia-smi", query, "--format=csv,noheader,nounits", "-i", "1"], check=True)
"""


def ask(tmp_path, *arguments):
    return vtrace("run", "-q", "--simulate", "a100-40g,count=2", "-o", tmp_path / "run.db", "--", "nvidia-smi",
                  *arguments)


def test_it_sees_the_memory_of_a_program_that_asks(tmp_path):
    done = vtrace("run", "-q", "--simulate", "a100-40g,count=2", "-o", tmp_path / "run.db", "--", PYTHON, "-c",
                  USES_TWO_GIB)
    by_torch, by_program = done.stdout.splitlines()
    assert by_torch.split() == by_program.split(", ")
    assert int(by_program.split(", ")[2]) > 2048


@pytest.mark.parametrize("arguments, lines", (
    (("--query-gpu=name,memory.total", "--format=csv,noheader,nounits"), ["NVIDIA A100-SXM4-40GB, 40448"] * 2),
    (("--query-gpu=index,compute_cap,memory.total,utilization.gpu", "--format=csv"),
     ["index, compute_cap, memory.total [MiB], utilization.gpu [%]", "0, 8.0, 40448 MiB, [N/A]",
      "1, 8.0, 40448 MiB, [N/A]"]),
    (("-i", "1", "--query-gpu=index", "--format=csv,noheader"), ["1"]),
    (("-L",), [f"GPU {i}: NVIDIA A100-SXM4-40GB (UUID: GPU-76747261-6365-2d73-696d-756c6174000{i})" for i in (0, 1)]),
    ((), ["NVIDIA-SMI 580.00  Driver Version: 580.00  CUDA Version: 13.0",
          *(f"|   {i}  NVIDIA A100-SXM4-40GB            |       0MiB /   40448MiB |" for i in (0, 1))])))
def test_what_is_asked_is_answered_as_by_the_real_one(tmp_path, arguments, lines):
    done = ask(tmp_path, *arguments)
    assert done.returncode == 0 and done.stdout.splitlines() == lines


@pytest.mark.parametrize("arguments, code, words", (
    (("--query-gpu=memory.size", "--format=csv"), 2, 'Field "memory.size" is not a valid field to query.'),
    (("--query-gpu=name",), 2, '"--query-gpu=" and "--format=" need each other.'),
    (("topo", "-C"), 2, "Not simulated: topo"),
    (("--query-gpu=name", "--format=csv", "--loop=1"), 2, "Not simulated: --loop=1"),
    (("-i", "2", "-L"), 6, "No devices were found: 2")))
def test_what_it_does_not_know_is_refused(tmp_path, arguments, code, words):
    done = ask(tmp_path, *arguments)
    assert (done.returncode, done.stdout.strip()) == (code, words)

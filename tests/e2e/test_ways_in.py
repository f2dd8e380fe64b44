# SPDX-License-Identifier: MIT
"""Every way that leads a program to the driver ends at the recorder, with the ABI that was asked for."""
import re
import subprocess

import pytest

from recording import BUILD, SOURCE, TIMEOUT_S, clean_environment, record

PROGRAMS = BUILD / "tests" / "workloads"
SIMULATOR = BUILD / "simulator"
MIB = 1 << 20


def intercepted():
    text = (SOURCE / "common" / "cuda_api.def").read_text()
    names = dict(re.findall(r"^VT_CUDA_API\(\d+, (\w+), (\d+),", text, re.M))
    return {name: int(version) for name, version in names.items()}


def look_ups(driver, preload=None, env=None):
    environment = clean_environment({**({"LD_PRELOAD": str(preload)} if preload else {}), **(env or {})})
    done = subprocess.run([str(PROGRAMS / "look_ups"), str(driver)], env=environment, capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def driver_version(driver):
    return int(look_ups(driver)[0].split()[1])


def answers(driver, preload=None, env=None):
    """[(how, name, version, flags, result, status, symbol)], [object] of each."""
    rows = [line.split() for line in look_ups(driver, preload, env)[1:]]
    return [tuple(row[:7]) for row in rows], [row[7] for row in rows]


def check_answers(driver):
    """Versions, flags, results, status and exact symbols are the driver's; the functions are the recorder's."""
    without, owners = answers(driver)
    with_recorder, hooked = answers(driver, BUILD / "libvtrace.so")
    assert with_recorder == without
    assert len(owners) == len(hooked) == len(without) > 0
    names = set(intercepted()) | {"cuGetProcAddress", "cuGetProcAddress_v2"}
    for row, owner, mine in zip(without, owners, hooked):
        wanted = "libvtrace.so" if row[6] in names else owner
        assert mine == wanted, row
    return without


def test_each_look_up_gives_the_hook_of_the_same_abi():
    rows = check_answers(SIMULATOR / "libcuda.so.1")
    # Both ABIs of the look-up, and several of what it finds: else the comparison shows nothing.
    assert {row[6] for row in rows} > {"cuGetProcAddress", "cuGetProcAddress_v2", "cuCtxCreate_v2", "cuCtxCreate_v4",
                                       "cuMemAllocAsync", "cuMemAllocAsync_ptsz", "cuIpcOpenMemHandle_v2"}


RUNTIMES = {"shared 11": ("runtime_client", "libcudart.so.11.0"), "shared 12": ("runtime_client", "libcudart.so.12"),
            "shared 13": ("runtime_client", "libcudart.so.13"), "static": ("runtime_client_static", None)}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_entry_points_of_a_runtime_are_hooks(runtime, tmp_path):
    """cudaGetDriverEntryPointByVersion of a library in a scope of its own, and of one inside the program."""
    program, library = RUNTIMES[runtime]
    recording = record(tmp_path, PROGRAMS / program, *([SIMULATOR / library] if library else []))
    assert recording.process.returncode == 0, recording.process.stderr
    taken = recording.query("SELECT f.name, size_bytes, freed_event IS NOT NULL FROM allocation a"
                            " JOIN function f ON f.id = a.function ORDER BY a.id")
    assert taken == [("cuMemAlloc_v2", 2 * MIB, 1), ("cuMemAlloc_v2", 4 * MIB, 0), ("cuMemAllocAsync", 8 * MIB, 0),
                     ("cuMemAllocAsync_ptsz", 16 * MIB, 0)]
    # cudaFree(0) is no free.
    assert recording.value("SELECT count(*) FROM event WHERE op IN (2, 3)") == 0


@pytest.fixture(scope="module")
def real_driver():
    """NVIDIA's own libcuda.so.1: answers look-ups without a GPU."""
    done = subprocess.run([str(SOURCE / "scripts" / "libcuda"), "--cached"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_real_driver_s_look_ups_give_the_hook_of_the_same_abi(real_driver):
    check_answers(real_driver)


def test_each_name_and_version_of_the_table_is_the_real_driver_s(real_driver):
    """From its version on, not before, the look-up by version gives the exact symbol, and dlsym has it."""
    rows, _ = answers(real_driver)
    exported = {row[1] for row in rows if row[0] == "dlsym" and row[6] == row[1]}
    given = {}
    for row in rows:
        if row[0] == "v2" and row[6] != "-":
            given.setdefault(row[6], set()).add(int(row[2]))
    newest = driver_version(real_driver)
    known = {name: version for name, version in intercepted().items() if version <= newest}
    assert len(known) > 80
    assert exported >= set(known)
    assert {name: min(given.get(name, {0})) for name in known} == known


def test_the_simulator_answers_as_the_real_driver_of_that_version(real_driver):
    """Result, status and symbol for each name, version and flag; dlsym differs, ours exports what is newer too."""
    newest = driver_version(real_driver)
    profile = {"VTRACE_SIM_PROFILE": f"h100-80g,driver={newest // 1000}.{newest % 1000 // 10}"}
    real = [row for row in answers(real_driver)[0] if row[0] != "dlsym"]
    ours = [row for row in answers(SIMULATOR / "libcuda.so.1", env=profile)[0] if row[0] != "dlsym"]
    assert len(real) == len(ours) > 0
    assert [pair for pair in zip(real, ours) if pair[0] != pair[1]] == []

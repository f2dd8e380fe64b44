# SPDX-License-Identifier: MIT
"""Both simulated runtimes, called as a C program would: layouts, contexts, errors."""
import json
import subprocess
import sys

import pytest

from recording import BUILD, SOURCE, TIMEOUT_S, clean_environment

CLIENT = r"""
import ctypes, json, sys
major = int(sys.argv[1])
cuda = ctypes.CDLL(f"libcudart.so.{major}")
driver = ctypes.CDLL("libcuda.so.1")
cuda.cudaGetErrorName.restype = ctypes.c_char_p
answer = {}

def integer(name, *arguments):
    value = ctypes.c_int(-1)
    assert getattr(cuda, name)(ctypes.byref(value), *arguments) == 0, name
    return value.value

answer["count"] = integer("cudaGetDeviceCount")
current = ctypes.c_void_p(1)
answer["context_before"] = driver.cuCtxGetCurrent(ctypes.byref(current)) or bool(current)

size = {12: 1032, 13: 1008}[major]
guarded = (ctypes.c_ubyte * (size + 64))(*([0xAA] * (size + 64)))
get = cuda.cudaGetDeviceProperties_v2 if major == 12 else cuda.cudaGetDeviceProperties
assert get(guarded, 0) == 0
answer["beyond"] = set(guarded[size:]) == {0xAA}
answer["name"] = bytes(guarded[:256]).split(b"\0")[0].decode()
answer["total"] = int.from_bytes(bytes(guarded[288:296]), "little")
answer["multiprocessors"] = int.from_bytes(bytes(guarded[{12: 388, 13: 384}[major]:][:4]), "little")

pointer = ctypes.c_void_p(1)
answer["malloc_0"] = cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(0)), pointer.value
assert cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 20)) == 0
answer["context_after"] = driver.cuCtxGetCurrent(ctypes.byref(current)) or bool(current)

source = ctypes.create_string_buffer(b"there and back")
back = ctypes.create_string_buffer(len(source))
n = ctypes.c_size_t(len(source))
assert cuda.cudaMemcpy(pointer, source, n, 1) == 0 and cuda.cudaMemcpy(back, pointer, n, 2) == 0
answer["copy"] = back.value.decode()
answer["bad_direction"] = cuda.cudaMemcpy(back, pointer, n, 9)
answer["peek"], answer["last"], answer["then"] = cuda.cudaPeekAtLastError(), cuda.cudaGetLastError(), \
    cuda.cudaGetLastError()

attributes = (ctypes.c_ubyte * 128)(*([0xAA] * 128))
size = {12: 24, 13: 88}[major]
assert cuda.cudaPointerGetAttributes(attributes, pointer) == 0
answer["attributes"] = [int.from_bytes(bytes(attributes[i:i + 4]), "little") for i in (0, 4)]
answer["attributes_beyond"] = set(attributes[size:]) == {0xAA}
assert cuda.cudaPointerGetAttributes(attributes, source) == 0
answer["host_type"] = attributes[0]

answer["too_much"] = cuda.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 50))
answer["too_much_name"] = cuda.cudaGetErrorName(answer["too_much"]).decode()
answer["free"] = cuda.cudaFree(pointer), cuda.cudaFree(None)
answer["double_free"] = cuda.cudaFree(pointer)
answer["wrong_device"] = cuda.cudaSetDevice(7)
answer["unsupported"] = cuda.cudaImportExternalMemory(None, None)
print(json.dumps(answer))
"""


@pytest.fixture(scope="module", params=[12, 13])
def answer(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runtime")
    script = folder / "client.py"
    script.write_text(CLIENT)
    ledger = folder / "ledger"
    done = subprocess.run(
        [str(SOURCE / "tests" / "simulator" / "sim-run"), str(BUILD), "h100-80g", sys.executable, "-S", str(script),
         str(request.param)], capture_output=True, text=True, timeout=TIMEOUT_S,
        env=clean_environment({"VTRACE_SIM_LEDGER": str(ledger)}))
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "ledger": ledger.read_text(), "major": request.param}


def test_properties_fit_their_layout(answer):
    assert answer["beyond"]
    assert answer["name"] == "NVIDIA H100 80GB HBM3" and answer["multiprocessors"] == 132
    assert answer["total"] == 80998 << 20


def test_context_is_made_at_the_first_need(answer):
    assert answer["count"] == 1
    assert answer["context_before"] != True and answer["context_after"] is True  # noqa: E712


def test_nothing_to_allocate_reaches_no_driver(answer):
    assert answer["malloc_0"] == [0, None]
    assert answer["ledger"].count(" alloc device ") == 1


def test_copies(answer):
    assert answer["copy"] == "there and back"


def test_last_error_is_kept_until_read(answer):
    assert answer["bad_direction"] == 21
    assert (answer["peek"], answer["last"], answer["then"]) == (21, 21, 0)


def test_pointer_attributes_fit_their_layout(answer):
    assert answer["attributes"] == [2, 0] and answer["attributes_beyond"]
    assert answer["host_type"] == 0


def test_out_of_memory(answer):
    assert (answer["too_much"], answer["too_much_name"]) == (2, "cudaErrorMemoryAllocation")


def test_free(answer):
    assert answer["free"] == [0, 0]
    assert answer["double_free"] != 0 and answer["wrong_device"] == 101


def test_rest_is_not_supported(answer):
    assert answer["unsupported"] == 801


def test_a_shell_is_left_alone(tmp_path):
    """Nothing of ours is opened in a process that cannot be a client."""
    done = subprocess.run(["sh", "-c", "cat /proc/$$/maps"], capture_output=True, text=True, timeout=TIMEOUT_S,
                          env=clean_environment({"LD_PRELOAD": str(BUILD / "simulator" / "libvtrace-simulator.so"),
                                                 "VTRACE_SIM_STUBS": str(tmp_path)}))
    assert "libvtrace-simulator" in done.stdout and "libcuda" not in done.stdout
    assert done.stderr == ""


FAT_BINARY = r"""
import ctypes, json, struct, sys
cuda = ctypes.CDLL("libcudart.so.13")
cuda.__getattr__("__cudaRegisterFatBinary").restype = ctypes.c_void_p
register, add = (getattr(cuda, "__cudaRegister" + what) for what in ("FatBinary", "Function"))
kept = []

def entry(kind, architecture):
    return struct.pack("<HHIQIIHHI", kind, 0x101, 64, 8, 0, 0, 0, 0, architecture).ljust(64 + 8, b"\0")

def versions(image):
    data = ctypes.create_string_buffer(image)
    wrapper = ctypes.create_string_buffer(struct.pack("<IIQQ", 0x466243B1, 1, ctypes.addressof(data), 0))
    shadow, name = ctypes.create_string_buffer(16), ctypes.create_string_buffer(b"kernel")
    kept.extend([data, wrapper, shadow, name])
    add(ctypes.c_void_p(register(wrapper)), shadow, name, name, -1, None, None, None, None, None)
    attributes = (ctypes.c_int * 36)()
    assert cuda.cudaFuncGetAttributes(attributes, shadow) == 0
    return attributes[8], attributes[9]

answer = []
for entries in json.loads(sys.argv[1]):
    code = b"".join(entry(*e) for e in entries)
    answer.append(versions(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(code)) + code))
answer.append(versions(b"no fat binary at all"))
print(json.dumps(answer))
"""

PTX, MACHINE = 1, 2


def test_kernels_are_of_an_architecture_in_their_fat_binary(tmp_path):
    cases = [
        ([(MACHINE, 75), (MACHINE, 80), (MACHINE, 86), (MACHINE, 90), (PTX, 90)], [86, 86]),
        ([(MACHINE, 90), (PTX, 75), (PTX, 80), (PTX, 120)], [80, 89]),
        ([(MACHINE, 75), (PTX, 80)], [80, 89]),
        ([(PTX, 75), (MACHINE, 80)], [80, 80]),
        ([(MACHINE, 90)], [89, 89]),
        ([], [89, 89]),
    ]
    script = tmp_path / "fat_binary.py"
    script.write_text(FAT_BINARY)
    done = subprocess.run(
        [str(SOURCE / "tests" / "simulator" / "sim-run"), str(BUILD), "rtx4090-24g", sys.executable, str(script),
         json.dumps([entries for entries, _ in cases])],
        env=clean_environment({}), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [versions for _, versions in cases] + [[89, 89]]


UNANSWERED = """
import ctypes, glob, os
cublas, = glob.glob(os.environ["VTRACE_SIM_STUBS"] + "/libcublas.so.*")
for library, function in (("libcuda.so.1", "cuCtxFromGreenCtx"), ("libcudart.so.13", "cudaDeviceGetCacheConfig"),
                          (cublas, "cublasSgemm_v2")):
    for _ in range(2):
        getattr(ctypes.CDLL(library), function)(0, 0, 0)
"""


@pytest.mark.parametrize("value, words", (("", 0), ("0", 0), ("1", 1)))
def test_what_nobody_answers_is_named_once_if_asked_for(value, words, simulate, tmp_path):
    script = tmp_path / "unanswered.py"
    script.write_text(UNANSWERED)
    errors = simulate(script, VTRACE_SIM_VERBOSE=value).errors
    for name in ("cuCtxFromGreenCtx", "cudaDeviceGetCacheConfig", "cublasSgemm_v2"):
        assert errors.count(name) == words, errors

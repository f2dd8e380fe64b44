# SPDX-License-Identifier: MIT
"""What the benchmark traces: each run prints one line of JSON.

    python workload.py events LIBRARY NUMBER       one event at a time, below 43 Python frames; LIBRARY is events.c
    python workload.py repeat LIBRARY THREADS NUMBER
    python workload.py memory LIBRARY NUMBER       host memory while NUMBER events are recorded
    python workload.py synchronise POOLS NUMBER    cuCtxSynchronize NUMBER times after an allocation from so many pools
    python workload.py malloc LIBRARY NUMBER       memory of the host, for recorders of that
    python workload.py tensors NUMBER [HISTORY]    PyTorch blocks below 43 Python frames; HISTORY is PyTorch's recorder
    python workload.py gpt LAYERS WIDTH STEPS [HISTORY]
    python workload.py failing LAYERS WIDTH NUMBER  training for NUMBER events, then a request that the device refuses
"""
import ctypes
import functools
import json
import pathlib
import random
import re
import statistics
import sys
import time

PYTHON_FRAMES = 43
NATIVE_FRAMES = 60
WARM_UP = 4000
FIRST_STEPS = 20


def open_recording():
    """The first allocation by the driver opens it; blocks alone do not."""
    driver = ctypes.CDLL("libcuda.so.1")
    context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
    for result in (driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                   driver.cuCtxSetCurrent(context), driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(4096))):
        assert result == 0, result


def load(path):
    library = ctypes.CDLL(path)
    library.bench_time.restype = library.bench_threads.restype = ctypes.c_uint64
    library.bench_time.argtypes = [ctypes.c_uint, ctypes.c_uint64]
    library.bench_repeat.argtypes = library.bench_malloc.argtypes = [ctypes.c_uint, ctypes.c_uint64]
    library.bench_threads.argtypes = [ctypes.c_uint, ctypes.c_uint, ctypes.c_uint64]
    return library


def below(frames, function):
    """Calls `function` with so many Python frames above it, a sixth of them called from C."""
    if frames <= 0:
        return function()
    if frames % 6 == 0:
        return functools.partial(below, frames - 1, function)()
    return below(frames - 1, function)


def leaves(event):
    """Eight places to take and give back a block, each below a function of its own."""
    space = {"event": event}
    for place in range(8):
        exec(f"def inner_{place}(number):\n    return event({place} % 4, number)\n"
             f"def leaf_{place}(number):\n    return inner_{place}(number)\n", space)
    return [space[f"leaf_{place}"] for place in range(8)]


def events(path, number):
    library = load(path)
    open_recording()
    # Below ctypes and the interpreter; the depth that was reached is read from the database.
    base = NATIVE_FRAMES - 41
    calls = leaves(lambda place, n: library.bench_time(base + place, n))

    def run():
        return [calls[n // 2 % 8](n) for n in range(WARM_UP + number)]

    times = sorted(below(PYTHON_FRAMES - 9, run)[WARM_UP:])
    return {"median_ns": statistics.median(times), "p99_ns": times[len(times) * 99 // 100],
            "mean_ns": statistics.fmean(times)}


def repeat(path, threads, number):
    library = load(path)
    open_recording()
    cpu_ns = library.bench_threads(threads, NATIVE_FRAMES - 4, number)
    return {"cpu_ns_per_event": cpu_ns / (threads * number)}


def resident():
    text = pathlib.Path("/proc/self/status").read_text()
    return {key: int(re.search(rf"{key}:\s+(\d+) kB", text).group(1)) << 10
            for key in ("VmRSS", "RssAnon", "RssFile", "RssShmem")}


def memory(path, number):
    library = load(path)
    open_recording()
    library.bench_repeat(20, 1000)
    before, steps, done = resident(), {}, 0
    for step in [n for n in (10 ** 5, 10 ** 6, 10 ** 7, 10 ** 8) if n <= number]:
        library.bench_repeat(20, step - done)
        done = step
        # What the collector has not taken yet is still in memory; it gets a moment, not a guarantee.
        time.sleep(3)
        steps[step] = {key: value - before[key] for key, value in resident().items()}
    return {"added_bytes": steps}


def synchronise(pools, number):
    open_recording()
    driver = ctypes.CDLL("libcuda.so.1")
    # CUmemPoolProps: pinned memory (1) without a handle (0), of a device (1), number 0.
    properties = (ctypes.c_int * 64)(1, 0, 1, 0)
    for _ in range(pools):
        pool, pointer = ctypes.c_void_p(), ctypes.c_uint64()
        if driver.cuMemPoolCreate(ctypes.byref(pool), properties):
            raise SystemExit("workload: cuMemPoolCreate failed")
        if driver.cuMemAllocFromPoolAsync(ctypes.byref(pointer), ctypes.c_size_t(1 << 20), pool, None):
            raise SystemExit("workload: cuMemAllocFromPoolAsync failed")
    call = driver.cuCtxSynchronize
    start = time.thread_time_ns()
    for _ in range(number):
        call()
    return {"cpu_ns_per_call": (time.thread_time_ns() - start) / number}


def malloc(path, number):
    library = load(path)
    start = time.process_time_ns()
    below(PYTHON_FRAMES - 4, lambda: library.bench_malloc(NATIVE_FRAMES - 30, number))
    return {"ns_per_event": (time.process_time_ns() - start) / number}


def start_history(history):
    import torch
    if history:
        torch.cuda.memory._record_memory_history(stacks=history)


def tensors(number, history=None):
    import torch
    start_history(history)
    calls = leaves(lambda place, n: torch.empty(1024, device="cuda"))

    def run():
        for n in range(WARM_UP // 2):
            calls[n % 8](n)
        start = time.thread_time_ns()
        for n in range(number // 2):
            calls[n % 8](n)
        return time.thread_time_ns() - start

    return {"cpu_ns_per_event": below(PYTHON_FRAMES - 9, run) / number}


def small_gpt(layers, width):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "workloads"))
    import torch
    from train_gpt import GPT, Config
    torch.manual_seed(0)
    model = GPT(Config(layers=layers, width=width, vocabulary=8192, context=128)).cuda()
    return model, torch.optim.AdamW(model.parameters(), lr=3e-4)


def block_events():
    import torch
    counts = torch.cuda.memory_stats()
    return counts["allocation.all.allocated"] + counts["allocation.all.freed"]


def gpt(layers, width, steps, history=None):
    import torch
    start_history(history)
    model, optimizer = small_gpt(layers, width)
    tokens = torch.randint(8192, (8, 129), device="cuda")
    wall, cpu = [], []
    warm = max(3, steps // 10)
    for step in range(warm + steps):
        if step == warm:
            events_before = block_events()
        start, start_cpu = time.perf_counter_ns(), time.process_time_ns()
        loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        wall.append(time.perf_counter_ns() - start)
        cpu.append(time.process_time_ns() - start_cpu)
    return {"wall_ns": statistics.median(wall[warm:]), "cpu_ns": statistics.median(cpu[warm:]),
            # The tenth of the steps that others on the machine disturbed least.
            "quiet_cpu_ns": statistics.quantiles(cpu[warm:], n=10)[0],
            "events_per_step": (block_events() - events_before) / steps, "first_cpu_ns": sum(cpu[:FIRST_STEPS])}


def failing(layers, width, number):
    """Sequences of several lengths, so that the allocator has something to be fragmented by."""
    import torch
    model, optimizer = small_gpt(layers, width)
    lengths = random.Random(0)
    steps = 0
    while block_events() < number:
        tokens = torch.randint(8192, (8, 1 + lengths.randrange(32, 129, 8)), device="cuda")
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        steps += 1
    try:
        torch.empty(torch.cuda.get_device_properties(0).total_memory, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pass
    return {"events": block_events(), "steps": steps}


def main():
    commands = {f.__name__: f for f in (events, repeat, memory, synchronise, malloc, tensors, gpt, failing)}
    arguments = [int(word) if word.isdigit() else word for word in sys.argv[2:]]
    sys.setrecursionlimit(10000)
    print(json.dumps(commands[sys.argv[1]](*arguments)))


if __name__ == "__main__":
    main()

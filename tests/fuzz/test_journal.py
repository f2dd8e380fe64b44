# SPDX-License-Identifier: MIT
"""Journals with any damage, through the whole command: it ends by itself, in bounded memory, and what it leaves opens.

The unit tests `import_damage` do the same to the importer alone, with checksums made right again.
"""
import random
import resource
import shutil
import sqlite3
import struct
import subprocess

import pytest

from recording import BUILD, LIBRARY, PYTHON, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment

HARM = BUILD / "tests/harm"
HEADER_BYTES, SLOT_BYTES = 4096, 64
QUICK, FULL = 40, 3000
MOST_MEMORY = 4 << 30
ABSURD = (0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 40, 2 ** 62, 2 ** 63, 2 ** 64 - 1)
COMMANDS = ("report", "frag", "blocks", "leaks")


def whole_journal(folder, driver, *command):
    """What a program left, cut behind its last record."""
    environment = clean_environment({"LD_LIBRARY_PATH": str(driver), "LD_PRELOAD": str(LIBRARY),
                                     "VTRACE_OUTPUT": "run.db", "VTRACE_COLLECT": "0", "VTRACE_QUIET": "1"})
    subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    data = (folder / "run.journal").read_bytes().rstrip(b"\0")
    return data + bytes(-len(data) % SLOT_BYTES + SLOT_BYTES)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A program with four threads, and one in Python: code objects, lines, stacks, what the probe saw."""
    return (whole_journal(tmp_path_factory.mktemp("host"), HARM / "driver", HARM / "host", "4", "50"),
            whole_journal(tmp_path_factory.mktemp("python"), BUILD / "simulator", PYTHON,
                          WORKLOADS / "driver_client.py"))


def flip(chance, data):
    for _ in range(chance.randint(1, 60)):
        data[chance.randrange(len(data))] = chance.randrange(256)


def flip_header(chance, data):
    for _ in range(chance.randint(1, 4)):
        struct.pack_into("<Q", data, 8 * chance.randrange(32), chance.choice(ABSURD))


def write_absurd(chance, data):
    for _ in range(chance.randint(1, 30)):
        struct.pack_into("<Q", data, HEADER_BYTES + 8 * chance.randrange((len(data) - HEADER_BYTES) // 8),
                         chance.choice(ABSURD))


def cut(chance, data):
    del data[chance.randrange(len(data)):]


def move_slots(chance, data):
    slots = (len(data) - HEADER_BYTES) // SLOT_BYTES
    for _ in range(chance.randint(1, 20)):
        one, other = (HEADER_BYTES + SLOT_BYTES * chance.randrange(slots) for _ in range(2))
        data[one:one + SLOT_BYTES] = data[other:other + SLOT_BYTES]


def empty(chance, data):
    start = chance.randrange(HEADER_BYTES, len(data))
    end = min(len(data), start + chance.randrange(1, 8192))
    data[start:end] = bytes(end - start)


DAMAGES = (flip, flip_header, write_absurd, cut, move_slots, empty)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def survive(folder, sample, seed):
    chance = random.Random(seed)
    data = bytearray(sample)
    for damage in chance.sample(DAMAGES, chance.randint(1, 2)):
        if len(data) > HEADER_BYTES + SLOT_BYTES:
            damage(chance, data)
    folder.mkdir()
    (folder / "run.journal").write_bytes(data)
    for command in ("report", chance.choice(COMMANDS)):
        name = "run.db" if (folder / "run.db").exists() else "run.journal"
        done = subprocess.run([VTRACE, command, name], cwd=folder, env=clean_environment(), capture_output=True,
                              text=True, errors="replace", timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, check=False,
                              preexec_fn=limit_memory)
        assert done.returncode in (0, 3), f"seed {seed}: {command}: {done.returncode}: {done.stderr[-300:]}"
        assert done.returncode == 0 or done.stderr.count("\n") <= 2, f"seed {seed}: {done.stderr}"
    if (folder / "run.db").exists():
        with sqlite3.connect(f"file:{folder}/run.db?mode=ro", uri=True) as connection:
            assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)], f"seed {seed}"
    shutil.rmtree(folder)


@pytest.mark.parametrize("which, has_python", [(0, False), (1, True)])
def test_a_sample_is_whole(tmp_path, samples, which, has_python):
    (tmp_path / "run.journal").write_bytes(samples[which])
    done = subprocess.run([VTRACE, "report", "run.journal"], cwd=tmp_path, env=clean_environment(),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr
    with sqlite3.connect(tmp_path / "run.db") as connection:
        counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                  for table in ("python_code", "python_frame", "python_stack")]
    assert [count > 0 for count in counts] == [has_python] * 3


def test_quick_seeds(tmp_path, samples):
    for seed in range(QUICK):
        survive(tmp_path / str(seed), samples[seed % 2], seed)


@pytest.mark.full
def test_all_seeds(tmp_path, samples):
    for seed in range(QUICK, FULL):
        survive(tmp_path / str(seed), samples[seed % 2], seed)

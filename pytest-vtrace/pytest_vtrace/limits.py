# SPDX-License-Identifier: MIT
"""From the marks of a test to a budget for `vtrace check`, and from what that says to the text of a failure."""
import json
import re
import subprocess

from .child import BEGIN, END

WHAT = ("allocated", "reserved", "device_used")
# What a budget takes (vtrace-check(1)), the unit's name left to it.
AMOUNT = re.compile(r"\+?[0-9]+(\.[0-9]+)?\s*([A-Za-z]+|%)?")
TOP = 3  # call sites per exceeded limit
# Frames that are pytest's, and the same below every test.
PYTEST_FRAMES = ("/_pytest/", "/pluggy/", "/pytest_vtrace/", "_pytest/", "pluggy/", "pytest_vtrace/", "/pytest/__")


class WrongMark(Exception):
    """A mark that says nothing, or too much."""


def memory(limit=None, *, owner=None, what="allocated"):
    if limit is None:
        raise WrongMark('gpu_memory needs a limit, such as gpu_memory("2 GiB")')
    if what not in WHAT:
        raise WrongMark(f'gpu_memory(what="{what}"): {", ".join(WHAT)}')
    return ("owners", owner, limit) if owner else ("total", what, limit)


def leaks(limit="0", *, owner=None):
    return ("left", owner or "total", limit)


MARKS = {"gpu_memory": memory, "gpu_leaks": leaks}


def limits_of(item):
    """(table, key): amount, as text; of several marks for one thing the closest to the test counts."""
    limits = {}
    for name, read in MARKS.items():
        for mark in item.iter_markers(name):
            try:
                table, key, limit = read(*mark.args, **mark.kwargs)
            except TypeError as error:
                raise WrongMark(f"{name}: {error}") from None
            if not AMOUNT.fullmatch(str(limit).strip()):
                raise WrongMark(f'{name}("{limit}"): not an amount such as "2 GiB", "512 MiB" or "+5%"')
            limits.setdefault((table, key), str(limit))
    return limits


def is_relative(limit):
    return limit.startswith("+")


def write_budget(path, limits):
    """JSON's strings are TOML's."""
    tables = {}
    for (table, key), limit in limits.items():
        tables.setdefault(table, []).append(f"{json.dumps(key)} = {json.dumps(limit)}\n")
    path.write_text("".join(f"[{table}]\n{''.join(lines)}" for table, lines in tables.items()), encoding="utf-8")


def validate(vtrace, limits, folder):
    """Raises WrongMark for what `vtrace check` does not take, whose grammar it is: before there is a recording.

    `folder` is this test's own; a budget is read before the recordings of a folder, of which there are none.
    """
    empty, budget = folder / "none", folder / "memory.toml"
    empty.mkdir(parents=True, exist_ok=True)
    write_budget(budget, limits)
    done = subprocess.run([vtrace, "check", str(empty), "--budget", str(budget), "--baseline", str(budget)],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    _, is_budgets, why = done.stderr.partition(f"{budget}:")
    if is_budgets:
        raise WrongMark(re.sub(r"^[0-9]+: ", "", why.strip()))


def check(vtrace, database, limits, baseline, folder, is_update):
    """The rows that `vtrace check` gives, by limit, or an error as text."""
    if not database.exists():
        return None, "the test used no GPU: there is no recording of it"
    budget, base = folder / "memory.toml", folder / "baseline.json"
    write_budget(budget, limits)
    rows = [{"limit": name, "figure": figure} for name, figure in baseline.items()]
    base.write_text(json.dumps({"limits": rows}), encoding="utf-8")
    done = subprocess.run(
        [vtrace, "check", str(database), "--budget", str(budget), "--baseline", str(base), "--from", BEGIN, "--to", END,
         "--top", str(TOP), "--json"] + (["--missing", "skip"] if is_update else []),
        capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        return None, done.stderr.strip() or f"vtrace check ended with exit code {done.returncode}"
    return json.loads(done.stdout)["limits"], None


def bytes_text(count):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def is_pytests(line):
    return any(part in line for part in PYTEST_FRAMES)


def own_lines(stack):
    lines = []
    for line in stack:
        if is_pytests(line):
            break
        lines.append(line)
    return lines or stack[:1]


def place_lines(place):
    blocks = f", {place['blocks']} block{'s' * (place['blocks'] != 1)}" if place["blocks"] else ""
    yield f"  {bytes_text(place['bytes'])} {place['owner'] or ''}{blocks}"
    for line in own_lines(place["stack"]):
        yield f"      {line}"


def row_lines(row):
    if row["outcome"] == "missing":
        yield f"{row['limit']}: {row['why']}"
        return
    line = (f"{row['limit']}: {bytes_text(row['figure'])} on cuda:{row['device']}, limit "
            f"{bytes_text(row['allowed'])} (exceeded by {bytes_text(-row['margin'])})")
    yield line + (f" (baseline {bytes_text(row['base'])})" if row["base"] is not None else "")
    for place in row["places"]:
        yield from place_lines(place)


def has_no_baseline(row):
    return row["outcome"] == "missing" and row["why"].startswith("baseline")


def failure_text(rows):
    failed = [row for row in rows if row["failed"]]
    lines = [line for row in failed if not has_no_baseline(row) for line in row_lines(row)]
    unknown = [row["limit"] for row in failed if has_no_baseline(row)]
    if unknown:
        lines.append(f"{', '.join(unknown)}: no baseline: run the test once with --vtrace-update")
    return "\n".join(lines)

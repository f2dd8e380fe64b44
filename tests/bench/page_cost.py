# SPDX-License-Identifier: MIT
"""What the page of `vtrace html` costs to write, to open and to zoom.  README.md says what is measured."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from browser import tools
from commands import number_of, once, record, repeat
from recorder import row, show
from recording import SOURCE
from runs import TIMEOUT_S, workload

MOST_BYTES, MOST_PAINT_MS, MOST_READY_MS, MOST_FRAME_MS, MOST_WRITING = 5 << 20, 1000, 2000, 50, 2
READY = "document.documentElement.dataset.ready === 'yes'"


def opened(path, is_real_time, **wanted):
    folder, browser = tools()
    wrapper = ["chrt", "-f", "10"] if is_real_time else []
    done = subprocess.run([*wrapper, "node", str(SOURCE / "tests" / "bench" / "page_cost.mjs"), folder, browser],
                          input=json.dumps({"url": f"file://{path}", "ready": READY, **wanted}),
                          capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        return {"errors": [done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it died"]}
    return json.loads(done.stdout)


def median(found, key):
    values = [one[key] for one in found if one.get(key) is not None]
    return statistics.median(values) if values else None


def frames_of(found):
    """Rows of what several openings of one page took."""
    rows = []
    for text, key, most in (("first paint", "first_paint_ms", MOST_PAINT_MS), ("ready", "ready_ms", MOST_READY_MS),
                            ("longest frame, clock", "longest_frame_ms", MOST_FRAME_MS),
                            ("median frame, clock", "median_frame_ms", None),
                            ("longest task, processor", "longest_task_cpu_ms", None)):
        value = median(found, key)
        rows.append(row(f"... {text}", value, "ms", most) if value is not None
                    else row(f"... {text}", float("nan"), "ms", None, str(found[0]["errors"])))
    return rows


def measure(database, options):
    """Rows of one recording; writing takes turns with the report that it is compared with."""
    output = database.with_suffix(".html")
    once(["info", str(database)])
    writing, reports = [], []
    for _ in range(options.rounds):
        writing.append(once(["html", "--force", str(database), "-o", str(output)])[:2])
        reports.append(once(["report", str(database)])[:2])
    cpu_s, wall_s = (statistics.median(values) for values in zip(*writing))
    report_cpu_s, report_s = (statistics.median(values) for values in zip(*reports))
    found = [opened(output, options.real_time) for _ in range(options.rounds)]
    name = f"{number_of(database):,} events"
    note = f"report {report_s:.2f} s by the clock, {report_cpu_s:.2f} s of processors"
    return [row(f"{name}: page", output.stat().st_size, "B", MOST_BYTES),
            row("... writing, times a report", cpu_s / report_cpu_s, "", MOST_WRITING, note),
            row("... writing, clock", wall_s, "s"), *frames_of(found)]


HISTORY = """
import pickle, runpy, sys, time
import torch
torch.cuda.memory._record_memory_history(max_entries=10**8)
sys.argv = ["workload.py", "failing", "6", "256", sys.argv[1]]
runpy.run_path({workload!r}, run_name="__main__")
from torch.cuda import _memory_viz
start = time.perf_counter()
snapshot = torch.cuda.memory._snapshot()
with open({output!r}, "w") as file:
    file.write(_memory_viz.trace_plot(snapshot))
print('{{"writing_s": %f}}' % (time.perf_counter() - start))
"""


def without_network(page, script, folder):
    """The page with its script in it: the page of the wheel asks a network for it, and it for D3."""
    source, made = folder / "viewer.js", folder / "bundle.js"
    source.write_text(re.sub(r'from "https://[^"]*"', 'from "d3"', script.read_text()))
    subprocess.run(["esbuild", str(source), "--bundle", "--format=iife", "--global-name=MemoryViz",
                    "--log-level=error", f"--outfile={made}"], check=True,
                   env={**os.environ, "NODE_PATH": "/usr/share/nodejs"})
    text, bundle = page.read_text(), made.read_text().replace("</script", "<\\/script")
    text = text.replace('<script type="module">', f"<script>{bundle}</script>\n<script>")
    page.write_text(re.sub(r'import {add_local_files} from "https:[^"]*"', "const {add_local_files} = MemoryViz", text))


def viewer(folder, events, options):
    """PyTorch's own recorder and page, of the same program; opened where its script is given."""
    output, program = folder / f"pytorch-{events}.html", folder / "history.py"
    name = f"PyTorch's page, {events:,} events"
    rows = []
    if not output.exists():
        program.write_text(HISTORY.format(workload=str(SOURCE / "tests/bench/workload.py"), output=str(output)))
        wrote = workload(str(events), program=program)["writing_s"]
        rows = [row("... writing, clock", wrote, "s")]
        if options.viewer_script:
            without_network(output, options.viewer_script, folder)
    if options.viewer_script:
        rows += frames_of([opened(output, options.real_time, wheel="svg",
                                  ready="document.querySelectorAll('svg polygon, svg path').length > 4")
                           for _ in range(options.rounds)])
    return [row(name, output.stat().st_size, "B"), *rows]


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", default="1000,100000,1000000", help="sizes of the recordings that are made")
    parser.add_argument("--many", type=int, default=0, help="one more, of the largest over and over: 10000000")
    parser.add_argument("--viewer", default="", help="sizes at which PyTorch's own page is written, as --events")
    parser.add_argument("--viewer-script", type=pathlib.Path,
                        help="torch/utils/viz/MemoryViz.js of PyTorch's source: that page is opened, too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--real-time", action="store_true",
                        help="the browser before all else, by chrt: on a machine that others use")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the recordings there, and use those that are there")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def sizes_of(words):
    return [int(word) for word in words.split(",") if word]


def main():
    options, rows = parse(), []
    with tempfile.TemporaryDirectory(prefix="vtrace-bench-") as made:
        folder = (options.keep or pathlib.Path(made)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        sizes = sizes_of(options.events)
        for events in sizes + [options.many] * bool(options.many):
            database = folder / f"{events}.db"
            if not database.exists() and events == options.many:
                repeat(folder / f"{max(sizes)}.db", database, events)
            elif not database.exists():
                record(database, 6, events)
            rows += measure(database, options)
            show(rows[-8:])
        for events in sizes_of(options.viewer):
            found = viewer(folder, events, options)
            show(found)
            rows += found
    print("load of the machine at the end: %.1f %.1f %.1f" % os.getloadavg(), file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

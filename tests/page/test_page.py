# SPDX-License-Identifier: MIT
"""The page of `vtrace html` in a browser: its figures are the report's, and it can be used."""
import json
import re
import sqlite3
import subprocess
import textwrap

import pytest
from browser import look, tools
from recording import SOURCE, TIMEOUT_S, record_python, vtrace

OWNERS = """[...document.querySelectorAll("#owners [data-owner]")]
    .map(row => [row.dataset.owner, Number(row.dataset.bytes)])"""
SUMS = """[...vtrace.blocks.liveAt(vtrace.state.moment)].reduce((sums, row) => {
    const owner = vtrace.blocks.textOf("owner", row);
    if (owner) sums[owner] = (sums[owner] ?? 0) + vtrace.blocks.get("size", row);
    return sums;
}, {})"""
FOCUS = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.id"
STATE = "({...vtrace.state, event: vtrace.moments.current().event, names: vtrace.moments.current().names})"
OVER = "#{} canvas.over"
# Kept when nothing has changed for a moment.
ADDRESS = "new Promise((done) => setTimeout(() => done(location.hash), 1000))"


def test_what_no_allocation_has_is_named_and_grey():
    """The page's own lists, in another language, have all that the books may have (books.h)."""
    names = re.findall(r'X\([A-Z_]+, "([^"]+)"\)', (SOURCE / "analyzer" / "analysis" / "books.h").read_text())
    groups = {name.partition("/")[0] for name in names}
    assert len(names) >= 8
    hues = dict(re.findall(r'"?(\b[\w ]+)"?: "#(\w{6})"', (SOURCE / "analyzer" / "page" / "colours.ts").read_text()))
    rest = re.search(r"REST = new Set\(\[(.*)\]\)", (SOURCE / "analyzer" / "page" / "owners.ts").read_text())[1]
    assert set(re.findall(r'"([^"]+)"', rest)) == groups
    for group in groups:
        red, green, blue = bytes.fromhex(hues[group])
        assert max(red, green, blue) - min(red, green, blue) < 20, group


def text_of(element):
    return f"document.getElementById('{element}').innerText.replace(/\\n+/g, '\\n')"


def make_page(database, *options):
    done = vtrace("html", database, *options)
    assert done.returncode == 0, done.stderr
    return database.with_suffix(".html")


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """On a card whose cuBLAS workspaces have 8.125 MiB: two decimals are a matter of rounding."""
    return record_python(tmp_path_factory.mktemp("training"), "train_gpt.py", profile="rtx4090-24g").database


@pytest.fixture(scope="module")
def page(training):
    return make_page(training)


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    return record_python(tmp_path_factory.mktemp("failed"), "out_of_memory.py", "--mib", "4096").database


def report(database, *options):
    return json.loads(vtrace("report", database, "--json", "--top", 20, *options).stdout)


def owners_of(report_json):
    return {row["owner"]: row["bytes"] for row in report_json["devices"][0]["peak"]["owners"] if row["bytes"]}


def folded(owners, shown):
    """An only child is a line with its parent's path."""
    return {path if path in shown else path.split("/")[0]: value for path, value in owners.items()}


@pytest.mark.parametrize("when", ["most-allocated", "peak"])
def test_owners_of_the_pinned_moment_are_the_reports(training, page, when):
    wanted = report(training, "--at", when)
    event = wanted["devices"][0]["peak"]["event"]
    rows, state, sums = look(page, ["read", OWNERS], ["read", STATE], ["read", SUMS], fragment=f"#at={event}")
    assert state["event"] == event
    shown = [name for name, _ in rows]
    # "(itself)" has its parent's path, as the parent's line has.
    figures = {}
    for name, value in rows:
        figures.setdefault(name, []).append(value)
    for owner, value in folded(owners_of(wanted), shown).items():
        assert value in figures[owner], owner
    assert figures["device used"] == [wanted["devices"][0]["peak"]["device_used_bytes"]]
    assert sums == {row["owner"]: row["bytes"] for row in wanted["devices"][0]["peak"]["owners"] if row["blocks"]}


def test_first_shown_is_where_tensors_took_most(training, page):
    """Of several such moments the one that the tiles name."""
    state, allocated, tiles = look(page, ["read", STATE], ["read", "vtrace.moments.current().allocated_bytes"],
                                   ["read", "document.getElementById('answer').innerText"])
    assert allocated == report(training)["devices"][0]["peak"]["max_allocated_bytes"]
    assert f"event {state['event']}\n" in tiles


def test_failed_request_comes_first(failed):
    page = make_page(failed, "--force")
    text, state, first = look(page, ["read", text_of("oom")], ["read", STATE],
                              ["read", "document.querySelector('main > section').id"])
    assert text.startswith("Out of memory\nRequest of 4.00 GiB for ")
    assert text.index(report(failed)["out_of_memory"]["own_line"]) < text.index("Allocated at failure") < \
        text.index("What would have avoided it")
    assert first == "oom"
    assert any(name.startswith("out of memory: 4.00 GiB") for name in state["names"])
    assert state["event"] == report(failed)["out_of_memory"]["event"]


LIBRARY = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(256, 768), nn.Linear(256, 256)

    def forward(self, x, past):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=1), torch.cat([past[1], v], dim=1)
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v)), (k, v)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(1000, 256), nn.Linear(256, 1000)
        self.attention = nn.ModuleList(Attention() for _ in range(4))

    def forward(self, tokens, cache):
        x, kept = self.words(tokens), []
        for attention, past in zip(self.attention, cache or [None] * 4):
            x, new = attention(x, past)
            kept.append(new)
        return self.head(x[:, -1:]), kept
"""
SERVER = """
import sys
sys.path[:0] = ['FOLDER/site-packages']
import library
import torch

SESSIONS = []

def answer(model, tokens):
    cache = None
    for _ in range(6):
        logits, cache = model(tokens, cache)
        tokens = logits.argmax(-1)
    return cache

model = library.Model().cuda()
with torch.inference_mode():
    for request in range(8):
        SESSIONS.append(answer(model, torch.zeros(4, 2000, dtype=torch.int64, device="cuda")))
"""


# When the probe looks depends on the machine, else: what it misses has no name.
ALL_NAMES = {"VTRACE_PROBE": "2"}


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A server whose cache grows, made by a library's lines."""
    folder = tmp_path_factory.mktemp("serving")
    package = folder / "site-packages" / "library"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(LIBRARY)
    (folder / "server.py").write_text(SERVER.replace("FOLDER", str(folder)))
    return folder


def test_the_callers_own_line_and_the_pass(serving, tmp_path):
    database = record_python(tmp_path, serving / "server.py", env=ALL_NAMES).database
    answer, moment, leaks = look(make_page(database), ["read", text_of("answer")],
                                 ["read", "document.querySelector('#pin .said').textContent"],
                                 ["read", text_of("leaks")])
    assert "Largest owner\nkv cache\n" in answer and re.search(r"; grows by [\d.]+ MiB a generation", answer)
    assert re.search(r"Allocated at\n\S*server.py:12 answer\n", answer)
    assert " of kv cache from this line: logits, cache = model(tokens, cache)\n" in answer
    assert "of that in library/__init__.py:13 Attention.forward: k, v = torch.cat(" in answer
    assert re.search(r"When\ngeneration \d, prefill, Attention, at ", answer)
    assert re.search(r", generation \d, prefill, Attention$", moment)
    assert "library/__init__.py:13 Attention.forward" in leaks
    assert re.search(r"called from \S*server.py:12 answer", leaks)


def test_a_failed_request_names_the_callers_own_line(serving, tmp_path):
    """The request and its line, then what held most and its line; one moment, and no other tiles."""
    database = record_python(tmp_path, serving / "server.py", profile="h100-80g,memory=1200MiB").database
    text, tiles = look(make_page(database), ["read", text_of("oom")],
                       ["read", "document.querySelectorAll('main .tile').length"])
    found = report(database)["out_of_memory"]
    head, rest = text.split("Allocated at failure")
    assert found["own_line"].endswith("server.py:12 answer") and found["requested_for"]
    assert f" for {found['requested_for']} failed on cuda:0\n{found['own_line']}\nlogits, cache = model(" in head
    assert rest.index("Largest owner\nkv cache") < rest.index(f"Allocated at\n{found['own_line']}") < \
        rest.index("Where the request came from\nlibrary/__init__.py:")
    assert tiles == 4


def test_click_pins_the_nearest_moment(page):
    before, _, after, heading, events = look(
        page, ["read", STATE], ["point", OVER.format("time"), 0.98, 0.5], ["read", STATE],
        ["read", "document.querySelector('#owners h2').textContent"],
        ["read", "vtrace.moments.all.map(moment => moment.event)"])
    assert before["event"] != after["event"] == max(events)
    assert heading == f"Owners: {after['names'][0]}"


def test_drag_zooms_and_double_click_goes_back(page):
    chart = OVER.format("time")
    _, zoomed, caption, _, back = look(page, ["drag", chart, 0.3, 0.5, 0.5, 0.5], ["read", STATE],
                                          ["read", "document.querySelector('#time .note').textContent"],
                                          ["double", chart, 0.4, 0.5], ["read", STATE])
    first, last = zoomed["zoom"]
    assert 0 < first < last < 7182
    assert f"Events {first:,} to {last:,} of" in caption
    assert back["zoom"] is None


def test_owner_alone(page):
    click = ["click", "#owners tr[data-owner=logits] button"]
    _, state, icicle, _, all_owners = look(page, click, ["read", STATE],
                                           ["read", "document.querySelectorAll('#owners tr.faded').length"],
                                           ["press", "Escape"], ["read", STATE])
    assert state["owner"] == "logits"
    assert icicle > 3
    assert all_owners["owner"] == ""


def test_search_counts_bytes_once(training, page):
    peak = report(training, "--at", "most-allocated", "--top", 10000)["devices"][0]["peak"]
    wanted = sum(row["bytes"] for row in peak["stacks"]
                 if any("GPT.forward" in line for line in row["forward_python"] or row["python"]))
    assert 0 < wanted < peak["allocated_bytes"]
    _, found, words = look(page, ["type", "#stacks input", "gpt.forward"],
                           ["read", "Number(document.getElementById('found').dataset.bytes)"],
                           ["read", "document.getElementById('found').textContent"])
    assert found == wanted
    assert re.match(r"\d+ frames, ", words)


def test_rows_mark_their_blocks(training, page):
    """A finding's button shows its owner alone and marks the frames of its line, with their bytes."""
    finding = report(training)["findings"][0]
    line = finding["where"]
    peak = report(training, "--at", "most-allocated", "--top", 10000)["devices"][0]["peak"]
    wanted = sum(row["bytes"] for row in peak["stacks"]
                 if row["owner"].split("/")[0] == finding["owner"].split("/")[0] and
                 any(line in frame for frame in row["forward_python"] or row["python"]))
    _, state, found, marked = look(page, ["click", "#findings li button"], ["read", STATE],
                                   ["read", "Number(document.getElementById('found').dataset.bytes)"],
                                   ["read", "document.querySelector('#pin .chip:last-child').innerText"])
    assert (state["owner"], state["search"]) == (finding["owner"], line)
    assert found == wanted > 0
    assert "marked: " in marked


def test_stages_are_looked_at(page):
    _, state = look(page, ["click", "#stages tr[data-stage=forward] button"], ["read", STATE])
    assert state["zoom"] and any(name.startswith("end of forward") for name in state["names"])


@pytest.mark.full
def test_what_piles_up(tmp_path):
    """The table is that of `vtrace leaks`; its button shows what is alive at the end."""
    database = record_python(tmp_path, "leaking_loops.py", "lists").database
    leaks = json.loads(vtrace("leaks", database, "--json").stdout)
    figures = """[...document.querySelectorAll("#leaks tr[data-owner]")].map(row =>
        [row.dataset.owner, ...[...row.querySelectorAll("data")].map(one => Number(one.value))])"""
    rows, inside, _, state, text = look(
        make_page(database), ["read", figures], ["read", "vtrace.data.leaks"], ["click", "#leaks button"],
        ["read", STATE], ["read", "document.getElementById('leaks').innerText"])
    assert inside == leaks and len(leaks["growth"]) == 2
    assert rows[:2] == [[row["owner"], row["bytes_per_iteration"], row["bytes"]] for row in leaks["growth"]]
    assert all(row["held_by"][0]["path"] in text for row in leaks["growth"])
    assert "torch.rand(" in text
    assert state["owner"] == leaks["growth"][0]["owner"] and "end" in state["names"]


def test_keyboard_alone(page):
    steps = [["press", "Tab"]] * 25
    focus = look(page, *[step for tab in steps for step in (tab, ["read", FOCUS])])[1::2]
    assert "moment" in focus
    assert any((name or "").startswith("Memory over time") for name in focus)
    _, later, _, dialog = look(page, ["press", "]"], ["read", STATE], ["press", "?"],
                               ["read", "document.getElementById('keys').open"])
    assert dialog is True
    assert later["moment"] == look(page, ["read", STATE])[0]["moment"] + 1


def test_address_keeps_the_view(page):
    *_, hash_ = look(page, ["press", "]"], ["click", "#owners tr[data-owner=weights] button"],
                     ["read", ADDRESS])
    wanted, = look(page, ["read", STATE], fragment=hash_)
    assert wanted["owner"] == "weights"
    assert f"at={wanted['event']}" in hash_


def in_words(size):
    """As base/units.c writes them."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1023.995 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size} B" if units[0] == "B" else f"{size:.2f} {units[0]}"


SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
TIP = "document.querySelector('#time .tip').innerText"


def sums_of(peak):
    """By the first part of owners' paths, as areas are."""
    sums = {}
    for row in peak["owners"]:
        if row["blocks"]:
            group = row["owner"].split("/")[0]
            sums[group] = sums.get(group, 0) + row["bytes"]
    return sums | {"all owners": sum(sums.values())}


def test_beside_the_pointer_is_what_the_report_says(training, page):
    places = (0.1, 0.13, 0.3, 0.5, 0.7, 0.9)
    steps = [step for x in places for step in (["move", OVER.format("time"), x, 0.4], ["read", TIP])]
    stages = set()
    for text in look(page, *steps)[1::2]:
        when, where, *rows = filter(None, text.splitlines())
        time, event = re.fullmatch(r"(.+), event ([\d,]+)", when).groups()
        seconds = sum(float(part) * SECONDS[unit] for part, unit in re.findall(r"([\d.]+) (\S+)", time))
        peak = report(training, "--at", f"event:{event.replace(',', '')}")["devices"][0]["peak"]
        assert seconds == pytest.approx(peak["time_ns"] / 1e9, rel=0.02)
        assert where == (f"step {peak['step']}, " if peak["step"] else "") + peak["stage"]
        stages.add(peak["stage"])
        sums = sums_of(peak) | {"reserved": peak["reserved_bytes"], "device used": peak["device_used_bytes"]}
        assert dict(row.split("\t") for row in rows) == {name: in_words(size) for name, size in sums.items()}
    assert {"forward", "backward", "optimizer"} <= stages


INSIDE = ["read", "document.documentElement.scrollWidth <= innerWidth"]


def test_fits_a_narrow_window(page):
    assert look(page, INSIDE, width=390) == [True]


@pytest.mark.full
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_all_fit_the_window(page, failed, width, dark):
    for one in (page, make_page(failed, "--force")):
        assert look(one, INSIDE, width=width, dark=dark) == [True]


def test_without_a_script(training, page):
    text, hidden = look(page, ["read", "document.querySelector('main').innerText"],
                        ["read", "document.getElementById('time').hidden"], script=False)
    for row in report(training)["findings"]:
        assert row["text"].split(":")[0] in text
    assert "logits" in text and "device used" in text
    assert hidden


HOSTILE = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(2)>", "'</script><script>alert(3)</script>",
           "\u202egnp.exe", "a&lt;b", "javascript:alert(4)"]


def test_hostile_names(training, tmp_path):
    """Whatever a recording says stays text: in the markup, in the data, in the drawings and beside the pointer."""
    database = tmp_path / "hostile.db"
    database.write_bytes(training.read_bytes())
    with sqlite3.connect(database) as connection:
        ids = [row[0] for row in connection.execute("SELECT id FROM string ORDER BY id")]
        for i, number in enumerate(ids):
            connection.execute("UPDATE string SET text = ? || ? WHERE id = ?", (HOSTILE[i % len(HOSTILE)], i, number))
        connection.execute("UPDATE run SET value = ? WHERE key = 'command'", (json.dumps(["python", HOSTILE[0]]),))
        connection.execute("UPDATE device SET name = ?", (HOSTILE[1],))
        connection.execute("UPDATE run SET value = ? WHERE key = 'torch'", (HOSTILE[2],))
    connection.close()
    page = make_page(database)
    views = ("time", "stacks", "segments", "lifetimes")
    moves = [["move", OVER.format(view), x, 0.4] for view in views for x in (0.2, 0.6)]
    *_, title, images, scripts, hidden = look(
        page, *moves, ["read", "document.title"], ["read", "document.images.length"],
        ["read", "document.scripts.length"],
        ["read", "/[\\u202a-\\u202e]/.test(document.body.innerText)"])
    assert title == f"{HOSTILE[0].split('/')[-1]} · vtrace"
    assert images == 0
    assert scripts == 2
    assert hidden is False


ONE_EVENT = """
    import ctypes
    cuda = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    for _ in range({nr}):
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), 1 << 20) == 0
"""


@pytest.mark.full
@pytest.mark.parametrize("nr", [1, 40])
def test_few_events_and_no_torch(tmp_path, nr):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(ONE_EVENT.format(nr=nr)))
    database = record_python(tmp_path, script).database
    ready, rows = look(make_page(database), ["read", "document.documentElement.dataset.ready"], ["read", OWNERS])
    assert ready == "yes"
    assert ["device used", report(database)["devices"][0]["peak"]["device_used_bytes"]] in rows


@pytest.mark.full
def test_nothing_recorded(training, tmp_path):
    database = tmp_path / "empty.db"
    database.write_bytes(training.read_bytes())
    with sqlite3.connect(database) as connection:
        for table in ("allocation", "mark", "peak", "tensor", "probe"):
            connection.execute(f"DELETE FROM {table}")
    connection.close()
    ready, text = look(make_page(database), ["read", "document.documentElement.dataset.ready"],
                       ["read", "document.querySelector('main').innerText"])
    assert ready == "yes"
    assert "No device memory was allocated." in text


def test_types(tmp_path):
    folder, _ = tools()
    config = {"extends": f"{SOURCE}/analyzer/page/tsconfig.json", "include": [f"{SOURCE}/analyzer/page/*.ts"],
              "compilerOptions": {"baseUrl": f"{folder}/node_modules", "paths": {"d3-*": ["@types/d3-*"]}}}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    done = subprocess.run([f"{folder}/node_modules/.bin/tsc", "-p", tmp_path], capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout

# SPDX-License-Identifier: MIT
"""Pages of two recordings and of folders in a browser: their figures are those of `vtrace diff` and `vtrace report`."""
import json
import re
import shutil

import pytest
from browser import look
from page import Page
from ranks import change, train
from recording import record_python, vtrace

ROWS = """[...document.querySelectorAll("#pair table.pair [data-owner]")].map(row =>
    [row.dataset.owner, ...[...row.querySelectorAll("data")].slice(0, 3).map(one => Number(one.value))])"""
CELLS = """[...document.querySelectorAll("#ranks tr[data-label]")].map(row => [row.dataset.label,
    Object.fromEntries([...row.querySelectorAll("td.heat")]
        .map(cell => [cell.dataset.column, Number(cell.dataset.bytes)]))])"""
SHADED = """[...document.querySelectorAll("#ranks td.heat")].filter(cell => cell.style.background)
    .map(cell => [cell.closest("tr").dataset.label, cell.dataset.column])"""
LOOKED_AT = "[vtrace.label, vtrace.report.run.pid, document.querySelector('#recording h2').textContent]"
# Kept when nothing has changed for a moment.
ADDRESS = "new Promise((done) => setTimeout(() => done(location.hash), 1000))"
BOTH = ("base", "new")


def page_of(*arguments):
    done = vtrace("html", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def as_json(*arguments):
    done = vtrace(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Recordings by name, and their page."""
    folder = tmp_path_factory.mktemp("pair")
    options = {"base": ["batch=4"], "new": ["batch=6", "checkpoint=1"]}
    found = {name: record_python(folder, "diff_training.py", *options[name], name=f"{name}.db").database
             for name in BOTH}
    return found, page_of(found["new"], "--base", found["base"])


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = train(tmp_path_factory.mktemp("ranks"), 2, "--large-rank", 1)
    return folder, page_of(folder)


def test_owners_and_places_are_those_of_diff(pair):
    files, page = pair
    diff = as_json("diff", files["base"], files["new"], "--top", 2000)
    device, = diff["devices"]
    rows, inside = look(page, ["read", ROWS], ["read", "vtrace.comparison.diff"])
    assert inside == diff
    shown = {owner: figures for owner, *figures in rows}
    used = shown.pop("device used")
    wanted = {row["owner"]: [row["base_bytes"], row["new_bytes"], row["change_bytes"]] for row in device["owners"]}
    assert shown and all(wanted[owner] == figures for owner, figures in shown.items())
    assert all(abs(figures[2]) <= device["noise_bytes"] for owner, figures in wanted.items() if owner not in shown)
    assert used == [sum(figures[i] for figures in wanted.values()) for i in range(3)]


def test_views_of_either_recording(pair):
    files, page = pair
    pids = {name: as_json("report", files[name])["run"]["pid"] for name in BOTH}
    before, _, after, address = look(page, ["read", LOOKED_AT], ["click", "#recordings button[data-index='1']"],
                                     ["read", LOOKED_AT], ["read", ADDRESS])
    assert before == ["new", pids["new"], "diff_training.py"]
    assert after == ["base", pids["base"], "diff_training.py"]
    again, = look(page, ["read", LOOKED_AT], fragment=address)
    assert again == after


def test_both_are_drawn_on_one_scale(pair):
    """Both halves of the mirror have weights in them, and beside the pointer are the sums of both."""
    _, page = pair
    canvas = "#pair .mirror canvas.over"
    drawn = """(() => { const canvas = document.querySelector("#pair .mirror canvas.base"), { width, height } = canvas;
        const { data } = canvas.getContext("2d").getImageData(0, 0, width, height), half = data.length / 2;
        const isWeights = (_, i, all) => i % 4 === 0 && all[i] === 0 && all[i + 1] === 0x72 && all[i + 2] === 0xb2;
        return [data.subarray(0, half), data.subarray(half)].map((part) => part.filter(isWeights).length); })()"""
    _, counts, text = look(page, ["move", canvas, 0.5, 0.3], ["read", drawn],
                           ["read", "document.querySelector('#pair .mirror .tip').innerText"])
    assert min(counts) > 1000
    assert all(name in text for name in (*BOTH, "all owners"))


NOTE = "document.querySelector('#pair .mirror .note').textContent"
# What is out of sight is drawn late, and with it the note is written.
DRAWN = f"new Promise((done) => {{ const look = () => {NOTE} ? done() : setTimeout(look, 50); look(); }})"
# Whether anything is painted where the axis of the base and that of the new recording are.
AXES = """(() => { const canvas = document.querySelector("#pair .mirror canvas.base"), { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height), axis = 20 * 4 * width;
    return [data.subarray(0, axis), data.subarray(-axis)].map(part => part.some(value => value)); })()"""


def test_both_are_zoomed_by_the_same_part(pair):
    _, page = pair
    canvas = "#pair .mirror canvas.over"
    button = ["click", "#pair .mirror .switch button:last-child"]
    _, axes, whole, _, zoomed, _, tip, _, back, _, _, _, keyed, *_, by_time = look(
        page, ["read", DRAWN], ["read", AXES], ["read", NOTE], ["drag", canvas, 0.3, 0.3, 0.6, 0.3], ["read", NOTE],
        ["move", canvas, 0.5, 0.3], ["read", "document.querySelector('#pair .mirror .tip').innerText"],
        ["double", canvas, 0.5, 0.3], ["read", NOTE], ["read", f"document.querySelector('{canvas}').focus()"],
        ["press", "+"], ["press", "+"], ["read", NOTE], ["press", "0"], button,
        ["read", f"[{NOTE}, document.querySelector('{button[1]}').ariaPressed]"])
    assert axes == [True, True]
    assert "from its start to its end" in whole and back == whole
    parts = {label: [int(number.replace(",", "")) for number in numbers]
             for label, *numbers in re.findall(r"(base|new): events ([\d,]+) to ([\d,]+) of ([\d,]+)\.", zoomed)}
    assert set(parts) == set(BOTH)
    for first, last, end in parts.values():
        assert abs(first / end - 0.27) < 0.04 and abs(last / end - 0.59) < 0.04
    assert all(name in tip for name in (*BOTH, "all owners"))
    first, last, end = [int(number.replace(",", "")) for number in
                        re.search(r"new: events ([\d,]+) to ([\d,]+) of ([\d,]+)\.", keyed).groups()]
    assert abs((last - first) / end - 0.25) < 0.01
    assert by_time == [whole, "true"]


def test_places_by_keyboard(pair):
    _, page = pair
    view = "document.querySelector('#pair .changes {}')"
    *_, text = look(page, ["read", view.format("canvas.over") + ".focus()"], ["press", "ArrowDown"],
                    ["press", "ArrowDown"], ["read", view.format(".tip") + ".innerText"])
    assert "diff_training.py" in text and " before, " in text


@pytest.mark.full
@pytest.mark.parametrize("width", [390, 1280])
def test_fit_the_window(pair, ranks, width):
    for _, page in (pair, ranks):
        inside, = look(page, ["read", "document.documentElement.scrollWidth <= innerWidth"], width=width)
        assert inside
    table = "document.querySelector('#ranks table')"
    cut, = look(ranks[1], ["read", f"{table}.scrollWidth - {table}.clientWidth"], width=width)
    assert cut == 0 or width == 390


@pytest.mark.full
def test_without_a_script(pair, ranks):
    text, = look(pair[1], ["read", "document.body.innerText"], script=False)
    assert "logits" in text and "Call sites that changed" in text and "diff_training.py" in text
    text, = look(ranks[1], ["read", "document.body.innerText"], script=False)
    assert "Ranks by owners" in text and "The highest, rank 1, against the median, rank 0" in text


@pytest.mark.full
def test_ranks_by_owners(ranks):
    folder, page = ranks
    cells, shaded, inside = look(page, ["read", CELLS], ["read", SHADED], ["read", "vtrace.comparison.ranks"])
    assert inside == as_json("report", folder, "--top", 2000)
    for rank, (label, figures) in enumerate(cells):
        assert label == f"rank {rank}"
        own = as_json("report", folder / f"run.rank{rank}.db", "--at", "most-allocated")["devices"][0]["peak"]
        sums = {}
        for row in own["owners"]:
            parent = row["owner"].split("/")[0]
            sums[parent] = sums.get(parent, 0) + row["bytes"]
        assert figures.pop("allocated") == own["max_allocated_bytes"]
        assert figures.pop("used") == inside["ranks"][rank]["process_used_bytes"]
        assert figures == {name: sums.get(name, 0) for name in figures}
        assert {name for name, value in sums.items() if value} - set(figures) <= {"other processes"}
    # Twice the batch is in activations and logits, not in what the model itself takes.
    assert {("rank 1", "activations"), ("rank 1", "logits")} <= {tuple(cell) for cell in shaded}
    assert not {"weights", "optimizer", "context"} & {column for _, column in shaded}


@pytest.mark.full
def test_a_click_opens_a_rank(ranks):
    _, page = ranks
    before, _, after = look(page, ["read", "vtrace.label"], ["click", "#ranks tr[data-label='rank 0'] button"],
                            ["read", "vtrace.label"])
    assert (before, after) == ("rank 1", "rank 0")


@pytest.mark.full
def test_separate_runs_are_a_list(pair, tmp_path):
    files, _ = pair
    for name in BOTH:
        shutil.copy(files[name], tmp_path / f"{name}.db")
    page = page_of(tmp_path, "-o", tmp_path / "list.html")
    rows = "[...document.querySelectorAll('#ranks tr[data-label]')].map(row => row.dataset.label)"
    title, labels, _, after = look(page, ["read", "document.querySelector('h1').textContent"], ["read", rows],
                                   ["click", "#ranks tr[data-label='new.db'] button"], ["read", "vtrace.label"])
    assert title == "2 recordings of separate runs"
    assert labels == ["base.db", "new.db"]
    assert after == "new.db"


@pytest.mark.full
def test_hostile_names_of_files(pair, tmp_path):
    files, _ = pair
    name = "\"><img src=x onerror=alert(1)>\u202e.db"
    shutil.copy(files["new"], tmp_path / name)
    page = page_of(tmp_path / name, "--base", files["base"], "-o", tmp_path / "pair.html")
    assert look(page, ["read", "document.images.length"]) == [0]
    shutil.copy(files["base"], tmp_path / "base.db")
    page = page_of(tmp_path, "-o", tmp_path / "list.html")
    images, text = look(page, ["read", "document.images.length"], ["read", "document.body.innerText"])
    assert images == 0 and "[U+202E]" in text


@pytest.mark.full
def test_as_many_recordings_as_fit(tmp_path_factory, tmp_path):
    """80 ranks: below 5 MiB, the highest and the median among those that are inside."""
    folder = train(tmp_path_factory.mktemp("long"), 2, "--large-rank", 1, "--steps", 48)
    for rank in range(80):
        copy = shutil.copy(folder / f"run.rank{rank == 41:d}.db", tmp_path / f"run.rank{rank}.db")
        change(copy, rank=rank, world_size=80)
    page = tmp_path / "ranks.html"
    page_of(tmp_path, "-o", page)
    assert page.stat().st_size < 5 << 20
    found = Page(page, "comparison").data
    assert (found["ranks"]["peak_rank"], found["pair"][1]) == (41, "rank 41")
    templates = "[...document.querySelectorAll('template.recording')].map(one => one.dataset.label)"
    counts = r"document.body.innerText.match(/views of (\d+) of (\d+) recordings/).slice(1).map(Number)"
    inside, note, rows = look(page, ["read", templates], ["read", counts],
                              ["read", "document.querySelectorAll('#ranks tr[data-label]').length"])
    assert inside[:2] == found["pair"][::-1]
    assert note == [len(inside), 80] and 10 < len(inside) < 80
    assert rows == 80


@pytest.mark.parametrize("arguments, code, text", [
    (["FOLDER", "--base", "NEW"], 2, "--base is for one recording"),
    (["NEW", "--run", "1"], 2, "--run is for a folder"),
    (["NEW", "--base", "NONE"], 3, "No such file"),
    (["NEW", "--base", "BASE", "--at", "step:99"], 3, "step"),
])
def test_wrong_use(pair, tmp_path, arguments, code, text):
    files, _ = pair
    names = {"FOLDER": tmp_path, "NEW": files["new"], "BASE": files["base"], "NONE": tmp_path / "none.db"}
    done = vtrace("html", *[names.get(word, word) for word in arguments], "-o", tmp_path / "page.html")
    assert done.returncode == code
    assert text in done.stderr and done.stderr.count("\n") <= 2
    assert not (tmp_path / "page.html").exists()

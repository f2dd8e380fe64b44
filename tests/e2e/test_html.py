# SPDX-License-Identifier: MIT
"""`vtrace html`: what the file holds. tests/page looks at it in a browser."""
import base64
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

from living import until
from page import Page
from recording import (BUILD, PYTHON, TIMEOUT_S, VTRACE, clean_environment, make_allocations_writable, record,
                       record_python, vtrace)


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    return record_python(tmp_path_factory.mktemp("html"), "train_gpt.py").database


@pytest.fixture(scope="module")
def page(training):
    done = vtrace("html", training)
    assert done.returncode == 0, done.stderr
    output = training.with_suffix(".html")
    assert done.stdout == f"{output}\n"
    return Page(output)


def report(database, *options):
    return json.loads(vtrace("report", database, "--json", "--top", 20, *options).stdout)


def copy(database, folder, *statements):
    """The recording with other rows."""
    changed = folder / "copy.db"
    changed.write_bytes(database.read_bytes())
    with sqlite3.connect(changed) as connection:
        make_allocations_writable(connection)
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return changed


def test_report_is_inside(training, page):
    assert page.data["report"] == report(training)


def test_highest_bucket_is_the_peak(training, page):
    peak = report(training, "--at", "most-allocated")["devices"][0]["peak"]
    tops = page.tops()
    totals = [sum(values) for values in zip(*tops.values())]
    highest = totals.index(max(totals))
    owners = {row["owner"]: row["bytes"] for row in peak["owners"] if row["blocks"]}
    assert {owner: values[highest] for owner, values in tops.items() if values[highest]} == owners


def test_used_is_the_peak(page):
    peak = page.data["report"]["devices"][0]["peak"]
    assert max(page.column("0.used")) == peak["device_used_bytes"]


def test_tables_without_a_script(page):
    peak = page.data["report"]["devices"][0]["peak"]
    figures = {int(value) for value in re.findall(r'<data value="(\d+)">', page.markup)}
    assert {row["bytes"] for row in peak["owners"] if row["bytes"]} <= figures
    assert {finding["lowers_allocated_bytes"] for finding in page.data["report"]["findings"]} <= figures


def test_policy_names_the_two_elements(page):
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', page.text).group(1)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page.text, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r"\b(?:src|href)=", page.markup)


def test_existing_file_is_kept(training, page, tmp_path):
    output = tmp_path / "page.html"
    output.write_text("mine")
    done = vtrace("html", training, "-o", output)
    assert done.returncode == 3
    assert done.stderr == f"vtrace: {output}: already exists (use --force to overwrite)\n"
    assert output.read_text() == "mine"
    assert vtrace("html", training, "-o", output, "--force").returncode == 0
    assert Page(output).data["report"] == page.data["report"]


def test_the_page_is_opened(training, tmp_path):
    """By xdg-open, which need not be there: the page is written in any case."""
    (tmp_path / "bin").mkdir()
    opener, opened = tmp_path / "bin" / "xdg-open", tmp_path / "opened"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    opener.chmod(0o755)
    output = tmp_path / "page.html"
    done = vtrace("html", training, "-o", output, "--open", env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    until(opened.exists)
    assert opened.read_text() == str(output) and output.exists()
    opener.unlink()
    done = vtrace("html", training, "-o", output, "--force", "--open", env={"PATH": str(tmp_path / "bin")})
    assert done.returncode == 0 and "vtrace: --open: xdg-open: No such file or directory" in done.stderr
    done = vtrace("html", training, "-o", "-", "--open")
    assert done.returncode == 2 and "--open needs a file" in done.stderr


def test_only_files_are_replaced(training):
    done = vtrace("html", training, "-o", "/dev/full", "--force")
    assert done.returncode == 3
    assert done.stderr == "vtrace: /dev/full: already exists and is not a regular file\n"


def test_no_room_for_it(training, tmp_path):
    """A limit on files is as good as a full disk: nothing stays behind."""
    command = 'ulimit -f 16; trap "" XFSZ; exec "$@"'
    done = subprocess.run(["bash", "-c", command, "bash", VTRACE, "html", training, "-o", tmp_path / "page.html"],
                          capture_output=True, text=True, timeout=TIMEOUT_S, env=clean_environment())
    assert done.returncode == 3
    assert done.stderr == f"vtrace: {tmp_path}/page.html: cannot write: File too large\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kept", [0, 100, 20000])
def test_cut_recording(training, kept, tmp_path):
    short = tmp_path / "short.db"
    short.write_bytes(training.read_bytes()[:kept])
    done = vtrace("html", short)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1 and "short.db" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["short.db"]


def test_lost_events_are_said(training, tmp_path):
    """A journal that ended before its end: `missing_slots` is what its import left."""
    database = copy(training, tmp_path, "INSERT OR REPLACE INTO run VALUES ('missing_slots', '123')")
    assert vtrace("html", database).returncode == 0
    assert "lost: the journal is truncated: 123 slots are missing" in Page(tmp_path / "copy.html").markup


def test_neither_torch_nor_python(tmp_path):
    recorded = record(tmp_path, BUILD / "tests" / "workloads" / "driver_client", "2")
    assert vtrace("html", recorded.database).returncode == 0
    page = Page(recorded.database.with_suffix(".html"))
    assert page.data["report"] == recorded.report("--top", 20)
    # Call sites are native frames, in the charts' data and in the text.
    assert "driver_client!load_weights" in json.dumps(page.data)
    assert "driver_client!take" in page.markup


OUT_OF_MEMORY = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config(n_layer=24)).cuda()
tokens = torch.zeros(24, 1024, dtype=torch.long, device="cuda")
with torch.autocast("cuda", torch.bfloat16):
    model(tokens, labels=tokens).loss.backward()
"""


def test_what_holds_little_of_an_owner_does_not_explain_it(tmp_path):
    """A variable of the library has the embeddings; the blocks of the layers are the graph's."""
    (tmp_path / "train.py").write_text(OUT_OF_MEMORY)
    recorded = record(tmp_path, PYTHON, tmp_path / "train.py", profile="t4-16g", env={"VTRACE_PROBE": "2"})
    assert "OutOfMemoryError" in recorded.process.stderr
    assert vtrace("html", recorded.database).returncode == 0
    markup = Page(tmp_path / "run.html").markup
    largest = re.search(r"Largest owner.*?</div>", markup, re.S)[0]
    assert "activations" in largest and "held by" not in largest
    # A batch with which the request succeeds is no advice where a whole step needs a smaller one.
    succeeds, needs = (int(re.search(pattern, markup)[1]) for pattern in
                     (r'<tr class=""><th scope="row">batch (\d+) instead of 24<td>succeeds for this request, but no ',
                      r'<th scope="row">batch (\d+) or less<td>needed for a whole step; '))
    assert needs < succeeds < 24


def test_two_hundred_devices(training, tmp_path):
    statements = []
    for table, key in (("device", "id"), ("peak", "device")):
        with sqlite3.connect(training) as connection:
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        connection.close()
        columns = ", ".join("number" if name == key else name for name in names)
        statements.append("WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers"
                          f" WHERE number < 199) INSERT INTO {table} SELECT {columns} FROM {table}, numbers"
                          f" WHERE {key} = 0")
    database = copy(training, tmp_path, *statements, "UPDATE allocation SET device = id % 200")
    assert vtrace("html", database).returncode == 0
    page = Page(tmp_path / "copy.html")
    assert len(page.data["series"]["devices"]) == 200
    assert page.data["report"] == report(database)
    assert (tmp_path / "copy.html").stat().st_size < 5 << 20


def test_folder_that_is_not_there(training, tmp_path):
    done = vtrace("html", training, "-o", tmp_path / "none" / "page.html")
    assert done.returncode == 3
    assert done.stderr == f"vtrace: {tmp_path}/none/page.html: cannot write: No such file or directory\n"
    assert not list(tmp_path.iterdir())


def test_run_writes_one(tmp_path):
    done = record_python(tmp_path, "train_mlp.py", options=("--html",))
    assert done.process.returncode == 0, done.process.stderr
    assert done.process.stderr.splitlines()[-1] == "vtrace: page: run.html"
    assert Page(tmp_path / "run.html").data["report"] == report(done.database)


def test_run_keeps_the_exit_code_without_one(tmp_path):
    (tmp_path / "run.html").write_text("mine")
    done = record_python(tmp_path, "train_mlp.py", options=("--html",))
    assert done.process.returncode == 0
    assert done.process.stderr.endswith("vtrace: run.html: already exists (use --force to overwrite)\n")
    assert (tmp_path / "run.html").read_text() == "mine"


@pytest.mark.parametrize("limit, is_broken", [("1 MiB", True), ("70 GiB", False)])
def test_check_writes_one_of_a_broken_budget(training, page, limit, is_broken, tmp_path):
    budget, output = tmp_path / "memory.toml", tmp_path / "page.html"
    budget.write_text(f'[total]\nallocated = "{limit}"\n')
    done = vtrace("check", training, "--budget", budget, "--html", output)
    assert done.returncode == is_broken, done.stderr
    assert output.exists() == is_broken
    if is_broken:
        assert Page(output).data["report"] == page.data["report"]


def test_a_recording_is_never_replaced_by_a_page(training, tmp_path):
    copy = tmp_path / "run.db"
    shutil.copy(training, copy)
    before = copy.read_bytes()
    for arguments in ((copy, "-o", copy), ("--base", copy, "-o", copy, training)):
        done = vtrace("html", "--force", *arguments)
        said = f"vtrace: {copy}: is a recording; this command does not replace one\n"
        assert (done.returncode, done.stderr) == (3, said)
    assert copy.read_bytes() == before


def test_the_page_of_this_folder_has_its_name(training, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(training, folder / "run.db")
    done = vtrace("html", ".", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "runs.html\n"), done.stderr
    assert (folder / "runs.html").exists()

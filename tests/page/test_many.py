# SPDX-License-Identifier: MIT
"""A page of 10^6 events in a browser."""
import json

import pytest
from browser import look
from recording import record_python, vtrace

pytestmark = pytest.mark.full
OWNERS = """Object.fromEntries(vtrace.moments.current().owners.filter(row => row.bytes)
    .map(row => [row.owner, row.bytes]))"""
SUMS = """(() => {
    const index = vtrace.state.moment, sums = {};
    const add = (owner, bytes) => { sums[owner] = (sums[owner] ?? 0) + bytes; };
    for (const row of vtrace.blocks.liveAt(index))
        if (vtrace.blocks.hasOwner(row)) add(vtrace.blocks.textOf("owner", row), vtrace.blocks.get("size", row));
    for (const rest of vtrace.blocks.restAt(index)) add(rest.owner, rest.bytes);
    return sums;
})()"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return record_python(tmp_path_factory.mktemp("many"), "many_blocks.py", "--blocks", "500000")


def test_a_million_events(recording):
    database = recording.database
    assert recording.report()["run"]["events"] > 10 ** 6
    done = vtrace("html", database)
    assert done.returncode == 0, done.stderr
    page = database.with_suffix(".html")
    assert page.stat().st_size <= 5 << 20
    for when in ("peak", "most-allocated"):
        peak = json.loads(vtrace("report", database, "--json", "--at", when).stdout)["devices"][0]["peak"]
        owners, sums, caption, _, zoomed = look(
            page, ["read", OWNERS], ["read", SUMS], ["read", "document.querySelector('#time .note').textContent"],
            ["drag", "#time canvas.over", 0.4, 0.5, 0.6, 0.5], ["read", "vtrace.state.zoom"],
            fragment=f"#at={peak['event']}")
        assert owners == {row["owner"]: row["bytes"] for row in peak["owners"] if row["bytes"]}
        assert sums == {row["owner"]: row["bytes"] for row in peak["owners"] if row["blocks"]}
        assert caption.startswith("Drawn in buckets of ")
        assert 0 < zoomed[0] < zoomed[1] < 1.2 * 10 ** 6

// SPDX-License-Identifier: MIT
// Owners at the pinned moment, as the report has them; a click shows one owner alone everywhere.
import { OwnerFigure } from "./data";
import { colourOf, groupOf, isBelow } from "./colours";
import { el, section, swatch } from "./dom";
import { bytes, count, share } from "./format";
import { Moment, Moments } from "./moments";
import { shortNameOf } from "./pin";
import { change, follow, state } from "./state";

interface Parent { name: string; bytes: number; blocks: number; leaves: OwnerFigure[]; isRest: boolean; }

const REST = new Set(["cached", "graph pools", "unfilled pages", "context", "other processes"]);
const WORDS: Record<string, string> = {
  cached: "cached, not in use", "graph pools": "CUDA graph pools, idle", context: "CUDA context, libraries",
};

function parents(moment: Moment): Parent[] {
  const all = new Map<string, Parent>();
  for (const leaf of moment.owners) {
    if (!leaf.bytes) continue;
    const name = groupOf(leaf.owner), isRest = REST.has(name) && !leaf.blocks;
    const parent = all.get(name) ?? { name, bytes: 0, blocks: 0, leaves: [], isRest };
    parent.bytes += leaf.bytes;
    parent.blocks += leaf.blocks;
    parent.leaves.push(leaf);
    all.set(name, parent);
  }
  for (const parent of all.values()) parent.leaves.sort((a, b) => b.bytes - a.bytes);
  return [...all.values()].sort((a, b) => Number(a.isRest) - Number(b.isRest) || b.bytes - a.bytes);
}

function knownBy(leaves: OwnerFigure[]): string {
  const sums = new Map<string, number>();
  for (const leaf of leaves)
    for (const [word, value] of Object.entries(leaf.provenance)) sums.set(word, (sums.get(word) ?? 0) + value);
  const [best] = [...sums].sort((a, b) => b[1] - a[1]);
  return best && best[1] ? best[0] : "";
}

export class OwnersView {
  private readonly root = section("owners");

  constructor(private readonly moments: Moments) {
    this.show();
    follow((_, changed) => {
      if (changed.has("moment") || changed.has("owner") || changed.has("device")) this.show();
    });
  }

  private row(owner: string, text: string, value: number, blocks: number, evidence: string, moment: Moment,
              isLeaf: boolean, canFilter: boolean): HTMLElement {
    const bar = el("span", { class: "meter" });
    bar.style.width = `${(100 * value) / moment.device_used_bytes}%`;
    bar.style.background = colourOf(owner);
    const name = canFilter
      ? el("button", { type: "button", "aria-pressed": String(state.owner === owner),
                       click: () => change({ owner: state.owner === owner ? "" : owner }) }, swatch(colourOf(owner)), text)
      : el("span", {}, swatch(colourOf(owner)), text);
    const faded = state.owner && !isBelow(owner, state.owner) && !isBelow(state.owner, owner);
    return el("tr", { class: `${isLeaf ? "leaf" : "owner"}${faded ? " faded" : ""}`, "data-owner": owner, "data-bytes": value },
              el("th", { scope: "row" }, name), el("td", { class: "n" }, bytes(value)),
              el("td", { class: "n" }, share(value, moment.device_used_bytes)), el("td", { class: "bars" }, bar),
              el("td", { class: "n" }, canFilter ? count(blocks) : ""), el("td", {}, evidence));
  }

  private show(): void {
    const moment = this.moments.current();
    if (!moment) return;
    const body = el("tbody");
    for (const parent of parents(moment)) {
      const only = parent.leaves.length === 1 ? parent.leaves[0] : null;
      const word = WORDS[parent.name] ?? parent.name;
      const text = only && only.owner !== parent.name ? `${word} (${only.owner.slice(parent.name.length + 1)})` : word;
      body.append(this.row(parent.name, text, parent.bytes, parent.blocks, knownBy(parent.leaves), moment, false, !parent.isRest));
      if (!only)
        for (const leaf of parent.leaves)
          body.append(this.row(leaf.owner, leaf.owner === parent.name ? "(itself)" : leaf.owner.slice(parent.name.length + 1),
                               leaf.bytes, leaf.blocks, knownBy([leaf]), moment, true, !parent.isRest));
    }
    const head = ["owner", "bytes", "of used", "", "blocks", "known by"].map((word, i) =>
      el("th", { scope: "col", class: i === 1 || i === 2 || i === 4 ? "n" : "" }, word));
    const foot = el("tfoot", {}, el("tr", { "data-owner": "device used", "data-bytes": moment.device_used_bytes },
      el("th", { scope: "row" }, "device used"), el("td", { class: "n" }, bytes(moment.device_used_bytes)),
      el("td", { class: "n" }, share(1, 1)), el("td"), el("td"), el("td")));
    this.root.replaceChildren(
      el("div", { class: "bar" }, el("h2", {}, `Owners: ${shortNameOf(moment)}`)),
      el("table", { class: "owners" }, el("thead", {}, el("tr", {}, ...head)), body, foot),
      el("p", { class: "note" }, "Click an owner to show only that owner in all views."));
  }
}

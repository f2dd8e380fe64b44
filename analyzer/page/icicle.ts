// SPDX-License-Identifier: MIT
// Who allocated what is live at the pinned moment: stacks as an icicle, width is bytes, colour is
// the owner that has most of them. The same by module path and by keeper.
import { Blocks, Tree } from "./blocks";
import { colourOf, groupOf, isBelow } from "./colours";
import { append, el, section, swatch } from "./dom";
import { blocks as blocksText, bytes, share, visible } from "./format";
import { Branch, Icicle, withoutFolder } from "./icicle_drawing";
import { Moments } from "./moments";
import { change, follow, state } from "./state";

const MODES = { python: "Python stacks", native: "native stacks", module: "modules", keeper: "what keeps it" } as const;
type Mode = keyof typeof MODES;

/** Its weight is bytes. */
interface Frame extends Branch<Frame> { source: string; blocks: number; owners: Map<string, number>; }

function makeFrame(text: string, source: string, parent: Frame | null): Frame {
  return { text, source, weight: 0, blocks: 0, owners: new Map(), children: new Map(), parent };
}

function add(root: Frame, path: [string, string][], owner: string, size: number, blocks: number): void {
  let node = root;
  for (let i = 0; ; i++) {
    node.weight += size;
    node.blocks += blocks;
    node.owners.set(owner, (node.owners.get(owner) ?? 0) + size);
    if (i === path.length) return;
    let child = node.children.get(path[i][0]);
    if (!child) node.children.set(path[i][0], (child = makeFrame(path[i][0], path[i][1], node)));
    node = child;
  }
}

/** "model.layers.3.mlp" as "model", ".layers", ".3", ".mlp". */
function moduleParts(path: string): [string, string][] {
  return path.split(".").map((part, i) => [i ? `.${part}` : part, ""]);
}

export class IcicleView {
  private readonly icicle: Icicle<Frame>;
  private readonly note = el("p", { class: "note" });
  private readonly found = el("span", { class: "note", role: "status", id: "found" });
  private readonly search = el("input", { type: "search", placeholder: "search frames", "aria-label": "Search frames",
                                          input: () => change({ search: this.search.value.trim() }) });
  private mode: Mode = "python";
  private root: Frame = makeFrame("", "", null);
  private needle = "";

  constructor(private readonly blocks: Blocks, private readonly moments: Moments) {
    const root = section("stacks");
    append(root, [this.controls()]);
    this.icicle = new Icicle<Frame>(root, "Call stacks. Arrow keys move between frames, Enter zooms, Escape shows all.", {
      colour: (node) => this.colour(node),
      label: (node, isWide) => this.label(node, isWide),
      describe: (node) => this.describe(node),
      isFaint: (node) => this.needle !== "" && !this.matches(node),
    }, () => this.say());
    root.append(this.note);
    this.build();
    follow((_, changed) => {
      if (changed.has("search")) this.lookFor();
      if (changed.has("moment") || changed.has("owner") || changed.has("device")) this.build();
    });
  }

  private controls(): HTMLElement {
    const buttons = (Object.keys(MODES) as Mode[]).map((mode) => {
      const button = el("button", { type: "button", "aria-pressed": String(mode === this.mode), "data-mode": mode, click: () => {
        this.mode = mode;
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        this.build();
      } }, MODES[mode]);
      return button;
    });
    return el("div", { class: "bar" }, el("h2", {}, "Call stacks"),
              el("span", { class: "switch", role: "group", "aria-label": "Group by" }, ...buttons), this.search, this.found);
  }

  private pathOf(tree: Tree, node: number): [string, string][] {
    return tree.path(node).map((at) => [tree.textOf(at), tree.sourceOf(at)]);
  }

  private pathOfRow(row: number): [string, string][] {
    const { blocks } = this;
    switch (this.mode) {
      case "module": {
        const module = blocks.get("module", row);
        const parts = module ? moduleParts(blocks.text(module) || "(root module)") : [["no module", ""] as [string, string]];
        const name = blocks.textOf("name", row);
        return name ? [...parts, [name, ""]] : parts;
      }
      case "keeper": {
        const line = blocks.line(row);
        return [[blocks.textOf("keeper", row) || "not known", ""], [blocks.textOf("owner", row), ""], [line[0] || "no stack", line[1]]];
      }
      default:
        return this.pathOfStack(blocks.get("python", row), blocks.get("native", row));
    }
  }

  /** Where there is no Python, the native stack stands for it. */
  private pathOfStack(python: number, native: number): [string, string][] {
    const { blocks } = this;
    if (this.mode === "python" && python) return this.pathOf(blocks.python, python);
    const path = native ? this.pathOf(blocks.native, native) : [];
    if (this.mode === "native" && python) return [...this.pathOf(blocks.python, python), ...path];
    return path.length ? path : [["no stack", ""]];
  }

  private build(): void {
    const moment = this.moments.current();
    this.root = makeFrame("all", "", null);
    if (moment) {
      for (const row of this.blocks.liveAt(state.moment)) {
        const owner = this.blocks.textOf("owner", row);
        if (owner && (!state.owner || isBelow(owner, state.owner)))
          add(this.root, this.pathOfRow(row), owner, this.blocks.get("size", row), 1);
      }
      for (const rest of this.blocks.restAt(state.moment))
        if (!state.owner || isBelow(rest.owner, state.owner))
          add(this.root, this.mode === "module" || this.mode === "keeper" ? [["small blocks", ""]]
              : this.pathOfStack(rest.python, rest.native), rest.owner, rest.bytes, rest.blocks);
    }
    this.icicle.show(this.root);
    this.lookFor();
  }

  private say(): void {
    this.note.textContent = "Outermost frame on top; width is bytes; click a frame to zoom." +
      (this.icicle.isCut ? " Deeper frames appear when you zoom." : "");
  }

  private colour(node: Frame): string {
    let best = "", most = -1;
    const groups = new Map<string, number>();
    for (const [owner, value] of node.owners) {
      const name = state.owner ? owner : groupOf(owner);
      groups.set(name, (groups.get(name) ?? 0) + value);
    }
    for (const [name, value] of groups)
      if (value > most) [best, most] = [name, value];
    return colourOf(best);
  }

  private label(node: Frame, isWide: boolean): string {
    if (!node.parent) return `all: ${bytes(node.weight)}`;
    return isWide ? `${withoutFolder(node.text)}   ${bytes(node.weight)}` : withoutFolder(node.text);
  }

  private matches(node: Frame): boolean {
    return visible(node.text).toLowerCase().includes(this.needle);
  }

  /** Bytes below a match count once. */
  private lookFor(): void {
    if (document.activeElement !== this.search) this.search.value = state.search;
    this.needle = visible(state.search).toLowerCase();
    let found = 0, frames = 0;
    const visit = (node: Frame, isInside: boolean) => {
      const isMatch = node.parent !== null && this.matches(node);
      if (isMatch) frames++;
      if (isMatch && !isInside) found += node.weight;
      for (const child of node.children.values()) visit(child, isInside || isMatch);
    };
    if (this.needle) visit(this.root, false);
    this.found.dataset.bytes = String(found);
    this.found.textContent = this.needle ? `${frames} frame${frames === 1 ? "" : "s"}, ${bytes(found)} (${share(found, this.root.weight)})` : "";
    this.icicle.redraw();
  }

  private describe(node: Frame): HTMLElement {
    const owners = [...node.owners].sort((a, b) => b[1] - a[1]);
    const rows = el("table", {}, ...owners.slice(0, 8).map(([owner, value]) =>
      el("tr", {}, el("th", {}, swatch(colourOf(owner)), owner), el("td", {}, bytes(value)))));
    return el("div", {}, el("strong", {}, node.text), node.source ? el("code", { class: "source" }, node.source) : null,
      el("p", {}, `${bytes(node.weight)} in ${blocksText(node.blocks)}, ${share(node.weight, this.root.weight)}`), rows);
  }
}

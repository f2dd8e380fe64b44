// SPDX-License-Identifier: MIT
// Who allocated what is live at the pinned moment: stacks as an icicle, width is bytes, colour is
// the owner that has most of them. The same by module path and by keeper.
import { Blocks, Tree } from "./blocks";
import { Drawing, fitText } from "./canvas";
import { colourOf, groupOf, isBelow } from "./colours";
import { append, el, section, swatch } from "./dom";
import { blocks as blocksText, bytes, share, visible } from "./format";
import { Moments } from "./moments";
import { follow, state } from "./state";

const FOLDER = /^(backward of )?.*\/(?=[^/]+:\d)/; // of a Python file
const ROW = 20, MOST_ROWS = 34;
const MODES = { python: "Python stacks", native: "native stacks", module: "modules", keeper: "what keeps it" } as const;
type Mode = keyof typeof MODES;

interface Node {
  text: string; source: string; bytes: number; blocks: number;
  owners: Map<string, number>;
  children: Map<string, Node>;
  parent: Node | null;
}

interface Box { node: Node; x: number; width: number; depth: number; }

function makeNode(text: string, source: string, parent: Node | null): Node {
  return { text, source, bytes: 0, blocks: 0, owners: new Map(), children: new Map(), parent };
}

function add(root: Node, path: [string, string][], owner: string, size: number, blocks: number): void {
  let node = root;
  for (let i = 0; ; i++) {
    node.bytes += size;
    node.blocks += blocks;
    node.owners.set(owner, (node.owners.get(owner) ?? 0) + size);
    if (i === path.length) return;
    let child = node.children.get(path[i][0]);
    if (!child) node.children.set(path[i][0], (child = makeNode(path[i][0], path[i][1], node)));
    node = child;
  }
}

/** "model.layers.3.mlp" as "model", ".layers", ".3", ".mlp". */
function moduleParts(path: string): [string, string][] {
  return path.split(".").map((part, i) => [i ? `.${part}` : part, ""]);
}

export class IcicleView {
  private readonly drawing: Drawing;
  private readonly note = el("p", { class: "note" });
  private readonly found = el("span", { class: "note", role: "status", id: "found" });
  private readonly search = el("input", { type: "search", placeholder: "search frames", "aria-label": "Search frames",
                                          input: () => this.lookFor() });
  private mode: Mode = "python";
  private root: Node = makeNode("", "", null);
  private zoomed: Node = this.root;
  private boxes: Box[] = [];
  private focus: Node | null = null;
  private needle = "";

  constructor(private readonly blocks: Blocks, private readonly moments: Moments) {
    const root = section("stacks");
    append(root, [this.controls()]);
    this.drawing = new Drawing(root, "Who allocated it. Arrow keys move between frames, Enter zooms, Escape shows all.",
                               ROW * 8, (c) => this.draw(c), (c) => this.mark(c));
    root.append(this.note);
    this.listen();
    this.build();
    follow((_, changed) => {
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
    return el("div", { class: "bar" }, el("h2", {}, "Who allocated it"),
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
    this.root = makeNode("all", "", null);
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
    this.zoomed = this.root;
    this.focus = null;
    this.layout();
    this.lookFor();
  }

  private layout(): void {
    this.boxes = [];
    let deepest = 0;
    const path: Node[] = [];
    for (let at: Node | null = this.zoomed; at; at = at.parent) path.unshift(at);
    path.forEach((node, depth) => this.boxes.push({ node, x: 0, width: 1, depth }));
    const visit = (node: Node, x: number, width: number, depth: number) => {
      if (depth > MOST_ROWS) return;
      let at = x;
      for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
        const wide = (width * child.bytes) / (node.bytes || 1);
        if (wide < 0.0004) break;
        this.boxes.push({ node: child, x: at, width: wide, depth });
        deepest = Math.max(deepest, depth);
        visit(child, at, wide, depth + 1);
        at += wide;
      }
    };
    visit(this.zoomed, 0, 1, path.length);
    this.drawing.setHeight(ROW * (Math.max(deepest, path.length - 1) + 1) + 2);
    this.note.textContent = "Outermost frame on top; wider is more bytes; a click zooms." +
      (deepest >= MOST_ROWS ? " Deeper frames appear when you zoom." : "");
    this.drawing.redraw();
  }

  private colour(node: Node): string {
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

  private draw(c: CanvasRenderingContext2D): void {
    const { drawing } = this, { ink } = drawing;
    c.textAlign = "left";
    for (const { node, x, width, depth } of this.boxes) {
      const left = x * drawing.width, wide = width * drawing.width - 1, top = depth * ROW;
      if (wide < 0.4) continue;
      const isRoot = !node.parent, isMatch = this.needle && this.matches(node);
      c.globalAlpha = this.needle && !isMatch ? 0.28 : 1;
      c.fillStyle = isRoot ? ink.line : this.colour(node);
      c.fillRect(left, top, wide, ROW - 1.5);
      c.globalAlpha = 1;
      if (wide < 24) continue;
      const label = isRoot ? `all: ${bytes(node.bytes)}` : visible(node.text).replace(FOLDER, "");
      const text = fitText(c, wide > 260 && !isRoot ? `${label}   ${bytes(node.bytes)}` : label, wide - 8);
      if (!text) continue;
      if (!isRoot) {
        c.fillStyle = "#ffffffb0";
        c.fillRect(left + 2, top + 2, c.measureText(text).width + 5, ROW - 5.5);
      }
      c.fillStyle = isRoot ? ink.text : "#10151a";
      c.fillText(text, left + 4, top + ROW / 2);
    }
  }

  private mark(c: CanvasRenderingContext2D): void {
    const box = this.boxes.find((one) => one.node === this.focus);
    if (!box) return;
    c.strokeStyle = this.drawing.ink.text;
    c.lineWidth = 2;
    c.strokeRect(box.x * this.drawing.width + 1, box.depth * ROW + 1, Math.max(2, box.width * this.drawing.width - 3), ROW - 3.5);
  }

  private matches(node: Node): boolean {
    return visible(node.text).toLowerCase().includes(this.needle);
  }

  /** Bytes below a match count once. */
  private lookFor(): void {
    this.needle = this.search.value.trim().toLowerCase();
    let found = 0, frames = 0;
    const visit = (node: Node, isInside: boolean) => {
      const isMatch = node.parent !== null && this.matches(node);
      if (isMatch) frames++;
      if (isMatch && !isInside) found += node.bytes;
      for (const child of node.children.values()) visit(child, isInside || isMatch);
    };
    if (this.needle) visit(this.root, false);
    this.found.dataset.bytes = String(found);
    this.found.textContent = this.needle ? `${frames} frames, ${bytes(found)} (${share(found, this.root.bytes)})` : "";
    this.drawing.redraw();
  }

  private tell(box: Box): void {
    this.focus = box.node;
    const node = box.node, owners = [...node.owners].sort((a, b) => b[1] - a[1]);
    const rows = el("table", {}, ...owners.slice(0, 8).map(([owner, value]) =>
      el("tr", {}, el("th", {}, swatch(colourOf(owner)), owner), el("td", {}, bytes(value)))));
    this.drawing.showTip(Math.min(box.x * this.drawing.width + 30, this.drawing.width - 40), (box.depth + 2) * ROW, el("div", {},
      el("strong", {}, node.text), node.source ? el("code", { class: "source" }, node.source) : null,
      el("p", {}, `${bytes(node.bytes)} in ${blocksText(node.blocks)}, ${share(node.bytes, this.root.bytes)}`), rows));
    this.drawing.remark();
  }

  private boxAt(x: number, y: number): Box | undefined {
    const depth = Math.floor(y / ROW), at = x / this.drawing.width;
    return this.boxes.find((box) => box.depth === depth && at >= box.x && at < box.x + box.width);
  }

  private zoom(node: Node): void {
    this.zoomed = node;
    this.layout();
  }

  private listen(): void {
    const { target } = this.drawing;
    target.addEventListener("pointermove", (event) => {
      const box = this.boxAt(...this.drawing.place(event));
      if (box) this.tell(box);
      else this.drawing.hideTip();
    });
    target.addEventListener("pointerleave", () => {
      this.focus = null;
      this.drawing.hideTip();
      this.drawing.remark();
    });
    target.addEventListener("click", (event) => {
      const box = this.boxAt(...this.drawing.place(event));
      if (box) this.zoom(box.node);
    });
    target.addEventListener("keydown", (event) => this.press(event));
  }

  private press(event: KeyboardEvent): void {
    const at = this.focus ?? this.zoomed, box = (node: Node | undefined | null) => {
      const found = this.boxes.find((one) => one.node === node);
      if (found) this.tell(found);
    };
    const level = this.boxes.filter((one) => one.depth === (this.boxes.find((b) => b.node === at)?.depth ?? 0))
      .sort((a, b) => a.x - b.x);
    const place = level.findIndex((one) => one.node === at);
    switch (event.key) {
      case "ArrowDown": box([...at.children.values()].sort((a, b) => b.bytes - a.bytes)[0]); break;
      case "ArrowUp": box(at.parent); break;
      case "ArrowLeft": box(level[place - 1]?.node); break;
      case "ArrowRight": box(level[place + 1]?.node); break;
      case "Enter": case " ": this.zoom(at); break;
      case "Escape": case "0": this.zoom(this.root); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

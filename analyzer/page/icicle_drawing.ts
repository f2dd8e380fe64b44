// SPDX-License-Identifier: MIT
// A tree as an icicle: the outermost node on top, width is weight; a click or Enter zooms.
import { Drawing, fitText } from "./canvas";
import { visible } from "./format";

const ROW = 20, MOST_ROWS = 34;

export interface Branch<N> { text: string; weight: number; parent: N | null; children: Map<string, N>; }

export interface Look<N> {
  colour(node: N): string;
  label(node: N, isWide: boolean): string;
  /** What is said beside the pointer. */
  describe(node: N): Node;
  isFaint(node: N): boolean;
}

interface Box<N> { node: N; x: number; width: number; depth: number; }

export class Icicle<N extends Branch<N>> {
  private readonly drawing: Drawing;
  private root: N | null = null;
  private zoomed: N | null = null;
  private boxes: Box<N>[] = [];
  private focus: N | null = null;
  isCut = false; // deeper frames than are drawn

  constructor(parent: Element, label: string, private readonly look: Look<N>, private readonly laidOut: () => void) {
    this.drawing = new Drawing(parent, label, ROW * 8, (c) => this.draw(c), (c) => this.mark(c));
    this.listen();
  }

  show(root: N): void {
    this.root = this.zoomed = root;
    this.focus = null;
    this.layout();
  }

  redraw(): void {
    this.drawing.redraw();
  }

  private layout(): void {
    this.boxes = [];
    let deepest = 0;
    const path: N[] = [];
    for (let at = this.zoomed; at; at = at.parent) path.unshift(at);
    path.forEach((node, depth) => this.boxes.push({ node, x: 0, width: 1, depth }));
    const visit = (node: N, x: number, width: number, depth: number) => {
      if (depth > MOST_ROWS) return;
      let at = x;
      for (const child of byWeight(node)) {
        const wide = (width * child.weight) / (node.weight || 1);
        if (wide < 0.0004) break;
        this.boxes.push({ node: child, x: at, width: wide, depth });
        deepest = Math.max(deepest, depth);
        visit(child, at, wide, depth + 1);
        at += wide;
      }
    };
    if (this.zoomed) visit(this.zoomed, 0, 1, path.length);
    this.isCut = deepest >= MOST_ROWS;
    this.drawing.setHeight(ROW * (Math.max(deepest, path.length - 1) + 1) + 2);
    this.laidOut();
    this.drawing.redraw();
  }

  private draw(c: CanvasRenderingContext2D): void {
    const { drawing } = this, { ink } = drawing;
    c.textAlign = "left";
    for (const { node, x, width, depth } of this.boxes) {
      const left = x * drawing.width, wide = width * drawing.width - 1, top = depth * ROW;
      if (wide < 0.4) continue;
      const isRoot = !node.parent;
      c.globalAlpha = this.look.isFaint(node) ? 0.28 : 1;
      c.fillStyle = isRoot ? ink.line : this.look.colour(node);
      c.fillRect(left, top, wide, ROW - 1.5);
      c.globalAlpha = 1;
      if (wide < 24) continue;
      const text = fitText(c, visible(this.look.label(node, wide > 260)), wide - 8);
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

  private tell(box: Box<N>): void {
    this.focus = box.node;
    this.drawing.showTip(Math.min(box.x * this.drawing.width + 30, this.drawing.width - 40), (box.depth + 2) * ROW,
                         this.look.describe(box.node));
    this.drawing.remark();
  }

  private boxAt(x: number, y: number): Box<N> | undefined {
    const depth = Math.floor(y / ROW), at = x / this.drawing.width;
    return this.boxes.find((box) => box.depth === depth && at >= box.x && at < box.x + box.width);
  }

  private zoom(node: N | null): void {
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
    const at = this.focus ?? this.zoomed, box = (node: N | undefined | null) => {
      const found = this.boxes.find((one) => one.node === node);
      if (found) this.tell(found);
    };
    if (!at) return;
    const level = this.boxes.filter((one) => one.depth === (this.boxes.find((b) => b.node === at)?.depth ?? 0))
      .sort((a, b) => a.x - b.x);
    const place = level.findIndex((one) => one.node === at);
    switch (event.key) {
      case "ArrowDown": box(byWeight(at)[0]); break;
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

function byWeight<N extends Branch<N>>(node: N): N[] {
  return [...node.children.values()].sort((a, b) => b.weight - a.weight);
}

/** Of a Python file its folder, which a narrow box has no room for. */
export function withoutFolder(frame: string): string {
  return frame.replace(/^(backward of )?.*\/(?=[^/]+:\d)/, "$1");
}

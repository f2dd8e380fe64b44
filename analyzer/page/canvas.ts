// SPDX-License-Identifier: MIT
// What all drawings on a canvas share: size, sharpness, the system's colours, a text that follows
// the pointer, and drawing at most once per frame.
import { el } from "./dom";

export interface Ink { text: string; soft: string; line: string; paper: string; accent: string; bad: string; }

export function inkOf(): Ink {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return { text: read("--text"), soft: read("--soft"), line: read("--line"), paper: read("--paper"),
           accent: read("--accent"), bad: read("--bad") };
}

export const FONT = "12px system-ui, sans-serif";

export class Drawing {
  readonly box: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  private readonly over: HTMLCanvasElement;
  private readonly tip: HTMLElement;
  width = 0;
  ink: Ink = inkOf();
  private isSeen = false;
  private isStale = true;
  private later = 0;
  private isWaiting = false;
  private isOverWaiting = false;

  /** `draw` paints everything, `mark` what follows the pointer, above it. */
  constructor(parent: Element, label: string, public height: number,
              private readonly draw: (c: CanvasRenderingContext2D) => void,
              private readonly mark: (c: CanvasRenderingContext2D) => void) {
    this.canvas = el("canvas", { class: "base" });
    this.over = el("canvas", { class: "over", tabindex: 0, role: "application", "aria-label": label });
    this.tip = el("div", { class: "tip", role: "status", "aria-live": "polite" });
    this.tip.hidden = true;
    this.box = el("div", { class: "drawing" }, this.canvas, this.over, this.tip);
    parent.append(this.box);
    new ResizeObserver(() => this.resize()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.ink = inkOf();
      this.redraw();
    });
    this.over.addEventListener("blur", () => this.hideTip());
    // What is out of sight is drawn when it comes into it, when nothing else is to be done, or for
    // a printer.
    new IntersectionObserver(([entry]) => {
      this.isSeen = entry.isIntersecting;
      if (this.isSeen && this.isStale) this.redraw();
    }, { rootMargin: "200px" }).observe(this.box);
    addEventListener("beforeprint", () => this.paint());
    this.resize();
  }

  get target(): HTMLCanvasElement {
    return this.over;
  }

  setHeight(height: number): void {
    if (height === this.height) return;
    this.height = height;
    this.resize();
  }

  private resize(): void {
    const width = this.box.clientWidth, ratio = devicePixelRatio || 1;
    if (!width) return;
    this.box.style.height = `${this.height}px`;
    for (const canvas of [this.canvas, this.over]) {
      if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
      if (canvas.height !== Math.round(this.height * ratio)) canvas.height = Math.round(this.height * ratio);
    }
    this.width = width;
    this.redraw();
  }

  private context(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const c = canvas.getContext("2d") as CanvasRenderingContext2D, ratio = devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.font = FONT;
    c.textBaseline = "middle";
    return c;
  }

  redraw(): void {
    this.isStale = true;
    if (!this.isSeen) {
      clearTimeout(this.later);
      this.later = window.setTimeout(() => requestIdleCallback(() => { if (this.isStale) this.paint(); }), 300);
      return;
    }
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.paint();
    });
    this.remark();
  }

  private paint(): void {
    if (!this.width) return;
    this.isStale = false;
    this.draw(this.context(this.canvas));
  }

  remark(): void {
    if (this.isOverWaiting || !this.isSeen) return;
    this.isOverWaiting = true;
    requestAnimationFrame(() => {
      this.isOverWaiting = false;
      if (this.width) this.mark(this.context(this.over));
    });
  }

  showTip(x: number, y: number, content: Node): void {
    this.tip.replaceChildren(content);
    this.tip.hidden = false;
    const width = this.tip.offsetWidth, height = this.tip.offsetHeight;
    const left = x + 14 + width < this.width ? x + 14 : Math.max(0, x - 14 - width);
    this.tip.style.left = `${Math.max(0, Math.min(left, this.width - width))}px`;
    this.tip.style.top = `${Math.max(-8, Math.min(y - height / 2, this.height - height + 8))}px`;
  }

  hideTip(): void {
    this.tip.hidden = true;
  }

  place(event: MouseEvent): [number, number] {
    const box = this.over.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

/** Diagonal lines: what is free. */
export function hatch(c: CanvasRenderingContext2D, colour: string, gap = 5): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = gap;
  const t = tile.getContext("2d") as CanvasRenderingContext2D;
  t.strokeStyle = colour;
  t.lineWidth = 1;
  t.beginPath();
  t.moveTo(-1, gap + 1);
  t.lineTo(gap + 1, -1);
  t.stroke();
  return c.createPattern(tile, "repeat") ?? colour;
}

export function fitText(c: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 14) return "";
  if (c.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? text.slice(0, low) + "…" : "";
}

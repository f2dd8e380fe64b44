// SPDX-License-Identifier: MIT
// Lifetimes: blocks as bars over time at their address, those that took most bytes for longest.
import { scaleLinear } from "d3-scale";
import { Blocks } from "./blocks";
import { Drawing } from "./canvas";
import { colourOf } from "./colours";
import { el, section } from "./dom";
import { axisUnit, count } from "./format";
import { Moments } from "./moments";
import { Series } from "./series";
import { describeBlock, isChosen } from "./segments";
import { follow, state } from "./state";

const LEFT = 62, RIGHT = 14, HEIGHT = 420;

interface Bar { row: number; first: number; last: number; low: number; size: number; owner: string; colour: string; }

export class LifetimesView {
  private readonly drawing: Drawing;
  private readonly note = el("p", { class: "note" });
  private bars: Bar[] = [];
  private total = 1;
  private focus = -1;

  constructor(private readonly blocks: Blocks, private readonly moments: Moments, private series: Series) {
    const root = section("lifetimes");
    root.append(el("div", { class: "bar" }, el("h2", {}, "Lifetimes")));
    this.drawing = new Drawing(root, "Lifetimes of blocks. Left and right go through the largest.", HEIGHT,
                               (c) => this.draw(c), (c) => this.mark(c));
    root.append(this.note);
    this.listen();
    this.build();
    follow((_, changed) => {
      if (changed.has("moment") && changed.size === 1) this.drawing.remark();
      else this.drawing.redraw();
    });
  }

  setSeries(series: Series): void {
    this.series = series;
    this.build();
  }

  /** Addresses without the gaps that nothing drawn lies in. */
  private build(): void {
    const { blocks } = this, device = this.series.device.id, rows: number[] = [];
    for (let i = 0; i < blocks.nr; i++)
      if (blocks.get("lifetime", i) && blocks.get("device", i) === device) rows.push(i);
    rows.sort((a, b) => blocks.get("address", a) - blocks.get("address", b));
    let end = -1, base = 0, from = 0;
    this.bars = rows.map((row) => {
      const address = blocks.get("address", row), size = blocks.get("size", row);
      if (address > end) {
        base += end > 0 ? end - from : 0;
        from = address;
        end = address;
      }
      end = Math.max(end, address + size);
      const freed = blocks.get("freed", row), owner = blocks.textOf("owner", row);
      return { owner, colour: colourOf(owner), row, first: blocks.get("event", row), last: freed || this.series.lastEvent + 1, low: base + address - from, size };
    });
    this.total = Math.max(1, base + (end > 0 ? end - from : 0));
    this.bars.sort((a, b) => b.size * (b.last - b.first) - a.size * (a.last - a.first));
    const { about } = blocks;
    this.note.textContent = about.lifetimes === about.blocks
      ? "Every block is drawn, at its address; gaps between addresses are left out."
      : `${count(about.lifetimes)} of ${count(about.blocks)} blocks are drawn, at their addresses: those with the largest size times lifetime, ` +
        `${(100 * about.shown_area).toFixed(1)} % of the total. The other ${count(about.blocks - about.lifetimes)} were smaller or shorter-lived.`;
    this.drawing.redraw();
  }

  private axis(): (event: number) => number {
    const [first, last] = state.zoom ?? [0, this.series.lastEvent + 1];
    const to = (event: number) => (state.axis === "event" ? event : this.series.timeOf(event));
    const x = scaleLinear().domain([to(first), to(last)]).range([LEFT, this.drawing.width - RIGHT]);
    return (event) => x(to(event)) as number;
  }

  private y(bytes: number): number {
    return HEIGHT - 4 - ((HEIGHT - 8) * bytes) / this.total;
  }

  private draw(c: CanvasRenderingContext2D): void {
    const x = this.axis(), { drawing } = this, right = drawing.width - RIGHT, [one, name] = axisUnit(this.total);
    c.fillStyle = drawing.ink.soft;
    c.strokeStyle = drawing.ink.line;
    c.textAlign = "right";
    for (const tick of scaleLinear().domain([0, this.total / one]).ticks(5)) {
      const at = Math.round(this.y(tick * one)) + 0.5;
      c.fillText(`${tick} ${name}`, LEFT - 6, Math.max(8, Math.min(HEIGHT - 8, at)));
      c.beginPath();
      c.moveTo(LEFT, at);
      c.lineTo(right, at);
      c.stroke();
    }
    c.save();
    c.beginPath();
    c.rect(LEFT, 0, right - LEFT, HEIGHT);
    c.clip();
    for (const bar of this.bars) {
      const from = x(bar.first), to = x(bar.last);
      if (to < LEFT || from > right) continue;
      const top = this.y(bar.low + bar.size), high = this.y(bar.low) - top;
      c.globalAlpha = isChosen(this.blocks, bar.row, bar.owner) ? 1 : 0.12;
      c.fillStyle = bar.colour;
      c.fillRect(from, top, Math.max(0.6, to - from), high > 2.5 ? high - 0.6 : Math.max(high, 0.5));
    }
    c.restore();
  }

  private mark(c: CanvasRenderingContext2D): void {
    const x = this.axis(), moment = this.moments.current(), bar = this.bars[this.focus];
    if (moment) {
      const at = x(moment.event + 0.5);
      if (at >= LEFT && at <= this.drawing.width - RIGHT) {
        c.strokeStyle = this.drawing.ink.accent;
        c.lineWidth = 2;
        c.beginPath();
        c.moveTo(at, 0);
        c.lineTo(at, HEIGHT);
        c.stroke();
      }
    }
    if (!bar) return;
    const top = this.y(bar.low + bar.size);
    c.strokeStyle = this.drawing.ink.text;
    c.lineWidth = 2;
    c.strokeRect(x(bar.first), top, Math.max(2, x(bar.last) - x(bar.first)), Math.max(2, this.y(bar.low) - top));
  }

  private tell(index: number, x: number, y: number): void {
    const bar = this.bars[index];
    this.focus = index;
    this.drawing.remark();
    if (!bar) {
      this.drawing.hideTip();
      return;
    }
    const freed = this.blocks.get("freed", bar.row);
    const content = describeBlock(this.blocks, bar.row, -1);
    content.append(el("p", {}, freed ? `freed by event ${count(freed)}` : "never freed"));
    this.drawing.showTip(x, y, content);
  }

  private listen(): void {
    const { target } = this.drawing;
    target.addEventListener("pointermove", (event) => {
      const [px, py] = this.drawing.place(event), x = this.axis(), low = (this.total * (HEIGHT - 4 - py)) / (HEIGHT - 8);
      const at = this.bars.findIndex((bar) => low >= bar.low && low <= bar.low + bar.size && px >= x(bar.first) && px <= x(bar.last));
      this.tell(at, px, py);
    });
    target.addEventListener("pointerleave", () => this.tell(-1, 0, 0));
    target.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      event.preventDefault();
      const next = Math.max(0, Math.min(this.bars.length - 1, this.focus + (event.key === "ArrowRight" ? 1 : -1))), bar = this.bars[next];
      if (bar) this.tell(next, Math.max(LEFT, this.axis()(bar.first)), this.y(bar.low + bar.size / 2));
    });
  }
}

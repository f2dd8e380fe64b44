// SPDX-License-Identifier: MIT
// Two recordings over time on one scale of bytes: the base upwards, the new one downwards.
import { Drawing } from "./canvas";
import { colourOf, learnOwners } from "./colours";
import { Store } from "./data";
import { el, swatch } from "./dom";
import { axisUnit, bytes, duration } from "./format";
import { Group, Points, Series, sumOf } from "./series";
import { Scale, choosePoints, linear, paintStack, totalsOf } from "./stack";

const LEFT = 62, RIGHT = 14, HEIGHT = 400, GAP = 40;

interface Side { label: string; series: Series | null; groups: Group[]; points: Points | null; total: Float64Array; shown: Int32Array; }

export class MirrorView {
  private readonly drawing: Drawing;
  private readonly sides: Side[];
  private cursor = -1;
  private y: Scale[] = [];

  constructor(root: Element, stores: Store[], labels: string[], devices: number[]) {
    this.sides = stores.map((store, i) => {
      const index = store.data.series.devices.findIndex((device) => device.id === devices[i]);
      const series = index < 0 ? null : new Series(store, index), groups = series ? series.groups("") : [];
      learnOwners(series ? series.names : []);
      return { label: labels[i], series, groups, points: series?.buckets ?? null,
               total: series ? totalsOf(series.buckets, groups) : new Float64Array(0), shown: new Int32Array(0) };
    });
    root.append(el("h3", {}, "Both over time, on one scale"), this.legend());
    this.drawing = new Drawing(root, "Both recordings over time. Arrow keys move.", HEIGHT, (c) => this.draw(c), (c) => this.mark(c));
    root.append(el("p", { class: "note" }, `${labels[0]} upwards, ${labels[1]} downwards, each from its own start to its end; ` +
      "lines are what is reserved from the driver. Where several moments fall into one pixel, the highest is drawn."));
    this.listen();
  }

  private legend(): HTMLElement {
    const names = [...new Set(this.sides.flatMap((side) => side.groups.map((group) => group.name)))];
    return el("div", { class: "legend" }, ...names.map((name) => el("span", { class: "entry" }, swatch(colourOf(name)), name)),
              el("span", { class: "key dashed" }, "reserved"));
  }

  private most(): number {
    return this.sides.reduce((most, { points, total }) =>
      Math.max(most, ...(points ? [maxOf(total), maxOf(points.reserved)] : [])), 1);
  }

  private draw(c: CanvasRenderingContext2D): void {
    const { drawing } = this, { ink } = drawing, width = Math.max(1, Math.floor(drawing.width - LEFT - RIGHT));
    const most = this.most() * 1.03, middle = HEIGHT / 2;
    this.y = [linear([0, most], [middle - GAP / 2, 8]), linear([0, most], [middle + GAP / 2, HEIGHT - 8])];
    const [one, name] = axisUnit(most);
    this.sides.forEach((side, i) => {
      const y = this.y[i];
      c.textAlign = "right";
      c.lineWidth = 1;
      for (const tick of linear([0, most / one], [0, 1]).ticks(4)) {
        const at = Math.round(y(tick * one)) + 0.5;
        c.strokeStyle = ink.line;
        c.beginPath();
        c.moveTo(LEFT, at);
        c.lineTo(LEFT + width, at);
        c.stroke();
        c.fillStyle = ink.soft;
        if (tick) c.fillText(`${tick} ${name}`, LEFT - 6, at);
      }
      c.textAlign = "left";
      c.fillStyle = ink.text;
      c.fillText(`${side.label}: at most ${bytes(maxOf(side.total))}`, LEFT, middle + (i ? 10 : -10));
      if (!side.series || !side.points) return;
      const x = linear([0, side.series.lastEvent + 1], [LEFT, LEFT + width]);
      side.shown = choosePoints(side.points, side.points.events, side.total, x, LEFT, width);
      paintStack(c, side.points, side.shown, side.groups, y, LEFT);
      this.drawReserved(c, side, y);
    });
  }

  private drawReserved(c: CanvasRenderingContext2D, side: Side, y: Scale): void {
    c.strokeStyle = this.drawing.ink.soft;
    c.setLineDash([4, 3]);
    c.beginPath();
    side.shown.forEach((point, pixel) => {
      const at = y(point < 0 || !side.points ? 0 : side.points.reserved[point]);
      if (pixel) c.lineTo(LEFT + pixel, at);
      else c.moveTo(LEFT, at);
    });
    c.stroke();
    c.setLineDash([]);
  }

  private mark(c: CanvasRenderingContext2D): void {
    if (this.cursor < 0) return;
    c.strokeStyle = this.drawing.ink.soft;
    c.beginPath();
    c.moveTo(this.cursor + 0.5, 4);
    c.lineTo(this.cursor + 0.5, HEIGHT - 4);
    c.stroke();
  }

  /** Owners of both at the same part of their runs. */
  private tell(pixel: number, y: number): void {
    this.cursor = Math.max(LEFT, Math.min(pixel, LEFT + this.sides[0].shown.length - 1));
    const at = Math.floor(this.cursor - LEFT), names = new Map<string, number[]>();
    this.sides.forEach((side, i) => {
      for (const group of side.groups) {
        const values = names.get(group.name) ?? [0, 0], point = side.shown[at];
        if (side.points && point >= 0) values[i] = sumOf(side.points, group.columns, point);
        names.set(group.name, values);
      }
    });
    const row = (cells: (string | Node)[]) => el("tr", {}, ...cells.map((cell, i) => el(i ? "td" : "th", {}, cell)));
    const when = (side: Side) => (side.points && side.shown[at] >= 0 ? duration(side.points.times[side.shown[at]]) : "");
    const rows = [...names].filter(([, values]) => values[0] || values[1]).map(([name, values]) =>
      row([el("span", {}, swatch(colourOf(name)), name), ...values.map(bytes)]));
    const sums = this.sides.map((side) => (side.shown[at] >= 0 ? side.total[side.shown[at]] ?? 0 : 0));
    this.drawing.showTip(this.cursor, y, el("table", {}, row(["", ...this.sides.map((side) => side.label)]),
      row(["at", ...this.sides.map(when)]), ...rows, row(["all owners", ...sums.map(bytes)])));
    this.drawing.remark();
  }

  private listen(): void {
    const { target } = this.drawing;
    target.addEventListener("pointermove", (event) => this.tell(...this.drawing.place(event)));
    target.addEventListener("pointerleave", () => {
      this.cursor = -1;
      this.drawing.hideTip();
      this.drawing.remark();
    });
    target.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const from = this.cursor < 0 ? this.drawing.width / 2 : this.cursor, far = event.shiftKey ? 40 : 4;
      this.tell(from + (event.key === "ArrowRight" ? far : -far), HEIGHT / 2);
      event.preventDefault();
    });
  }
}

function maxOf(values: Float64Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return most;
}

// SPDX-License-Identifier: MIT
// Two recordings over time on one scale of bytes: the base upwards, the new one downwards. What is
// shown is the same part of both runs, from its own start to its own end.
import { Drawing } from "./canvas";
import { colourOf, learnOwners } from "./colours";
import { Store } from "./data";
import { el, swatch } from "./dom";
import { Drag, paintTicks } from "./drag";
import { axisUnit, bytes, count, duration } from "./format";
import { Group, Points, Series, sumOf } from "./series";
import { Scale, choosePoints, linear, paintStack, totalsOf } from "./stack";

const LEFT = 62, RIGHT = 14, HEIGHT = 440, GAP = 40, AXIS = 22;

interface Side {
  label: string;
  series: Series | null;    // null: it lacks the device
  groups: Group[];
  points: Points | null;    // what is drawn
  total: Float64Array;      // of these points
  shown: Int32Array;        // by pixel: the point that is drawn there
  most: number;             // of the whole run
}

export class MirrorView {
  private readonly drawing: Drawing;
  private readonly sides: Side[];
  private readonly drag: Drag;
  private readonly note = el("p", { class: "note" });
  private readonly all = el("button", { type: "button", click: () => this.show(0, 1) }, "Show all");
  private cursor = -1;
  private axis: "event" | "time" = "event";
  private part: [number, number] = [0, 1]; // of both runs

  constructor(root: Element, stores: Store[], labels: string[], devices: number[]) {
    this.sides = stores.map((store, i) => {
      const index = store.data.series.devices.findIndex((device) => device.id === devices[i]);
      const series = index < 0 ? null : new Series(store, index), groups = series ? series.groups("") : [];
      learnOwners(series ? series.names : []);
      return { label: labels[i], series, groups, points: series?.buckets ?? null,
               total: new Float64Array(0), shown: new Int32Array(0), most: series ? maxOf(totalsOf(series.buckets, groups)) : 0 };
    });
    root.append(this.controls(), this.legend());
    this.drawing = new Drawing(root, "Both recordings over time. Arrow keys move, plus and minus zoom, 0 shows all.", HEIGHT,
                               (c) => this.draw(c), (c) => this.mark(c));
    root.append(this.note);
    this.drag = this.listen();
    this.show(0, 1);
  }

  private controls(): HTMLElement {
    const buttons = (["event", "time"] as const).map((axis) =>
      el("button", { type: "button", "aria-pressed": String(axis === this.axis), click: () => {
        this.axis = axis;
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", String((i === 0) === (axis === "event"))));
        this.drawing.redraw();
      } }, `by ${axis}`));
    return el("div", { class: "bar" }, el("h3", {}, "Both runs over time, on one scale"),
              el("span", { class: "switch", role: "group", "aria-label": "Horizontal axis" }, ...buttons), this.all);
  }

  /** Between these parts of both runs. */
  private show(from: number, to: number): void {
    const least = 4 / Math.max(4, ...this.sides.map(({ series }) => (series ? series.lastEvent + 1 : 0)));
    const length = Math.min(1, Math.max(least, to - from)), start = Math.max(0, Math.min(from, 1 - length));
    this.part = [start, start + length];
    this.all.disabled = length === 1;
    this.drawing.redraw();
  }

  private legend(): HTMLElement {
    const names = [...new Set(this.sides.flatMap((side) => side.groups.map((group) => group.name)))];
    return el("div", { class: "legend" }, ...names.map((name) => el("span", { class: "entry" }, swatch(colourOf(name)), name)),
              el("span", { class: "key dashed" }, "reserved"));
  }

  private most(): number {
    let most = 1;
    for (const { points, total, shown } of this.sides)
      for (const i of shown) if (points && i >= 0) most = Math.max(most, total[i], points.reserved[i]);
    return most;
  }

  /** The stretch of a side that is shown: in what the axis counts, and in events. */
  private stretch(series: Series): { domain: [number, number]; events: [number, number] } {
    const length = this.axis === "event" ? series.lastEvent + 1 : series.endUs;
    const domain = this.part.map((share) => share * length) as [number, number];
    const events = this.axis === "event" ? domain : domain.map((us) => series.eventOf(us));
    return { domain, events: [Math.floor(events[0]), Math.ceil(events[1])] };
  }

  /** Chooses what is drawn; the axis. */
  private choose(side: Side, width: number): Scale | null {
    if (!side.series) return null;
    const { domain, events } = this.stretch(side.series), points = side.series.pointsFor(events[0], events[1] - 1);
    const x = linear(domain, [LEFT, LEFT + width]);
    if (points !== side.points || !side.total.length) side.total = totalsOf(points, side.groups);
    side.points = points;
    side.shown = choosePoints(points, this.axis === "event" ? points.events : points.times, side.total, x, LEFT, width);
    return x;
  }

  private draw(c: CanvasRenderingContext2D): void {
    const width = Math.max(1, Math.floor(this.drawing.width - LEFT - RIGHT)), middle = HEIGHT / 2;
    const axes = this.sides.map((side) => this.choose(side, width)), most = this.most() * 1.03;
    const y = [linear([0, most], [middle - GAP / 2, AXIS]), linear([0, most], [middle + GAP / 2, HEIGHT - AXIS])];
    this.sides.forEach((side, i) => {
      const x = axes[i];
      this.drawScale(c, y[i], most, width);
      c.textAlign = "left";
      c.fillStyle = this.drawing.ink.text;
      c.fillText(`${side.label}: peak ${bytes(side.most)}`, LEFT, middle + (i ? 10 : -10));
      if (!x || !side.points) return;
      paintStack(c, side.points, side.shown, side.groups, y[i], LEFT);
      this.drawReserved(c, side, y[i]);
      c.fillStyle = this.drawing.ink.soft;
      paintTicks(c, x, LEFT, width, i ? HEIGHT - AXIS / 2 : AXIS / 2, this.axis === "event" ? count : duration);
    });
    this.say();
  }

  private drawScale(c: CanvasRenderingContext2D, y: Scale, most: number, width: number): void {
    const { ink } = this.drawing, [one, name] = axisUnit(most);
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
  }

  private say(): void {
    const [base, other] = this.sides, parts = [`${base.label} upwards, ${other.label} downwards; the dashed line is memory reserved from the driver.`];
    if (this.part[1] - this.part[0] === 1) parts.push("Each run is drawn from its start to its end.");
    else
      for (const { label, series } of this.sides)
        if (series) {
          const [first, last] = this.stretch(series).events;
          parts.push(`${label}: events ${count(first)} to ${count(last)} of ${count(series.lastEvent)}.`);
        }
    if (this.sides.some(({ points }) => points && !points.isExact)) parts.push("If several moments share a pixel, the highest is drawn.");
    parts.push("Drag to zoom, double click to go back.");
    this.note.textContent = parts.join(" ");
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
    if (this.drag.paint(c, AXIS, HEIGHT - AXIS) || this.cursor < 0) return;
    c.strokeStyle = this.drawing.ink.soft;
    c.beginPath();
    c.moveTo(this.cursor + 0.5, AXIS);
    c.lineTo(this.cursor + 0.5, HEIGHT - AXIS);
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

  /** The part of the runs at a pixel. */
  private partAt(pixel: number): number {
    const [from, to] = this.part, width = Math.max(1, this.drawing.width - LEFT - RIGHT);
    return from + ((to - from) * (pixel - LEFT)) / width;
  }

  private listen(): Drag {
    this.drawing.target.addEventListener("keydown", (event) => this.press(event));
    return new Drag(this.drawing, LEFT, RIGHT, {
      point: (x, y) => this.tell(x, y),
      leave: () => { this.cursor = -1; },
      zoom: (from, to) => this.show(this.partAt(from), this.partAt(to)),
      click: () => {},
      back: () => this.show(0, 1),
    });
  }

  private scale(factor: number, around: number): void {
    const [from, to] = this.part, at = this.partAt(around);
    this.show(at - (at - from) * factor, at + (to - at) * factor);
  }

  private press(event: KeyboardEvent): void {
    const from = this.cursor < 0 ? this.drawing.width / 2 : this.cursor, far = event.shiftKey ? 40 : 4;
    switch (event.key) {
      case "ArrowLeft": this.tell(from - far, HEIGHT / 2); break;
      case "ArrowRight": this.tell(from + far, HEIGHT / 2); break;
      case "+": case "=": this.scale(0.5, from); break;
      case "-": this.scale(2, from); break;
      case "0": case "Escape": this.show(0, 1); break;
      default: return;
    }
    event.preventDefault();
  }
}

function maxOf(values: Float64Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return most;
}

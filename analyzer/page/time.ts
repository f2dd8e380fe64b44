// SPDX-License-Identifier: MIT
// Memory over time by owner: stacked areas, lines for what is reserved and used, the device's size
// as the ceiling; below it the stages and steps, above it flags.
import { bisectRight } from "d3-array";
import { Flag, Store } from "./data";
import { Drawing } from "./canvas";
import { colourOf } from "./colours";
import { append, el, section, swatch } from "./dom";
import { Drag, paintTicks } from "./drag";
import { axisUnit, bytes, count, duration } from "./format";
import { Moments } from "./moments";
import { Group, Points, Series, sumOf } from "./series";
import { choosePoints, linear, paintStack, totalsOf } from "./stack";
import { change, follow, state } from "./state";

const LEFT = 62, RIGHT = 14, TOP = 30, BAND = 14, BOTTOM = 26 + BAND;
const FLAGS = ["failed", "allocated", "used", "mark"]; // whose words come first where there is no room
const STAGES: Record<string, string> = {
  load: "#9aa5b1", forward: "#6ea8d8", backward: "#d8a06e", optimizer: "#7fbf9b", evaluation: "#b49ad6",
  generation: "#6cc2c2", other: "#c9ced4",
};

export class TimeView {
  private readonly drawing: Drawing;
  private readonly caption: HTMLElement;
  private readonly legend: HTMLElement;
  private readonly spanStarts: number[];
  private groups: Group[] = [];
  private points: Points;
  private x = linear([0, 1], [0, 1]);
  private y = linear([0, 1], [0, 1]);
  private shown: Int32Array = new Int32Array(0); // by pixel: the point that is drawn there
  private cursor = -1;               // pixel, -1: none
  private readonly drag: Drag;
  private momentBefore = -1;

  constructor(private readonly store: Store, private series: Series, private readonly moments: Moments) {
    const root = section("time");
    this.points = series.buckets;
    this.spanStarts = store.data.spans.map((span) => span.first_event);
    this.caption = el("p", { class: "note" });
    this.legend = el("div", { class: "legend" });
    append(root, [this.controls(), this.legend]);
    this.drawing = new Drawing(root, "Memory over time. Arrow keys move, Enter pins, plus and minus zoom, 0 shows all.",
                               360, (c) => this.draw(c), (c) => this.mark(c));
    root.append(this.caption);
    this.drag = this.listen();
    follow((_, changed) => {
      if ([...changed].every((key) => key === "moment" || key === "search")) this.drawing.remark();
      else this.drawing.redraw();
    });
  }

  setSeries(series: Series): void {
    this.series = series;
    this.drawing.redraw();
  }

  private controls(): HTMLElement {
    const axis = (value: "event" | "time", text: string) => {
      const button = el("button", { type: "button", "aria-pressed": String(state.axis === value),
                                    click: () => change({ axis: value }) }, text);
      follow(() => button.setAttribute("aria-pressed", String(state.axis === value)));
      return button;
    };
    const all = el("button", { type: "button", click: () => change({ zoom: null }) }, "Show all");
    const update = () => { all.disabled = !state.zoom; };
    follow(update);
    update();
    return el("div", { class: "bar" }, el("h2", {}, "Memory over time"),
              el("span", { class: "switch", role: "group", "aria-label": "Horizontal axis" },
                 axis("event", "by event"), axis("time", "by time")), all);
  }

  private domain(): [number, number] {
    return state.zoom ?? [0, this.series.lastEvent + 1];
  }

  private toAxis(event: number): number {
    return state.axis === "event" ? event : this.series.timeOf(event);
  }

  private eventAt(pixel: number): number {
    const value = this.x.invert(pixel);
    return state.axis === "event" ? value : this.series.eventOf(value);
  }

  private totalsOf: Points | null = null;
  private totalsFilter = "";
  private totalsFor: Float64Array = new Float64Array(0);

  private totals(): Float64Array {
    if (this.totalsOf === this.points && this.totalsFilter === state.owner) return this.totalsFor;
    this.totalsOf = this.points;
    this.totalsFilter = state.owner;
    this.totalsFor = totalsOf(this.points, this.groups);
    return this.totalsFor;
  }

  private draw(c: CanvasRenderingContext2D): void {
    const { drawing, series } = this, width = Math.max(1, Math.floor(drawing.width - LEFT - RIGHT));
    const [first, last] = this.domain();
    this.groups = series.groups(state.owner);
    this.points = series.pointsFor(first, last - 1);
    this.x = linear([this.toAxis(first), this.toAxis(last)], [LEFT, LEFT + width]);
    this.shown = choosePoints(this.points, state.axis === "event" ? this.points.events : this.points.times, this.totals(),
                              this.x, LEFT, width);
    const most = this.scaleY();
    this.drawAxes(c, width, most);
    paintStack(c, this.points, this.shown, this.groups, this.y, LEFT);
    if (!state.owner) this.drawLines(c, width);
    this.drawBands(c, width);
    this.drawFlags(c);
    this.drawLegend();
    this.say(first, last);
  }

  private scaleY(): number {
    const { points, shown } = this, total = this.totals(), size = this.series.device.total_bytes;
    let most = 0;
    for (const i of shown)
      if (i >= 0) most = Math.max(most, total[i], state.owner ? 0 : Math.max(points.used[i], points.reserved[i]));
    // The ceiling belongs to the picture where the run came near it.
    if (!state.owner && size && most > 0.6 * size) most = Math.max(most, size);
    this.y = linear([0, most * 1.04 || 1], [this.drawing.height - BOTTOM, TOP]);
    return most;
  }

  private drawAxes(c: CanvasRenderingContext2D, width: number, most: number): void {
    const { drawing, x, y } = this, { ink } = drawing, [one, name] = axisUnit(most);
    const ticks = linear([0, most / one], [0, 1]).ticks(5);
    c.strokeStyle = ink.line;
    c.fillStyle = ink.soft;
    c.lineWidth = 1;
    c.textAlign = "right";
    for (const tick of ticks) {
      const at = Math.round(y(tick * one)) + 0.5;
      c.beginPath();
      c.moveTo(LEFT, at);
      c.lineTo(LEFT + width, at);
      c.stroke();
      c.fillText(`${tick} ${name}`, LEFT - 6, at);
    }
    paintTicks(c, x, LEFT, width, drawing.height - 12, state.axis === "event" ? count : duration);
  }

  private drawLines(c: CanvasRenderingContext2D, width: number): void {
    const { points, shown, y, drawing } = this, { ink } = drawing;
    const line = (values: Float64Array, colour: string, dash: number[]) => {
      c.strokeStyle = colour;
      c.lineWidth = 1.5;
      c.setLineDash(dash);
      c.beginPath();
      for (let pixel = 0; pixel < width; pixel++) {
        const at = y(shown[pixel] < 0 ? 0 : values[shown[pixel]]);
        if (pixel) c.lineTo(LEFT + pixel, at);
        else c.moveTo(LEFT, at);
        c.lineTo(LEFT + pixel + 1, at);
      }
      c.stroke();
      c.setLineDash([]);
    };
    line(points.reserved, ink.soft, [4, 3]);
    line(points.used, ink.text, []);
    const size = this.series.device.total_bytes;
    if (!size || y(size) < TOP - 2) return;
    c.strokeStyle = ink.bad;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(LEFT, y(size));
    c.lineTo(LEFT + width, y(size));
    c.stroke();
    c.fillStyle = ink.bad;
    c.textAlign = "left";
    c.fillText(`device memory ${bytes(size)}`, LEFT + 6, y(size) + 9);
  }

  private drawBands(c: CanvasRenderingContext2D, width: number): void {
    const { drawing, x } = this, at = drawing.height - BOTTOM + 4;
    c.save();
    c.beginPath();
    c.rect(LEFT, 0, width, drawing.height);
    c.clip();
    c.textAlign = "left";
    let lastStep = 0, free = LEFT;
    for (const span of this.store.data.spans) {
      const from = x(this.toAxis(span.first_event)), to = x(this.toAxis(span.last_event + 1));
      if (to < LEFT || from > LEFT + width) continue;
      c.fillStyle = STAGES[span.stage] ?? drawing.ink.line;
      c.fillRect(from, at, Math.max(0.5, to - from - (to - from > 4 ? 1 : 0)), BAND - 4);
      if (span.step && span.step !== lastStep) {
        c.strokeStyle = drawing.ink.soft;
        c.lineWidth = 1;
        c.beginPath();
        c.moveTo(Math.round(from) + 0.5, at - 4);
        c.lineTo(Math.round(from) + 0.5, at + BAND - 4);
        c.stroke();
        lastStep = span.step;
      }
      // Measuring thousands of words that have no room would take most of a frame.
      if (to - from < 20 || from < free) continue;
      const word = span.stage || `step ${span.step}`, wide = c.measureText(word).width;
      if (to - from > wide + 6) {
        c.fillStyle = "#111";
        c.font = "10px system-ui, sans-serif";
        c.fillText(word, from + 3, at + (BAND - 4) / 2 + 0.5);
        c.font = "12px system-ui, sans-serif";
        free = from + wide;
      }
    }
    c.restore();
  }

  private flags(): Flag[] {
    const id = this.series.device.id;
    return this.store.data.flags.filter((flag) => flag.device < 0 || flag.device === id);
  }

  private drawFlags(c: CanvasRenderingContext2D): void {
    const { x, drawing } = this, { ink } = drawing;
    c.textAlign = "left";
    const order = this.flags().sort((a, b) => FLAGS.indexOf(a.kind) - FLAGS.indexOf(b.kind) || b.event - a.event);
    const texts: [number, number][] = [];
    for (const flag of order) {
      const at = x(this.toAxis(flag.event + 0.5));
      if (at < LEFT || at > drawing.width - RIGHT + 1) continue;
      const colour = flag.kind === "failed" ? ink.bad : flag.kind === "mark" ? ink.soft : ink.text;
      c.fillStyle = c.strokeStyle = colour;
      c.lineWidth = 1;
      c.setLineDash([2, 3]);
      c.beginPath();
      c.moveTo(at, TOP - 6);
      c.lineTo(at, drawing.height - BOTTOM);
      c.stroke();
      c.setLineDash([]);
      c.beginPath();
      c.moveTo(at - 4, TOP - 12);
      c.lineTo(at + 4, TOP - 12);
      c.lineTo(at, TOP - 5);
      c.fill();
      const wide = c.measureText(flag.text).width;
      const left = Math.min(at - 4, drawing.width - RIGHT - wide);
      if (!texts.some(([from, to]) => left < to + 8 && left + wide > from - 8)) {
        c.fillText(flag.text, left, TOP - 20);
        texts.push([left, left + wide]);
      }
    }
  }

  private drawLegend(): void {
    const key = this.groups.map((group) => group.name).join() + state.owner;
    if (this.legend.dataset.key === key) return;
    this.legend.dataset.key = key;
    const items: Node[] = [...this.groups].reverse().map((group) =>
      el("button", { type: "button", title: `Only ${group.name}`, click: () => change({ owner: group.name === state.owner ? "" : group.name }) },
         swatch(colourOf(group.name)), group.name));
    if (!state.owner)
      items.push(el("span", { class: "key solid" }, "device used"), el("span", { class: "key dashed" }, "reserved"));
    this.legend.replaceChildren(...items);
  }

  private say(first: number, last: number): void {
    const { series, points, store } = this, parts: string[] = [];
    parts.push(points.isExact ? "Every event is drawn."
               : `Drawn in buckets of ${count(series.perBucket)} events, each with its peak; zoom into a peak, a failed request, ` +
                 "a mark or a whole step to see single events.");
    if (series.device.other_owners)
      parts.push(`${count(series.device.other_owners)} small owners are drawn as one.`);
    if (store.data.spans_left_out) parts.push(`${count(store.data.spans_left_out)} stages are not shown.`);
    if (store.data.flags_left_out) parts.push(`${count(store.data.flags_left_out)} marks are not shown.`);
    if (state.zoom) parts.push(`Events ${count(first)} to ${count(last)} of ${count(series.lastEvent)}.`);
    parts.push("Drag to zoom, double click to go back, click to pin a moment.");
    this.caption.textContent = parts.join(" ");
  }

  private mark(c: CanvasRenderingContext2D): void {
    const { drawing, x } = this, { ink } = drawing;
    if (!this.shown.length) return;
    const pinned = this.moments.current();
    if (pinned) {
      const at = x(this.toAxis(pinned.event + 0.5));
      if (at >= LEFT && at <= drawing.width - RIGHT + 1) {
        c.strokeStyle = ink.accent;
        c.lineWidth = 2;
        c.beginPath();
        c.moveTo(at, TOP - 4);
        c.lineTo(at, drawing.height - BOTTOM + 3);
        c.stroke();
        c.fillStyle = ink.accent;
        c.beginPath();
        c.arc(at, TOP - 5, 4, 0, 7);
        c.fill();
      }
    }
    if (!this.drag.paint(c, TOP, drawing.height - BOTTOM) && this.cursor >= 0) {
      c.strokeStyle = ink.soft;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(this.cursor + 0.5, TOP);
      c.lineTo(this.cursor + 0.5, drawing.height - BOTTOM);
      c.stroke();
    }
  }

  private tell(pixel: number, y: number): void {
    const i = this.shown[Math.max(0, Math.min(this.shown.length - 1, Math.floor(pixel - LEFT)))], { points } = this;
    this.cursor = pixel;
    this.drawing.remark();
    if (i === undefined || i < 0) return;
    const rows = el("table", {});
    let total = 0;
    for (const group of [...this.groups].reverse()) {
      const value = sumOf(points, group.columns, i);
      total += value;
      if (value)
        rows.append(el("tr", {}, el("th", {}, swatch(colourOf(group.name)), group.name),
                       el("td", {}, bytes(value))));
    }
    const add = (name: string, value: number) =>
      rows.append(el("tr", { class: "sum" }, el("th", {}, name), el("td", {}, bytes(value))));
    add(state.owner || "all owners", total);
    if (!state.owner) {
      add("reserved", points.reserved[i]);
      add("device used", points.used[i]);
    }
    const event = points.events[i], last = points.events[i + 1] - 1;
    const where = points.isExact || last <= event ? `event ${count(event)}`
      : `highest of events ${count(event)} to ${count(last)}`;
    const span = this.spanAt(event);
    this.drawing.showTip(pixel, y, el("div", {}, el("p", {}, `${duration(points.times[i])}, ${where}`),
                                      span ? el("p", {}, span) : null, rows));
  }

  private spanAt(event: number): string {
    const spans = this.store.data.spans, at = bisectRight(this.spanStarts, event) - 1;
    if (at < 0 || spans[at].last_event < event) return "";
    return [spans[at].step ? `step ${spans[at].step}` : "", spans[at].stage].filter(Boolean).join(", ");
  }

  private zoom(from: number, to: number): void {
    const [first, last] = [this.eventAt(from), this.eventAt(to)];
    const most = this.series.lastEvent + 1;
    const length = Math.max(4, last - first);
    const start = Math.max(0, Math.min(Math.floor(first), most - length));
    const end = Math.min(most, Math.ceil(start + length));
    change({ zoom: start <= 0 && end >= most ? null : [start, end] });
  }

  private scale(factor: number, around: number): void {
    const [first, last] = this.domain(), at = this.eventAt(around);
    const from = at - (at - first) * factor, to = at + (last - at) * factor;
    const most = this.series.lastEvent + 1;
    if (to - from >= most) change({ zoom: null });
    else if (to - from >= 4) change({ zoom: [Math.max(0, Math.floor(from)), Math.min(most, Math.ceil(to))] });
  }

  private listen(): Drag {
    this.drawing.target.addEventListener("keydown", (event) => this.press(event));
    return new Drag(this.drawing, LEFT, RIGHT, {
      point: (x, y) => this.tell(x, y),
      leave: () => { this.cursor = -1; },
      zoom: (from, to) => this.zoom(from, to),
      click: (x) => this.pin(x),
      back: () => change({ zoom: null, moment: this.momentBefore }),
    });
  }

  private pinnedAt = 0;

  private pin(pixel: number): void {
    // The second click of a double click is no new choice.
    const now = performance.now();
    if (now - this.pinnedAt > 500) this.momentBefore = state.moment;
    this.pinnedAt = now;
    this.moments.pinNearest(this.eventAt(pixel));
  }

  private press(event: KeyboardEvent): void {
    const from = this.cursor < 0 ? LEFT + this.shown.length / 2 : this.cursor, far = event.shiftKey ? 40 : 4;
    const at = (x: number) => this.tell(Math.max(LEFT, Math.min(x, LEFT + this.shown.length - 1)), TOP + 80);
    switch (event.key) {
      case "ArrowLeft": at(from - far); break;
      case "ArrowRight": at(from + far); break;
      case "Enter": case " ": this.pin(from); break;
      case "+": case "=": this.scale(0.5, from); break;
      case "-": this.scale(2, from); break;
      case "0": case "Escape": change({ zoom: null }); break;
      default: return;
    }
    event.preventDefault();
  }
}

// SPDX-License-Identifier: MIT
// Where it lies: the memory that PyTorch's allocator holds from the driver at the pinned moment, to
// scale, as lines of a text: blocks coloured by owner, free pieces hatched.
import { Blocks } from "./blocks";
import { Drawing, hatch } from "./canvas";
import { colourOf, isBelow } from "./colours";
import { el, section, swatch } from "./dom";
import { bytes, duration } from "./format";
import { Moments } from "./moments";
import { change, follow, state } from "./state";

const LINE = 18, GAP = 5, MOST_LINES = 22;

interface Piece {
  row: number;       // of the block; -1: free
  start: number;     // in bytes from the first segment's begin
  size: number;
  isPinned: boolean; // free beside live blocks
  address: number;
}

interface Segment { address: number; size: number; start: number; pieces: Piece[]; nrBlocks: number; }

export class SegmentsView {
  private readonly drawing: Drawing;
  private readonly note = el("p", { class: "note" });
  private segments: Segment[] = [];
  private pieces: Piece[] = [];
  private total = 0;
  private nrLines = 1;
  private focus = -1;

  constructor(private readonly blocks: Blocks, private readonly moments: Moments) {
    const root = section("segments");
    root.append(el("div", { class: "bar" }, el("h2", {}, "Segments")));
    this.drawing = new Drawing(root, "Segments of the allocator. Left and right go through the pieces, Enter shows the owner alone.",
                               LINE * 4, (c) => this.draw(c), (c) => this.mark(c));
    root.append(this.note);
    this.listen();
    this.build();
    follow((_, changed) => {
      if (changed.has("moment") || changed.has("device")) this.build();
      else if (changed.has("owner") || changed.has("search")) this.drawing.redraw();
    });
  }

  private build(): void {
    const { blocks } = this, live = this.moments.current() ? [...blocks.liveAt(state.moment)] : [];
    const address = (row: number) => blocks.get("address", row), size = (row: number) => blocks.get("size", row);
    const byAddress = (a: number, b: number) => address(a) - address(b);
    const holders = live.filter((row) => blocks.get("holds", row)).sort(byAddress);
    const inside = live.filter((row) => blocks.textOf("kind", row) === "block").sort(byAddress);
    this.segments = [];
    for (const row of holders) {
      const last = this.segments[this.segments.length - 1];
      // Granules of an expandable segment are mapped side by side, and blocks lie across them.
      if (last && blocks.textOf("kind", row) === "vmm" && last.address + last.size === address(row)) last.size += size(row);
      else this.segments.push({ address: address(row), size: size(row), start: 0, pieces: [], nrBlocks: 0 });
    }
    let next = 0;
    this.total = 0;
    this.pieces = [];
    for (const segment of this.segments) {
      segment.start = this.total;
      this.total += segment.size;
      let at = segment.address;
      const end = segment.address + segment.size;
      const free = (to: number) => {
        if (to > at) segment.pieces.push({ row: -1, start: segment.start + at - segment.address, size: to - at, isPinned: false, address: at });
      };
      while (next < inside.length && address(inside[next]) < at) next++;
      for (; next < inside.length && address(inside[next]) < end; next++) {
        const row = inside[next];
        free(address(row));
        segment.pieces.push({ row, start: segment.start + address(row) - segment.address, size: size(row), isPinned: false, address: address(row) });
        segment.nrBlocks++;
        at = address(row) + size(row);
      }
      free(end);
      for (const piece of segment.pieces) piece.isPinned = piece.row < 0 && segment.nrBlocks > 0;
      this.pieces.push(...segment.pieces);
    }
    this.nrLines = Math.max(1, Math.min(MOST_LINES, Math.ceil(this.segments.length ? 4 + this.total / 2 ** 30 : 1)));
    this.drawing.setHeight(this.nrLines * (LINE + GAP));
    this.focus = -1;
    this.say();
    this.drawing.redraw();
  }

  private say(): void {
    const moment = this.moments.current(), root = section("segments");
    root.hidden = !this.segments.length;
    if (!moment || !this.segments.length) return;
    const free = this.pieces.filter((piece) => piece.row < 0), pinned = free.filter((piece) => piece.isPinned);
    const sum = (pieces: Piece[]) => pieces.reduce((all, piece) => all + piece.size, 0);
    const largest = free.reduce((most, piece) => Math.max(most, piece.size), 0);
    const failed = moment.names.find((name) => name.startsWith("out of memory"));
    const small = this.blocks.restAt(state.moment);
    this.note.textContent = `${this.segments.length} segments of ${bytes(this.total)}, to scale and in the order of their addresses. ` +
      `Free in segments with live blocks (dense hatching): ${bytes(sum(pinned))} in ${pinned.length} pieces; ` +
      `completely free segments: ${bytes(sum(free) - sum(pinned))}; the largest free piece is ${bytes(largest)}.` +
      (failed ? ` ${failed[0].toUpperCase()}${failed.slice(1)} in one piece.` : "") +
      (small.length ? ` Blocks below ${bytes(this.blocks.about.least_bytes)} are not drawn and look free.` : "");
  }

  /** Calls `paint` for each line that a piece lies on. */
  private boxes(piece: { start: number; size: number }, paint: (x: number, y: number, width: number) => void): void {
    const perLine = this.total / this.nrLines, scale = this.drawing.width / perLine;
    const end = piece.start + piece.size, last = this.nrLines - 1;
    let at = piece.start;
    for (let line = Math.min(last, Math.floor(at / perLine)); at < end && line <= last; line++) {
      const to = line === last ? end : Math.min(end, (line + 1) * perLine);
      if (to > at) paint((at - line * perLine) * scale, line * (LINE + GAP), Math.max(0.5, (to - at) * scale));
      at = Math.max(at, to);
    }
  }

  private draw(c: CanvasRenderingContext2D): void {
    const { ink } = this.drawing, pinned = hatch(c, ink.bad, 4), free = hatch(c, ink.soft, 7);
    for (const piece of this.pieces) {
      if (piece.row < 0) c.fillStyle = piece.isPinned ? pinned : free;
      else {
        const owner = this.blocks.textOf("owner", piece.row);
        c.globalAlpha = isChosen(this.blocks, piece.row, owner) ? 1 : 0.15;
        c.fillStyle = colourOf(owner);
      }
      this.boxes(piece, (x, y, width) => c.fillRect(x, y, width > 3 && piece.row >= 0 ? width - 0.7 : width, LINE));
      c.globalAlpha = 1;
    }
    c.strokeStyle = ink.soft;
    c.lineWidth = 1;
    for (const segment of this.segments)
      this.boxes(segment, (x, y, width) => { if (width > 2) c.strokeRect(x + 0.5, y + 0.5, width - 1, LINE - 1); });
  }

  private mark(c: CanvasRenderingContext2D): void {
    const piece = this.pieces[this.focus];
    if (!piece) return;
    c.strokeStyle = this.drawing.ink.text;
    c.lineWidth = 2;
    this.boxes(piece, (x, y, width) => c.strokeRect(x, y, Math.max(3, width), LINE));
  }

  private tell(index: number): void {
    const piece = this.pieces[index], moment = this.moments.current();
    if (!piece || !moment) return;
    this.focus = index;
    let at: [number, number] = [0, 0];
    this.boxes(piece, (x, y, width) => { at = [x + width / 2, y + LINE]; });
    const content = piece.row < 0
      ? el("div", {}, el("strong", {}, `${bytes(piece.size)} free`), el("p", {}, piece.isPinned ? "pinned by live blocks in its segment" : "completely free: empty_cache() can release it"))
      : this.describe(piece.row);
    this.drawing.showTip(at[0], at[1] + 10, content);
    this.drawing.remark();
  }

  private describe(row: number): HTMLElement {
    const moment = this.moments.current();
    return describeBlock(this.blocks, row, moment ? moment.time_us : 0);
  }

  private pieceAt(x: number, y: number): number {
    const line = Math.floor(y / (LINE + GAP)), perLine = this.total / this.nrLines;
    const at = (line + x / this.drawing.width) * perLine;
    let low = 0, high = this.pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pieces[middle].start + this.pieces[middle].size <= at) low = middle + 1;
      else high = middle;
    }
    return low < this.pieces.length ? low : -1;
  }

  private listen(): void {
    const { target } = this.drawing;
    target.addEventListener("pointermove", (event) => this.tell(this.pieceAt(...this.drawing.place(event))));
    target.addEventListener("pointerleave", () => {
      this.focus = -1;
      this.drawing.hideTip();
      this.drawing.remark();
    });
    target.addEventListener("click", () => this.choose());
    target.addEventListener("keydown", (event) => {
      if (event.key === "ArrowRight") this.tell(Math.min(this.pieces.length - 1, this.focus + 1));
      else if (event.key === "ArrowLeft") this.tell(Math.max(0, this.focus - 1));
      else if (event.key === "Enter") this.choose();
      else return;
      event.preventDefault();
    });
  }

  private choose(): void {
    const piece = this.pieces[this.focus];
    if (!piece || piece.row < 0) return;
    const owner = this.blocks.textOf("owner", piece.row);
    change({ owner: state.owner === owner ? "" : owner });
  }
}

/** Whether what is looked at includes the block. */
export function isChosen(blocks: Blocks, row: number, owner: string): boolean {
  return (!state.owner || isBelow(owner, state.owner)) && blocks.matches(row, state.search);
}

/** What a block is, for a text beside the pointer. */
export function describeBlock(blocks: Blocks, row: number, nowUs: number): HTMLElement {
  const owner = blocks.textOf("owner", row), name = blocks.textOf("name", row), [line, source] = blocks.line(row);
  const module = blocks.textOf("module", row), keeper = blocks.textOf("keeper", row), step = blocks.get("step", row);
  return el("div", {},
    el("strong", {}, swatch(colourOf(owner)), `${bytes(blocks.get("size", row))} ${name ? `${owner}: ${name}` : owner}`),
    line ? el("p", { class: "line" }, line) : null, source ? el("code", { class: "source" }, source) : null,
    module ? el("p", {}, `module ${module}`) : null, keeper ? el("p", {}, `kept by: ${keeper}`) : null,
    el("p", {}, `allocated at ${duration(blocks.get("us", row))}${step ? `, step ${step}` : ""}` +
      (nowUs >= blocks.get("us", row) ? `, ${duration(nowUs - blocks.get("us", row))} old` : "") +
      `, block ${blocks.get("event", row)}`));
}

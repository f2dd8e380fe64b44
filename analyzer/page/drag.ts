// SPDX-License-Identifier: MIT
// The pointer over a drawing whose horizontal axis is time: it points, or drags a stretch to zoom into.
import { Drawing } from "./canvas";

export interface Dragged {
  point(x: number, y: number): void;
  leave(): void;
  zoom(from: number, to: number): void;
  click(x: number): void;
  back(): void; // a double click
}

export class Drag {
  private from = -1; // pixel, -1: nothing is dragged
  private to = -1;

  constructor(private readonly drawing: Drawing, private readonly left: number, private readonly right: number,
              dragged: Dragged) {
    const { target } = drawing;
    let isFar = false;
    target.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      this.from = this.to = drawing.place(event)[0];
      isFar = false;
      target.setPointerCapture(event.pointerId);
    });
    target.addEventListener("pointermove", (event) => {
      const [x, y] = drawing.place(event);
      if (this.from >= 0) {
        this.to = this.inside(x);
        isFar = isFar || Math.abs(x - this.from) > 5;
        drawing.hideTip();
        drawing.remark();
      } else dragged.point(Math.min(this.inside(x), this.end() - 1), y);
    });
    target.addEventListener("pointerup", (event) => {
      const { from } = this;
      this.from = -1;
      if (from < 0) return;
      if (isFar) dragged.zoom(Math.min(from, this.to), Math.max(from, this.to));
      else if (event.detail < 2 || event.pointerType) dragged.click(drawing.place(event)[0]);
    });
    target.addEventListener("pointerleave", () => {
      dragged.leave();
      drawing.hideTip();
      drawing.remark();
    });
    target.addEventListener("dblclick", () => dragged.back());
  }

  private end(): number {
    return this.drawing.width - this.right;
  }

  private inside(x: number): number {
    return Math.max(this.left, Math.min(x, this.end()));
  }

  /** Marks the stretch; whether there is one. */
  paint(c: CanvasRenderingContext2D, top: number, bottom: number): boolean {
    if (this.from < 0) return false;
    c.fillStyle = this.drawing.ink.accent + "33";
    c.fillRect(Math.min(this.from, this.to), top, Math.abs(this.to - this.from), bottom - top);
    return true;
  }
}

/** The texts below (or above) a stretch of `width` pixels, in the middle of the line `at`. */
export function paintTicks(c: CanvasRenderingContext2D, x: { (value: number): number; ticks(nr: number): number[] },
                           left: number, width: number, at: number, textOf: (value: number) => string): void {
  c.textAlign = "center";
  for (const tick of x.ticks(Math.max(2, Math.floor(width / 110))))
    c.fillText(textOf(tick), Math.min(Math.max(x(tick), left + 18), left + width - 18), at);
}

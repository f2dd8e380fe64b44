// SPDX-License-Identifier: MIT
// A stack of owners over time, painted pixel by pixel: what the view of time and that of two
// recordings share.
import { bisectRight } from "d3-array";
import { scaleLinear } from "d3-scale";
import { colourOf } from "./colours";
import { Group, Points, sumOf } from "./series";

/** What of D3's linear scales is used here. */
export interface Scale {
  (value: number): number;
  invert(value: number): number;
  domain(): number[];
  ticks(nr: number): number[];
}

export function linear(domain: [number, number], range: [number, number]): Scale {
  return scaleLinear().domain(domain).range(range) as unknown as Scale;
}

/** What all groups have, by point. */
export function totalsOf(points: Points, groups: Group[]): Float64Array {
  const total = new Float64Array(points.nr);
  for (const group of groups)
    for (const column of group.columns) {
      const values = points.columns[column];
      for (let i = 0; i < total.length; i++) total[i] += values[i];
    }
  return total;
}

/** The point of the highest total in each pixel, of those that begin or last there; -1: none. */
export function choosePoints(points: Points, starts: Float64Array, total: Float64Array, x: Scale, left: number,
                             width: number): Int32Array {
  const shown = new Int32Array(width).fill(-1), [low, high] = x.domain();
  let first = Math.max(0, bisectRight(starts, low, 0, points.nr) - 1);
  for (; first < points.nr && starts[first] <= high; first++) {
    const from = Math.max(0, Math.floor(x(starts[first]) - left));
    const to = Math.min(width - 1, Math.max(from, Math.ceil(x(starts[first + 1]) - left) - 1));
    for (let pixel = from; pixel <= to; pixel++)
      if (shown[pixel] < 0 || total[first] > total[shown[pixel]]) shown[pixel] = first;
  }
  for (let pixel = 1; pixel < width; pixel++)
    if (shown[pixel] < 0 && x.invert(left + pixel) <= starts[points.nr]) shown[pixel] = shown[pixel - 1];
  return shown;
}

export function paintStack(c: CanvasRenderingContext2D, points: Points, shown: Int32Array, groups: Group[], y: Scale,
                           left: number): void {
  const width = shown.length, base = new Float64Array(width), top = new Float64Array(width);
  for (const group of groups) {
    for (let pixel = 0; pixel < width; pixel++)
      top[pixel] = base[pixel] + (shown[pixel] < 0 ? 0 : sumOf(points, group.columns, shown[pixel]));
    c.fillStyle = colourOf(group.name);
    c.beginPath();
    c.moveTo(left, y(base[0]));
    for (let pixel = 0; pixel < width; pixel++) {
      const at = y(top[pixel]);
      c.lineTo(left + pixel, at);
      c.lineTo(left + pixel + 1, at);
    }
    for (let pixel = width - 1; pixel >= 0; pixel--) {
      const at = y(base[pixel]);
      c.lineTo(left + pixel + 1, at);
      c.lineTo(left + pixel, at);
    }
    c.fill();
    base.set(top);
  }
}

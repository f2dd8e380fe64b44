// SPDX-License-Identifier: MIT
// Numbers as text: bytes and counts as base/units.c writes them; durations with more digits, for
// axes are zoomed.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function unitOf(bytes: number): number {
  let unit = 0;
  for (let rest = Math.abs(bytes); rest >= 1023.995 && unit < UNITS.length - 1; rest /= 1024) unit++;
  return unit;
}

/** As printf's %.2f: toFixed() rounds halves up, not to the even digit. Only odd eighths are halves. */
function twoDecimals(value: number): string {
  return ((8 * value) % 4 === 1 ? value - 0.005 : value).toFixed(2);
}

export function bytes(value: number): string {
  const unit = unitOf(value);
  return unit ? `${twoDecimals(value / 1024 ** unit)} ${UNITS[unit]}` : `${Math.round(value)} B`;
}

export function signedBytes(value: number): string {
  return value > 0 ? `+${bytes(value)}` : value < 0 ? `−${bytes(-value)}` : "0 B";
}

/** One unit for all ticks of an axis: [bytes of one unit, its name]. */
export function axisUnit(most: number): [number, string] {
  const unit = unitOf(most);
  return [1024 ** unit, UNITS[unit]];
}

export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function blocks(value: number): string {
  return `${count(value)} block${value === 1 ? "" : "s"}`;
}

export function share(part: number, whole: number): string {
  return whole ? `${((100 * part) / whole).toFixed(1)} %` : "";
}

/** Microseconds. */
export function duration(us: number): string {
  const seconds = us / 1e6, whole = Math.round(seconds);
  // Each bound is what its form would round up to the next unit.
  if (us < 999.5) return `${us.toFixed(0)} µs`;
  if (us < 999500) return `${(us / 1e3).toPrecision(3)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(seconds < 9.995 ? 2 : 1)} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

// Characters that would reorder or hide the text around them (html/markup.c has the same).
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text of a recording, so that it shows as what it is. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (c) =>
    `[U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
}

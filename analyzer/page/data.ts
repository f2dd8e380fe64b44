// SPDX-License-Identifier: MIT
// The data of the page (html/pack.h says how it is written).

import type { Moment } from "./moments";

export interface SeriesWindow {
  first_event: number; last_event: number; first_row: number; end_row: number; before: number[];
}

export interface SeriesDevice {
  id: number; name: string | null; total_bytes: number; owners: (string | null)[]; other_owners: number;
  windows: SeriesWindow[];
}

export interface Span { first_event: number; last_event: number; stage: string; step: number; }
export interface Flag { event: number; time_us: number; kind: string; text: string; device: number; }

export interface OwnerFigure { owner: string; bytes: number; blocks: number; provenance: Record<string, number>; }

export interface Data {
  report: any; // `vtrace report --json`
  leaks: any;  // `vtrace leaks --json`
  series: { events_per_bucket: number; buckets: number; last_event: number; devices: SeriesDevice[] };
  spans: Span[];
  spans_left_out: number;
  flags: Flag[];
  flags_left_out: number;
  moments: Moment[];
  first_moment: number;
  moments_left_out: number;
  strings: (string | null)[];
  lines: Record<string, string | null>;
  rest: number[][];          // moment, owner, python, native, bytes, blocks
  rows: { least_bytes: number; lifetimes: number; blocks: number; shown_area: number };
  columns: Record<string, [number, number, number]>; // offset, bytes, numbers
}

export class Store {
  constructor(readonly data: Data, private readonly bytes: Uint8Array) {}

  has(name: string): boolean {
    return name in this.data.columns;
  }

  /** A column of numbers, whole. */
  column(name: string): Float64Array {
    const [offset, , nr] = this.data.columns[name];
    const bytes = this.bytes, out = new Float64Array(nr);
    let at = offset, last = 0;
    for (let i = 0; i < nr; i++) {
      let byte = bytes[at++], value = byte & 0x7f;
      // Beyond 31 bits shifts would overflow: scale instead.
      for (let scale = 128; byte & 0x80; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 0x7f) * scale;
      }
      last += value % 2 ? -(value + 1) / 2 : value / 2;
      out[i] = last;
    }
    return out;
  }
}

/** The data of the recording whose part of the page this is, or other data written in that way. */
export async function load(root: ParentNode, selector = "script.data"): Promise<Store> {
  const text = atob((root.querySelector(selector) as HTMLElement).textContent as string);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(all.buffer).getUint32(0, true);
  const json = new TextDecoder().decode(all.subarray(4, 4 + length));
  return new Store(JSON.parse(json), all.subarray(4 + length));
}

// SPDX-License-Identifier: MIT
// The moments that the page knows in full, and the one that is pinned.
import type { OwnerFigure, Store } from "./data";
import { change, state } from "./state";

export interface Moment {
  device: number;   // CUDA ordinal
  event: number;
  time_ns: number;
  time_us: number;  // made of it
  names: string[];  // "most allocated", "end of forward"
  kinds: string[];
  place: string;    // "step 3, forward"; may be empty
  doing: string | null;
  device_used_bytes: number;
  reserved_bytes: number;
  allocated_bytes: number;
  owners: OwnerFigure[];
}

export class Moments {
  readonly all: Moment[];

  constructor(private readonly store: Store) {
    this.all = store.data.moments;
    for (const moment of this.all) moment.time_us = moment.time_ns / 1000;
  }

  current(): Moment | undefined {
    return this.all[state.moment];
  }

  /** Indices of those of the device looked at, in order. */
  ofDevice(device = this.store.data.series.devices[state.device]?.id): number[] {
    return this.all.map((_, i) => i).filter((i) => this.all[i].device === device);
  }

  /** Of a CUDA ordinal among the devices of the series; -1: it is none of them. */
  deviceIndex(device: number): number {
    return this.store.data.series.devices.findIndex((one) => one.id === device);
  }

  private lastSnap = 0;

  /** How far the last click was from what it pinned, in events. */
  get snapDistance(): number {
    return this.lastSnap;
  }

  pinNearest(event: number): void {
    let best = -1;
    for (const i of this.ofDevice())
      if (best < 0 || Math.abs(this.all[i].event + 0.5 - event) < Math.abs(this.all[best].event + 0.5 - event)) best = i;
    if (best < 0) return;
    this.lastSnap = Math.abs(Math.round(event - this.all[best].event - 0.5));
    change({ moment: best });
  }

  step(by: number): void {
    const indices = this.ofDevice(), at = indices.indexOf(state.moment);
    const next = indices[Math.max(0, Math.min(indices.length - 1, at + by))];
    this.lastSnap = 0;
    if (next !== undefined) change({ moment: next });
  }

  pin(index: number): void {
    this.lastSnap = 0;
    change({ moment: index });
  }
}

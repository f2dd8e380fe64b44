// SPDX-License-Identifier: MIT
// What all views follow: the device, the pinned moment, the owner looked at. The fragment of the
// page's address keeps it, so that a view can be shared.

export interface State {
  device: number;      // index into the series' devices
  moment: number;      // index into the moments; -1: there are none
  owner: string;       // "" is all
  search: string;      // what frames of the blocks contain that are not faint; "" is all
  axis: "event" | "time";
  zoom: [number, number] | null; // in events
}

type Listener = (state: State, changed: Set<keyof State>) => void;

const listeners: Listener[] = [];
export const state: State = { device: 0, moment: -1, owner: "", search: "", axis: "event", zoom: null };

export function follow(listener: Listener): void {
  listeners.push(listener);
}

/** Another recording is looked at: its views are others. */
export function forget(): void {
  listeners.length = 0;
  Object.assign(state, { device: 0, moment: -1, owner: "", search: "", axis: "event", zoom: null });
}

export function change(more: Partial<State>): void {
  const changed = new Set<keyof State>();
  for (const key of Object.keys(more) as (keyof State)[])
    if (state[key] !== more[key]) changed.add(key);
  if (!changed.size) return;
  Object.assign(state, more);
  for (const listener of listeners) listener(state, changed);
}

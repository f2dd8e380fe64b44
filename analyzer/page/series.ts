// SPDX-License-Identifier: MIT
// Memory over time by owner: buckets of equally many events for the whole run, and single events
// inside the windows that the page keeps (html/series.h).
import { bisectRight } from "d3-array";
import { Store, SeriesWindow } from "./data";
import { OTHER_OWNERS, groupOf, inStackOrder } from "./colours";

/** Owners of one colour, drawn as one area. */
export interface Group { name: string; columns: number[]; }

/** A run of points, each true from its start to the next one's. */
export interface Points {
  nr: number;
  events: Float64Array;     // where point i starts; nr + 1 of them
  times: Float64Array;      // the same in microseconds
  columns: Float64Array[];  // by column: at the instant of the highest total
  most: Float64Array[];     // by column
  least: Float64Array[];
  used: Float64Array;
  reserved: Float64Array;
  isExact: boolean;         // a point is one event
}

export class Series {
  readonly names: string[];
  readonly buckets: Points;
  readonly lastEvent: number;
  readonly endUs: number;
  readonly perBucket: number;
  private readonly windows: (Points | null)[];

  constructor(private readonly store: Store, readonly index: number) {
    const all = store.data.series, device = all.devices[index];
    this.names = device.owners.map((owner) => owner ?? OTHER_OWNERS);
    this.perBucket = all.events_per_bucket;
    this.lastEvent = all.last_event;
    const ends = store.column("end_us"), nr = all.buckets;
    const events = new Float64Array(nr + 1), times = new Float64Array(nr + 1);
    for (let i = 0; i <= nr; i++) events[i] = i * all.events_per_bucket;
    times.set(ends, 1);
    const columns = this.names.map((_, i) => store.column(`${index}.top.${i}`));
    this.buckets = {
      nr, events, times, columns,
      most: columns.map((top, i) => store.column(`${index}.most.${i}`).map((value, b) => top[b] + value)),
      least: columns.map((top, i) => store.column(`${index}.least.${i}`).map((value, b) => top[b] - value)),
      used: store.column(`${index}.used`),
      reserved: store.column(`${index}.reserved`),
      isExact: all.events_per_bucket === 1,
    };
    this.endUs = ends[nr - 1];
    this.windows = device.windows.map(() => null);
  }

  get device() {
    return this.store.data.series.devices[this.index];
  }

  /** One area per first part of the owners' paths; of one owner's leaves each its own. */
  groups(filter: string): Group[] {
    const columns = new Map<string, number[]>();
    this.names.forEach((name, i) => {
      const inside = !filter || name === filter || name.startsWith(filter + "/");
      if (!inside) return;
      const group = filter ? name : groupOf(name);
      columns.set(group, [...(columns.get(group) ?? []), i]);
    });
    return inStackOrder([...columns.keys()]).map((name) => ({ name, columns: columns.get(name) as number[] }));
  }

  /** The finest points that cover all of these events. */
  pointsFor(first: number, last: number): Points {
    const windows = this.device.windows;
    if (!this.buckets.isExact)
      for (let i = 0; i < windows.length; i++)
        if (windows[i].first_event <= first && windows[i].last_event >= last)
          return this.windows[i] ?? (this.windows[i] = this.readWindow(windows[i]));
    return this.buckets;
  }

  private readWindow(window: SeriesWindow): Points {
    const name = (field: string) => `${this.index}.row.${field}`;
    const slice = (field: string) => this.store.column(name(field)).slice(window.first_row, window.end_row);
    const rows = { event: slice("event"), us: slice("us"), bytes: slice("bytes"), what: slice("what") };
    const nrColumns = this.names.length, nrRows = rows.event.length, now = window.before.slice();
    const make = () => new Float64Array(nrRows + 1);
    const columns = this.names.map(make), used = make(), reserved = make();
    const events = new Float64Array(nrRows + 2), times = new Float64Array(nrRows + 2);
    let nr = 0;
    const keep = (event: number, us: number) => {
      // Several rows of one event are one point.
      if (nr && events[nr - 1] === event) nr--;
      events[nr] = event;
      times[nr] = us;
      for (let c = 0; c < nrColumns; c++) columns[c][nr] = now[c];
      used[nr] = now[nrColumns];
      reserved[nr] = now[nrColumns + 1];
      nr++;
    };
    keep(window.first_event, this.timeOf(window.first_event));
    for (let i = 0; i < nrRows; i++) {
      const column = Math.floor(rows.what[i] / 4), change = rows.bytes[i];
      if (column < nrColumns) now[column] += change;
      if (rows.what[i] & 1) now[nrColumns] += change;
      if (rows.what[i] & 2) now[nrColumns + 1] += change;
      keep(rows.event[i], rows.us[i]);
    }
    events[nr] = window.last_event + 1;
    times[nr] = Math.max(this.timeOf(window.last_event + 1), nr ? times[nr - 1] : 0);
    return { nr, events, times, columns, most: columns, least: columns, used, reserved, isExact: true };
  }

  /** Within a bucket as if its events were equally far from each other. */
  timeOf(event: number): number {
    const { times, nr } = this.buckets, at = event / this.perBucket;
    const bucket = Math.max(0, Math.min(nr - 1, Math.floor(at)));
    return times[bucket] + (times[bucket + 1] - times[bucket]) * Math.min(1, Math.max(0, at - bucket));
  }

  eventOf(us: number): number {
    const { times, nr } = this.buckets;
    const bucket = Math.max(0, Math.min(nr - 1, bisectRight(times, us, 0, nr) - 1));
    const length = times[bucket + 1] - times[bucket];
    return (bucket + (length > 0 ? Math.min(1, Math.max(0, (us - times[bucket]) / length)) : 0)) * this.perBucket;
  }
}

export function sumOf(points: Points, columns: number[], i: number): number {
  let sum = 0;
  for (const column of columns) sum += points.columns[column][i];
  return sum;
}

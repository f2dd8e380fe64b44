// SPDX-License-Identifier: MIT
// The blocks that the page has rows of, and which of them are live at a moment (html/rows.h).
import { Data, Store } from "./data";
import { visible } from "./format";
import { Moment, Moments } from "./moments";

export interface Rest { owner: string; python: number; native: number; bytes: number; blocks: number; }

const FIELDS = ["event", "freed", "us", "freed_us", "device", "address", "size", "kind", "owner", "name", "module", "keeper",
                "python", "native", "step", "holds", "lifetime"] as const;
type Field = (typeof FIELDS)[number];

export class Blocks {
  readonly nr: number;
  readonly about: Data["rows"];
  private readonly fields = new Map<Field, Float64Array>();
  private readonly strings: (string | null)[];
  private readonly restOf = new Map<number, Rest[]>();
  private readonly lists = new Map<number, Int32Array>();
  readonly python: Tree;
  readonly native: Tree;

  constructor(store: Store, private readonly moments: Moments) {
    const { data } = store;
    this.strings = data.strings;
    this.about = data.rows;
    for (const field of FIELDS) this.fields.set(field, store.column(`block.${field}`));
    this.nr = this.column("event").length;
    for (const [moment, owner, python, native, bytes, blocks] of data.rest) {
      const list = this.restOf.get(moment) ?? [];
      list.push({ owner: this.text(owner), python, native, bytes, blocks });
      this.restOf.set(moment, list);
    }
    this.python = new Tree(store, "python", data.strings, data.lines);
    this.native = new Tree(store, "native", data.strings, {});
  }

  column(field: Field): Float64Array {
    return this.fields.get(field) as Float64Array;
  }

  get(field: Field, row: number): number {
    return this.column(field)[row];
  }

  text(number: number): string {
    return this.strings[number] ?? "";
  }

  textOf(field: Field, row: number): string {
    return this.text(this.get(field, row));
  }

  /** Rows of a moment: blocks and other memory with an owner, and the driver memory that blocks lie in. */
  liveAt(index: number): Int32Array {
    const found = this.lists.get(index);
    if (found) return found;
    const moment = this.moments.all[index], out: number[] = [];
    const events = this.column("event"), freed = this.column("freed"), devices = this.column("device");
    const sizes = this.column("size"), holds = this.column("holds");
    for (let i = 0; i < this.nr; i++)
      if (events[i] <= moment.event && (!freed[i] || freed[i] > moment.event) && devices[i] === moment.device &&
          (sizes[i] >= this.about.least_bytes || holds[i]))
        out.push(i);
    const list = Int32Array.from(out);
    this.lists.set(index, list);
    return list;
  }

  /** What a moment has besides, added up. */
  restAt(index: number): Rest[] {
    return this.restOf.get(index) ?? [];
  }

  /** Whether any frame of its stack, or what else is known of it, contains the text. */
  matches(row: number, needle: string): boolean {
    if (!needle) return true;
    const python = this.get("python", row), native = this.get("native", row);
    const wanted = needle.toLowerCase();
    return this.python.contains(python, wanted) || (!python && this.native.contains(native, wanted)) ||
      (["name", "module", "keeper"] as const).some((field) => visible(this.textOf(field, row)).toLowerCase().includes(wanted));
  }

  hasOwner(row: number): boolean {
    return this.get("owner", row) !== 0;
  }

  /** The innermost frame, and its source line where the page has it. */
  line(row: number): [string, string] {
    const python = this.get("python", row);
    return python ? [this.python.textOf(python), this.python.sourceOf(python)]
                  : [this.native.textOf(this.get("native", row)), ""];
  }

  age(row: number, moment: Moment): number {
    return moment.time_us - this.get("us", row);
  }
}

/** Stacks: a node is its parent and a text; node 0 is no stack. */
export class Tree {
  private readonly parents: Float64Array;
  private readonly texts: Float64Array;

  constructor(store: Store, name: string, private readonly strings: (string | null)[],
              private readonly lines: Record<string, string | null>) {
    this.parents = store.column(`${name}.parent`);
    this.texts = store.column(`${name}.text`);
  }

  textOf(node: number): string {
    return this.strings[this.texts[node]] ?? "";
  }

  sourceOf(node: number): string {
    return this.lines[String(this.texts[node])] ?? "";
  }

  private needle = "";
  private readonly found = new Map<number, boolean>();

  /** Whether a frame of the stack does; of texts in lower case. */
  contains(node: number, needle: string): boolean {
    if (this.needle !== needle) this.found.clear();
    this.needle = needle;
    if (!node) return false;
    let found = this.found.get(node);
    if (found === undefined) {
      found = visible(this.textOf(node)).toLowerCase().includes(needle) || this.contains(this.parents[node], needle);
      this.found.set(node, found);
    }
    return found;
  }

  /** Outermost first. */
  path(node: number): number[] {
    const path: number[] = [];
    for (let at = node; at; at = this.parents[at]) path.push(at);
    return path.reverse();
  }
}

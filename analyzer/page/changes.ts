// SPDX-License-Identifier: MIT
// Which places in the program made the difference between two recordings: stacks as an icicle,
// width is by how much they differ. Places are matched by `vtrace diff`.
import { el } from "./dom";
import { bytes, count, signedBytes } from "./format";
import { Branch, Icicle, withoutFolder } from "./icicle_drawing";

// Okabe's and Ito's vermilion and blue: more and less; paler where a place is in both.
const COLOURS = { new: "#d55e00", grown: "#f0a36b", shrunk: "#7fb3d9", gone: "#0072b2" } as const;
export type Word = keyof typeof COLOURS;

/** As `vtrace diff --json` has it. */
export interface Place {
  what: Word; base_bytes: number; new_bytes: number; change_bytes: number;
  base_owner: string | null; new_owner: string | null; base_stack: string[]; new_stack: string[];
}

/** Its weight is how much its places differ, one way or the other. */
interface Frame extends Branch<Frame> { base: number; now: number; byWord: Map<Word, number>; }

function makeFrame(text: string, parent: Frame | null): Frame {
  return { text, weight: 0, parent, children: new Map(), base: 0, now: 0, byWord: new Map() };
}

function add(root: Frame, place: Place): void {
  const stack = place.new_stack.length ? place.new_stack : place.base_stack;
  const path = stack.length ? [...stack].reverse() : ["no stack"];
  let frame = root;
  for (let i = 0; ; i++) {
    frame.weight += Math.abs(place.change_bytes);
    frame.base += place.base_bytes;
    frame.now += place.new_bytes;
    frame.byWord.set(place.what, (frame.byWord.get(place.what) ?? 0) + Math.abs(place.change_bytes));
    if (i === path.length) return;
    let child = frame.children.get(path[i]);
    if (!child) frame.children.set(path[i], (child = makeFrame(path[i], frame)));
    frame = child;
  }
}

function wordOf(frame: Frame): Word {
  return [...frame.byWord].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

export class ChangesView {
  constructor(root: Element, places: Place[], nrDiffering: number, nrEqual: number) {
    const all = makeFrame("all", null);
    for (const place of places) add(all, place);
    if (!places.length) return;
    root.append(el("h3", {}, "Where it changed"), el("div", { class: "legend" },
      ...(Object.keys(COLOURS) as Word[]).map((word) => {
        const swatch = el("span", { class: "swatch" });
        swatch.style.background = COLOURS[word];
        return el("span", { class: "entry" }, swatch, word);
      })));
    const icicle = new Icicle<Frame>(root, "Where it changed. Arrow keys move between frames, Enter zooms, Escape shows all.", {
      colour: (frame) => COLOURS[wordOf(frame)],
      label: (frame, isWide) => (frame.parent ? `${withoutFolder(frame.text)}${isWide ? `   ${signedBytes(frame.now - frame.base)}` : ""}`
                                              : `all call sites that differ: ${signedBytes(frame.now - frame.base)}`),
      describe: (frame) => el("div", {}, el("strong", {}, frame.text),
        el("p", {}, `${bytes(frame.base)} before, ${bytes(frame.now)} now: ${signedBytes(frame.now - frame.base)}`)),
      isFaint: () => false,
    }, () => undefined);
    root.append(el("p", { class: "note" }, "Width is the size of the change, colour the largest owner; click a frame to zoom. " +
      `${count(nrEqual)} call sites are equal and not drawn` +
      (nrDiffering > places.length ? `, nor are the ${count(nrDiffering - places.length)} that differ least.` : ".")));
    icicle.show(all);
  }
}

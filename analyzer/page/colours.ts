// SPDX-License-Identifier: MIT
// One colour per owner, the same in every view and on every page. The hues of the first parts of
// paths are Okabe's and Ito's and a few more, which colour-blind readers can tell apart; leaves of
// one parent differ in lightness.
import { hcl } from "d3-color";

const HUES: Record<string, string> = {
  weights: "#0072b2", optimizer: "#009e73", gradients: "#b3a100", activations: "#e69f00", logits: "#d55e00",
  "activation gradients": "#cc79a7", "kv cache": "#56b4e9", workspace: "#8c6d5a", inputs: "#8aa636",
  buffers: "#7a85c9", user: "#aa4499", communication: "#117733", unknown: "#7f7f7f", external: "#aa7744",
  cached: "#c4c9cf", "graph pools": "#b0b7bf", "unfilled pages": "#a3aab1", context: "#969ca3",
  "other processes": "#777d84",
};
const MORE = ["#44aa99", "#882255", "#6699cc", "#997700", "#994455", "#225555", "#ee99aa", "#4a7a2a"];

export const OTHER_OWNERS = "other owners";

/** "activations" of "activations/mlp". */
export function groupOf(owner: string): string {
  const slash = owner.indexOf("/");
  return slash < 0 ? owner : owner.slice(0, slash);
}

export function isBelow(owner: string, path: string): boolean {
  return owner === path || owner.startsWith(path + "/");
}

function hash(text: string): number {
  let value = 0;
  for (let i = 0; i < text.length; i++) value = (value * 31 + text.charCodeAt(i)) >>> 0;
  return value;
}

const known = new Map<string, string>();

/** Leaves get their shade by their name, so that it is the same on every page. */
export function colourOf(owner: string): string {
  const found = known.get(owner);
  if (found) return found;
  const group = groupOf(owner);
  const base = HUES[group] ?? MORE[hash(group) % MORE.length];
  let colour = base;
  if (owner !== group) {
    const shade = hcl(base);
    shade.l += [-14, -7, 0, 8, 15][hash(owner) % 5];
    shade.h += [-9, 0, 9][(hash(owner) >>> 3) % 3];
    colour = shade.toString();
  }
  known.set(owner, colour);
  return colour;
}

/** A leaf that is alone has its parent's colour: what is drawn of one is drawn of the other. */
export function learnOwners(owners: string[]): void {
  const leaves = new Map<string, Set<string>>();
  for (const owner of owners) {
    const group = groupOf(owner);
    leaves.set(group, (leaves.get(group) ?? new Set()).add(owner));
  }
  for (const [group, names] of leaves)
    if (names.size === 1) for (const name of names) known.set(name, colourOf(group));
}

// From what stays to what comes and goes: so a stack rests on what does not move.
const STEADY = ["weights", "buffers", "optimizer", "gradients", "kv cache", "inputs", "workspace", "user", "communication"];
const MOVING = ["activations", "logits", "activation gradients", "unknown", OTHER_OWNERS];

function rank(group: string): number {
  const steady = STEADY.indexOf(group), moving = MOVING.indexOf(group);
  return steady >= 0 ? steady : moving >= 0 ? 1000 + moving : 500 + (hash(group) % 100);
}

export function inStackOrder(groups: string[]): string[] {
  return groups.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

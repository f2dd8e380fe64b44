// SPDX-License-Identifier: MIT
// Ranks by owners as a heat map: the cells of the table in the markup (html/rank_rows.c), shaded by
// how far they are from their column's median.
import { el } from "./dom";

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[(sorted.length - 1) >> 1];
}

/** `opener`: what opens the recording of that label; null: the page has it not. */
export function shadeRanks(opener: (label: string) => (() => void) | null): void {
  const cells = [...document.querySelectorAll<HTMLElement>("#ranks td.heat")], columns = new Map<string, number[]>();
  const valueOf = (cell: HTMLElement) => Number(cell.dataset.bytes);
  for (const cell of cells) {
    const name = cell.dataset.column ?? "";
    columns.set(name, [...(columns.get(name) ?? []), valueOf(cell)]);
  }
  const middle = new Map([...columns].map(([name, values]) => [name, median(values)]));
  const off = (cell: HTMLElement) => valueOf(cell) - (middle.get(cell.dataset.column ?? "") ?? 0);
  const most = cells.reduce((all, cell) => Math.max(all, Math.abs(off(cell))), 0);
  for (const cell of cells) {
    const share = most ? off(cell) / most : 0;
    if (Math.abs(share) > 0.003)
      cell.style.background = `color-mix(in srgb, ${share > 0 ? "#d55e00" : "#0072b2"} ${10 + 60 * Math.abs(share)}%, transparent)`;
  }
  for (const row of document.querySelectorAll<HTMLElement>("#ranks tr[data-label]")) {
    const name = row.querySelector(".open"), open = opener(row.dataset.label ?? "");
    if (name && open) name.replaceChildren(el("button", { type: "button", class: "plain", title: "show its views", click: open }, name.textContent));
  }
  if (cells.length)
    document.querySelector("#ranks .note")?.prepend(most ? "Orange is more than the median of its column, blue is less. " : "All ranks are alike. ");
}

// SPDX-License-Identifier: MIT
// From rows of the report to their blocks in the views.
import { el } from "./dom";
import { Moments } from "./moments";
import { change } from "./state";

/** Pins the nearest moment on a device, where the page knows that device. */
export function showAt(moments: Moments, device: number, event: number): void {
  const index = moments.deviceIndex(device);
  if (index >= 0) change({ device: index });
  moments.pinNearest(event);
}

function button(moments: Moments, row: HTMLElement, event: number | null): HTMLElement | null {
  const owner = row.dataset.owner ?? "", search = row.dataset.line ?? "";
  if (!owner && !search) return null;
  return el("button", { type: "button", class: "show", click: () => {
    change({ owner, search });
    if (event !== null) showAt(moments, Number(row.dataset.device), event);
    document.getElementById("pin")?.scrollIntoView();
  } }, "show its blocks");
}

/** Findings are about the moment looked at first, what piles up is alive at the end. */
export function linkRows(moments: Moments, lastEvent: number): void {
  for (const item of document.querySelectorAll<HTMLElement>("#findings li[data-owner]")) {
    const link = button(moments, item, null);
    if (link) item.append(link);
  }
  for (const row of document.querySelectorAll<HTMLElement>("#leaks tr[data-owner]")) {
    const link = button(moments, row, lastEvent);
    if (link) row.lastElementChild?.append(link);
  }
}

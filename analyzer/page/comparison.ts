// SPDX-License-Identifier: MIT
// A page of several recordings: which of them is looked at, what two of them differ in, ranks.
import { ChangesView, Place } from "./changes";
import { Store, load } from "./data";
import { el } from "./dom";
import { MirrorView } from "./mirror";
import { shadeRanks } from "./ranks";
import { Recording } from "./recording";

const MOST_BUTTONS = 16;

interface DiffDevice { id: number; places: Place[]; places_differing: number; places_equal: number; }

export class Comparison {
  current: Recording | null = null;
  private readonly parts: HTMLTemplateElement[];
  private readonly stores = new Map<number, Promise<Store>>();
  private shown = -1;

  private constructor(private readonly data: any) {
    this.parts = [...document.querySelectorAll<HTMLTemplateElement>("template.recording")];
  }

  static async make(): Promise<Comparison> {
    const comparison = new Comparison((await load(document, "script.comparison")).data);
    comparison.makeSwitch();
    shadeRanks((label) => comparison.opener(label));
    await comparison.showPair();
    await comparison.open(Math.max(0, comparison.indexOf(new URLSearchParams(location.hash.slice(1)).get("recording") ?? "")));
    addEventListener("hashchange", () => comparison.followAddress());
    Object.assign((window as any).vtrace ?? Object.assign(window, { vtrace: {} }), { comparison: comparison.data });
    return comparison;
  }

  private labelOf(index: number): string {
    return this.parts[index]?.dataset.label ?? "";
  }

  private indexOf(label: string): number {
    return this.parts.findIndex((part) => part.dataset.label === label);
  }

  /** What opens a recording; null where the page has it not. */
  private opener(label: string): (() => void) | null {
    const index = this.indexOf(label);
    return index < 0 ? null : () => {
      void this.open(index).then(() => document.getElementById("recordings")?.scrollIntoView());
    };
  }

  private store(index: number): Promise<Store> {
    const found = this.stores.get(index) ?? load(this.parts[index].content);
    this.stores.set(index, found);
    return found;
  }

  private makeSwitch(): void {
    const nav = document.getElementById("recordings");
    if (!nav || !this.parts.length) return;
    nav.hidden = false;
    if (this.parts.length > MOST_BUTTONS) {
      const select = el("select", { "aria-label": "Recording", change: () => void this.open(Number(select.value)) });
      this.parts.forEach((_, i) => select.append(el("option", { value: i }, this.labelOf(i))));
      nav.append(el("span", {}, "Views of "), select);
    } else
      nav.append(el("span", {}, "Views of "), el("span", { class: "switch", role: "group", "aria-label": "Recording" },
        ...this.parts.map((_, i) => el("button", { type: "button", "data-index": i, click: () => void this.open(i) }, this.labelOf(i)))));
  }

  private async open(index: number): Promise<void> {
    const part = this.parts[index], root = document.getElementById("recording");
    if (!part || !root || index === this.shown) return;
    const store = await this.store(index);
    const content = part.content.cloneNode(true) as DocumentFragment;
    content.querySelector("script.data")?.remove();
    root.replaceChildren(content);
    this.shown = index;
    this.current = new Recording(store, this.labelOf(index));
    Object.assign((window as any).vtrace, { comparison: this.data });
    for (const button of document.querySelectorAll<HTMLElement>("#recordings button"))
      button.setAttribute("aria-pressed", String(Number(button.dataset.index) === index));
    const select = document.querySelector<HTMLSelectElement>("#recordings select");
    if (select) select.value = String(index);
  }

  private followAddress(): void {
    const label = new URLSearchParams(location.hash.slice(1)).get("recording") ?? "", index = this.indexOf(label);
    if (index >= 0 && index !== this.shown) void this.open(index);
    else this.current?.readAddress(this.labelOf(this.shown));
  }

  /** Both recordings over time, and the places that differ, for each device that both have. */
  private async showPair(): Promise<void> {
    if (!this.data.diff) return;
    const sides = (this.data.pair as [string, string]).map((label) => this.indexOf(label));
    const stores = sides.every((side) => side >= 0) ? await Promise.all(sides.map((side) => this.store(side))) : null;
    for (const root of document.querySelectorAll<HTMLElement>("#pair section.device")) {
      const device = (this.data.diff.devices as DiffDevice[]).find((one) => one.id === Number(root.dataset.device));
      const mirror = root.querySelector(".mirror"), changes = root.querySelector(".changes");
      if (!device || !mirror || !changes) continue;
      if (stores) new MirrorView(mirror, stores, this.data.pair, this.data.pair_devices ?? [device.id, device.id]);
      new ChangesView(changes, device.places, device.places_differing, device.places_equal);
    }
  }
}

// SPDX-License-Identifier: MIT
// Reads the data, makes the views, and offers both to scripts as window.vtrace.
import { Blocks } from "./blocks";
import { learnOwners } from "./colours";
import { Store, load } from "./data";
import { el, section } from "./dom";
import { IcicleView } from "./icicle";
import { LifetimesView } from "./lifetimes";
import { linkRows } from "./links";
import { Moments } from "./moments";
import { OwnersView } from "./owners";
import { PinBar, readAddress } from "./pin";
import { SegmentsView } from "./segments";
import { Series } from "./series";
import { showStages } from "./stages";
import { change, follow, state } from "./state";
import { TimeView } from "./time";

const KEYS = [
  ["Tab", "go from view to view"], ["arrow keys", "move inside of a view"], ["Enter", "pin, zoom or choose what is marked"],
  ["+  −  0", "zoom in time; show all"], ["[  ]", "earlier, later moment"], ["Escape", "back: all frames, all of the time, all owners"],
  ["/", "search frames"], ["?", "this list"],
];

function help(): HTMLDialogElement {
  const dialog = el("dialog", { id: "keys" }, el("h2", {}, "Keys"),
    el("table", {}, ...KEYS.map(([key, what]) => el("tr", {}, el("th", {}, key), el("td", {}, what)))),
    el("button", { type: "button", click: () => dialog.close() }, "Close"));
  document.body.append(dialog);
  return dialog;
}

function listenToKeys(moments: Moments): void {
  const dialog = help();
  document.querySelector("header")?.append(
    el("button", { type: "button", id: "help", title: "keys", click: () => dialog.showModal() }, "?"));
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "?") dialog.showModal();
    else if (event.key === "[") moments.step(-1);
    else if (event.key === "]") moments.step(1);
    else if (event.key === "Escape" && !dialog.open) change({ owner: "", search: "", zoom: null });
    else if (event.key === "/") {
      document.querySelector<HTMLInputElement>("#stacks input")?.focus();
      event.preventDefault();
    }
  });
}

function start(store: Store): void {
  const moments = new Moments(store), devices = store.data.series.devices;
  const blocks = new Blocks(store, moments);
  learnOwners(devices.flatMap((device) => device.owners.filter((owner): owner is string => owner !== null)));
  if (devices.length) {
    const series = new Map<number, Series>();
    const seriesOf = (i: number) => {
      const found = series.get(i) ?? new Series(store, i);
      series.set(i, found);
      return found;
    };
    readAddress(store, moments);
    new PinBar(store, moments, section("time"));
    const time = new TimeView(store, seriesOf(state.device), moments);
    new OwnersView(moments);
    new IcicleView(blocks, moments);
    new SegmentsView(blocks, moments);
    const lifetimes = new LifetimesView(blocks, moments, seriesOf(state.device));
    follow((_, changed) => {
      if (!changed.has("device")) return;
      time.setSeries(seriesOf(state.device));
      lifetimes.setSeries(seriesOf(state.device));
    });
    showStages(store, moments);
    listenToKeys(moments);
    linkRows(moments, store.data.series.last_event);
    addEventListener("hashchange", () => readAddress(store, moments));
  }
  Object.assign(window, { vtrace: { data: store.data, report: store.data.report, state, change, moments, blocks, store } });
  document.documentElement.dataset.ready = "yes";
}

load(document).then(start).catch((error) => {
  document.documentElement.dataset.ready = "failed";
  const note = document.createElement("p");
  note.className = "warn";
  note.textContent = `The drawings could not be made: ${error}. They need a browser of 2023 or later.`;
  document.querySelector("main")?.prepend(note);
  console.error(error);
});

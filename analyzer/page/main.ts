// SPDX-License-Identifier: MIT
// Makes the views of the one recording, or of several, and listens to keys.
import { Comparison } from "./comparison";
import { load } from "./data";
import { el } from "./dom";
import { Recording } from "./recording";
import { change } from "./state";

const KEYS = [
  ["Tab", "move between views"], ["arrow keys", "move inside a view"], ["Enter", "pin, zoom or select the marked item"],
  ["+  −  0", "zoom in time; show all"], ["[  ]", "earlier, later moment"], ["Escape", "reset frame, time and owner selection"],
  ["/", "search frames"], ["?", "this list"],
];

function help(): HTMLDialogElement {
  const dialog = el("dialog", { id: "keys" }, el("h2", {}, "Keys"),
    el("table", {}, ...KEYS.map(([key, what]) => el("tr", {}, el("th", {}, key), el("td", {}, what)))),
    el("button", { type: "button", click: () => dialog.close() }, "Close"));
  document.body.append(dialog);
  return dialog;
}

function listenToKeys(current: () => Recording | null): void {
  const dialog = help();
  document.querySelector("header")?.append(
    el("button", { type: "button", id: "help", title: "keys", click: () => dialog.showModal() }, "?"));
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "?") dialog.showModal();
    else if (event.key === "[") current()?.moments.step(-1);
    else if (event.key === "]") current()?.moments.step(1);
    else if (event.key === "Escape" && !dialog.open) change({ owner: "", search: "", zoom: null });
    else if (event.key === "/") {
      document.querySelector<HTMLInputElement>("#stacks input")?.focus();
      event.preventDefault();
    }
  });
}

async function start(): Promise<void> {
  if (document.querySelector("script.comparison")) {
    const comparison = await Comparison.make();
    listenToKeys(() => comparison.current);
  } else {
    const recording = new Recording(await load(document));
    listenToKeys(() => recording);
    addEventListener("hashchange", () => recording.readAddress(""));
  }
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  document.documentElement.dataset.ready = "failed";
  document.querySelector("main")?.prepend(
    el("p", { class: "warn" }, `The charts could not be drawn: ${error}. They need a browser of 2023 or later.`));
  console.error(error);
});

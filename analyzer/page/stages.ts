// SPDX-License-Identifier: MIT
// Stages and steps: a click looks at that stretch of time and pins its end, or a step's highest
// instant. The table itself is in the markup (html/stage_rows.c).
import { Span, Store } from "./data";
import { el } from "./dom";
import { bytes, count, signedBytes } from "./format";
import { showAt } from "./links";
import { Moments } from "./moments";
import { change } from "./state";

const MOST_STEPS = 200;

interface Step { index: number; device: number; peak_bytes: number; end_bytes: number; }

/** The highest of every so many steps, so that they have room. */
function thin(steps: Step[]): { shown: Step[]; each: number } {
  const each = Math.ceil(steps.length / MOST_STEPS), shown: Step[] = [];
  for (let i = 0; i < steps.length; i += each)
    shown.push(steps.slice(i, i + each).reduce((best, step) => (step.peak_bytes > best.peak_bytes ? step : best)));
  return { shown, each };
}

function stretch(spans: Span[]): [number, number] | null {
  return spans.length ? [spans[0].first_event, spans[spans.length - 1].last_event + 1] : null;
}

function linkStages(store: Store, moments: Moments): void {
  for (const row of document.querySelectorAll<HTMLElement>("#stages tr[data-stage]")) {
    const name = row.dataset.stage, spans = store.data.spans.filter((span) => span.stage === name);
    const title = row.querySelector("th");
    if (!name || !spans.length || !title) continue;
    title.replaceChildren(el("button", { type: "button", class: "plain", title: "zoom to it and pin its end", click: () => {
      change({ zoom: stretch(spans) });
      showAt(moments, Number(row.dataset.device), spans[spans.length - 1].last_event);
      document.getElementById("time")?.scrollIntoView();
    } }, name));
  }
}

export function showStages(store: Store, moments: Moments): void {
  const { steps } = store.data.report, root = document.getElementById("stages");
  if (!root) return;
  linkStages(store, moments);
  if (!steps.length) return;
  const { shown, each } = thin(steps), most = shown.reduce((all, step) => Math.max(all, step.peak_bytes), 0);
  root.append(el("div", { class: shown.length > 40 ? "steps many" : "steps", role: "group", "aria-label": "Steps" }, ...shown.map((step, i) => {
    const bar = el("span", {}), before = shown[i - 1];
    bar.style.height = `${(100 * step.peak_bytes) / (most || 1)}%`;
    return el("button", { type: "button", class: "step", click: () => {
      const zoom = stretch(store.data.spans.filter((span) => span.step === step.index));
      change({ zoom });
      if (zoom) showAt(moments, step.device, (zoom[0] + zoom[1]) / 2);
    }, title: `step ${step.index}: peak ${bytes(step.peak_bytes)}, at its end ${bytes(step.end_bytes)}` +
        (before && before.device === step.device ? ` (${signedBytes(step.end_bytes - before.end_bytes)})` : "") },
      bar, el("span", { class: "number" }, String(step.index)));
  })));
  root.append(el("p", { class: "note" }, `Peak of each step; the highest is ${bytes(most)}.` +
    (each > 1 ? ` A bar is the highest of ${count(each)} steps.` : "")));
}

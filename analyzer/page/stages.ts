// SPDX-License-Identifier: MIT
// Stages and steps as the report has them; a click looks at that stretch of time.
import { Store } from "./data";
import { el, section, swatch } from "./dom";
import { colourOf } from "./colours";
import { bytes, count, signedBytes } from "./format";
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

function zoomTo(store: Store, holds: (span: { stage: string; step: number }) => boolean): void {
  const spans = store.data.spans.filter(holds);
  if (spans.length) change({ zoom: [spans[0].first_event, spans[spans.length - 1].last_event + 1] });
}

function table(head: string[], rows: Node[][]): HTMLElement {
  return el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, ...head.map((word, i) =>
      el("th", { scope: "col", class: i && i < head.length - 1 ? "n" : "" }, word)))),
    el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells))));
}

export function showStages(store: Store): void {
  const report = store.data.report, devices = report.devices.length;
  const root = section("stages");
  root.hidden = !report.stages.length && !report.steps.length;
  if (root.hidden) return;
  root.replaceChildren(el("h2", {}, "Stages and steps"));
  if (report.stages.length)
    root.append(table(["stage", ...(devices > 1 ? ["device"] : []), "allocated peak", "allocated after", "largest owners after"],
      report.stages.map((stage: any) => {
        const owners = Object.entries(stage.by_owner as Record<string, number>).sort((a, b) => b[1] - a[1]).slice(0, 3);
        return [
          el("th", { scope: "row" }, el("button", { type: "button", class: "plain", title: "look at it",
                                                    click: () => zoomTo(store, (span) => span.stage === stage.name) }, stage.name)),
          ...(devices > 1 ? [el("td", { class: "n" }, `cuda:${stage.device}`)] : []),
          el("td", { class: "n" }, bytes(stage.peak_bytes)), el("td", { class: "n" }, bytes(stage.allocated_after_bytes)),
          el("td", {}, ...owners.map(([owner, value]) => el("span", { class: "chip" }, swatch(colourOf(owner)), `${owner} ${bytes(value)}`))),
        ];
      })));
  if (!report.steps.length) return;
  const { shown, each } = thin(report.steps), most = shown.reduce((all, step) => Math.max(all, step.peak_bytes), 0);
  root.append(el("div", { class: shown.length > 40 ? "steps many" : "steps", role: "group", "aria-label": "Steps" }, ...shown.map((step, i) => {
    const bar = el("span", {}), before = shown[i - 1];
    bar.style.height = `${(100 * step.peak_bytes) / (most || 1)}%`;
    return el("button", { type: "button", class: "step", click: () => zoomTo(store, (span) => span.step === step.index),
      title: `step ${step.index}: at most ${bytes(step.peak_bytes)}, at its end ${bytes(step.end_bytes)}` +
        (before && before.device === step.device ? ` (${signedBytes(step.end_bytes - before.end_bytes)})` : "") },
      bar, el("span", { class: "number" }, String(step.index)));
  })));
  root.append(el("p", { class: "note" }, `Peak of each step; the highest is ${bytes(most)}.` +
    (each > 1 ? ` A bar is the highest of ${count(each)} steps.` : "")));
}

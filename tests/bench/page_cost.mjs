// SPDX-License-Identifier: MIT
// Opens a page, zooms and points on it, and prints how long that took, as JSON.
//
//   node page_cost.mjs PLAYWRIGHT BROWSER < {"url", "ready": JS, "wheel": SELECTOR}
//
// first_paint_ms and ready_ms since navigation began; of frames the longest, by the clock (between
// two calls of requestAnimationFrame) and in processor time of the page's main thread (from a
// trace); null where the page did not become ready.  With "wheel" the page is another program's, and
// its zoom the wheel above that element.
import fs from "node:fs";
import { createRequire } from "node:module";

const [, , playwright, executablePath] = process.argv;
const { chromium } = createRequire(playwright + "/")("playwright-core");
const wanted = JSON.parse(fs.readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
const errors = [];
page.on("pageerror", (error) => errors.push(String(error)));
await page.goto(wanted.url, { waitUntil: "commit", timeout: 0 });
const ready = await page.waitForFunction(`(${wanted.ready}) ? performance.now() : 0`, null, { timeout: 300_000, polling: 5 })
  .then((handle) => handle.jsonValue(), () => null);
const paint = await page.evaluate(() => performance.getEntriesByType("paint").map((one) => one.startTime)[0] ?? null);

/** Zooms step by step into the pinned moment and out again, then points along the chart. */
const zoom = () => new Promise((done) => {
  const { vtrace } = window, last = vtrace.data.series.last_event + 1, at = vtrace.moments.current().event;
  const canvas = document.querySelector("#time canvas.over"), box = canvas.getBoundingClientRect();
  const steps = [];
  for (let i = 0; i <= 30; i++) {
    const length = Math.max(8, last * 0.75 ** i), first = Math.max(0, Math.floor(at - length / 2));
    const end = Math.min(last, Math.ceil(first + length));
    steps.push(() => vtrace.change({ zoom: [first, end] }));
  }
  steps.push(...steps.slice().reverse());
  for (let i = 0; i < 30; i++)
    steps.push(() => canvas.dispatchEvent(new PointerEvent("pointermove", {
      clientX: box.left + 80 + (i * (box.width - 120)) / 30, clientY: box.top + 150 })));
  const frames = [];
  let before = 0, next = 0;
  const frame = (now) => {
    if (before) frames.push(now - before);
    before = now;
    if (next === steps.length) return done(frames);
    steps[next++]();
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
});

/** The same by the wheel, which any drawing with D3's zoom follows. */
const wheel = (selector) => new Promise((done) => {
  const box = document.querySelector(selector).getBoundingClientRect(), frames = [];
  const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
  const target = document.elementFromPoint(at.clientX, at.clientY);
  let before = 0, next = 0;
  const frame = (now) => {
    if (before) frames.push(now - before);
    before = now;
    if (next === 62) return done(frames);
    target.dispatchEvent(new WheelEvent("wheel", { deltaY: next++ < 31 ? -100 : 100, bubbles: true, cancelable: true, ...at }));
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
});

let frames = null, task = null;
if (ready) {
  await page.evaluate(() => new Promise((done) => setTimeout(done, 1000)));
  const trace = await browser.newBrowserCDPSession(), events = [];
  trace.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const ended = new Promise((done) => trace.on("Tracing.tracingComplete", done));
  await trace.send("Tracing.start", { categories: "toplevel,disabled-by-default-devtools.timeline", transferMode: "ReportEvents" });
  frames = wanted.wheel ? await page.evaluate(wheel, wanted.wheel) : await page.evaluate(zoom);
  await trace.send("Tracing.end");
  await ended;
  const main = events.filter((one) => one.name === "thread_name" && one.args.name === "CrRendererMain").map((one) => one.tid + "." + one.pid);
  task = Math.max(...events.filter((one) => main.includes(one.tid + "." + one.pid) && one.tdur).map((one) => one.tdur / 1000));
}
const sorted = frames && [...frames].sort((a, b) => a - b);
console.log(JSON.stringify({
  first_paint_ms: paint, ready_ms: ready, errors,
  longest_frame_ms: sorted && sorted[sorted.length - 1], median_frame_ms: sorted && sorted[sorted.length >> 1],
  longest_task_cpu_ms: task,
}));
await browser.close();

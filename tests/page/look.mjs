// SPDX-License-Identifier: MIT
// Opens a page in a browser, does what standard input says, and prints what came of it as JSON.
//
//   node look.mjs PLAYWRIGHT BROWSER < {"url", "width", "dark", "script", "steps": [[verb, ...], ...]}
//
// Verbs: read JS, press KEY, click SELECTOR, type SELECTOR TEXT, move, point, double SELECTOR X Y,
// drag SELECTOR X Y X Y, shot FILE.
// "results" has one entry per step, "requests" and "errors" must be empty.
import fs from "node:fs";
import { createRequire } from "node:module";

const [, , playwright, executablePath] = process.argv;
const { chromium } = createRequire(playwright + "/")("playwright-core");
const wanted = JSON.parse(fs.readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({
  viewport: { width: wanted.width ?? 1280, height: 900 }, colorScheme: wanted.dark ? "dark" : "light",
  javaScriptEnabled: wanted.script !== false,
});
// As every limit of time in the tests: for what hangs, not for what a busy machine delays.
page.setDefaultTimeout(3600_000);
const requests = [], errors = [], results = [];
page.on("request", (request) => { if (request.url() !== wanted.url.split("#")[0]) requests.push(request.url()); });
page.on("console", (message) => { if (["error", "warning"].includes(message.type())) errors.push(message.text()); });
page.on("pageerror", (error) => errors.push(String(error)));
page.on("dialog", (dialog) => { errors.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
await page.goto(wanted.url);
if (wanted.script !== false)
  await page.waitForFunction(() => document.documentElement.dataset.ready);

// All that was asked for is drawn.
const settle = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

const verbs = {
  read: (text) => page.evaluate(text),
  press: (key) => page.keyboard.press(key),
  click: (selector) => page.click(selector),
  type: (selector, text) => page.fill(selector, text),
  shot: (path) => page.screenshot({ path, fullPage: true }),
  async move(selector, x, y) {
    await page.locator(selector).scrollIntoViewIfNeeded();
    const box = await page.locator(selector).boundingBox();
    await page.mouse.move(box.x + x * box.width, box.y + y * box.height);
  },
  async drag(selector, x, y, toX, toY) {
    await verbs.move(selector, x, y);
    await page.mouse.down();
    await verbs.move(selector, (x + toX) / 2, (y + toY) / 2);
    await verbs.move(selector, toX, toY);
    await page.mouse.up();
  },
  async double(selector, x, y) {
    await verbs.move(selector, x, y);
    const box = await page.locator(selector).boundingBox();
    await page.mouse.dblclick(box.x + x * box.width, box.y + y * box.height);
  },
  async point(selector, x, y) {
    await verbs.move(selector, x, y);
    await page.mouse.down();
    await page.mouse.up();
  },
};

for (const [verb, ...values] of wanted.steps) {
  results.push((await verbs[verb](...values)) ?? null);
  if (wanted.script !== false) await settle();
}
await browser.close();
console.log(JSON.stringify({ results, requests, errors }));

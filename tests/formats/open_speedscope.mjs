// SPDX-License-Identifier: MIT
// Opens a file in speedscope and prints what speedscope itself exports of it again.
//
//   node open_speedscope.mjs PLAYWRIGHT BROWSER SPEEDSCOPE FILE
//
// The first two as of tests/page/look.mjs, SPEEDSCOPE the folder of its npm package.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const [, , playwright, executablePath, speedscope, file] = process.argv;
const { chromium } = createRequire(playwright + "/")("playwright-core");
const browser = await chromium.launch({ executablePath,
	args: ["--no-sandbox", "--enable-unsafe-swiftshader"] });
const page = await (await browser.newContext({ acceptDownloads: true })).newPage();
const errors = [];

page.setDefaultTimeout(300_000);
page.on("pageerror", (error) => errors.push(String(error)));
page.on("dialog", (dialog) => {
	errors.push(dialog.message());
	dialog.dismiss();
});

// As its command line does: a script beside the file that hands it to the page.
const data = fs.readFileSync(file).toString("base64");
const script = `${path.resolve(file)}.js`;
fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))}, "${data}")`);
await page.goto(`file://${path.join(speedscope, "dist/release/index.html")}#localProfilePath=${script}`);
await page.waitForFunction(() => document.body.innerText.includes("Left Heavy"));

const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Control+s")]);
const exported = JSON.parse(fs.readFileSync(await download.path(), "utf8"));
console.log(JSON.stringify({ errors, exported, title: await page.title() }));
await browser.close();

// How long report.html takes to open, search and unfold: `npm run build && node bench/page.mjs [--trials 10000] [--screenshot FILE]`.
// Opens a made-up run in Chromium (`CHROMIUM`, or chromium on the path), five times. An empty page is measured beside it.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { PageTrialCollector } from "../build/evals/experiments/run/report/pageTrials.js";
import { runPage } from "../build/evals/experiments/run/report/runPage.js";
import { summariser } from "../build/evals/experiments/run/summary.js";
import { renderPage } from "../build/evals/reports/html.js";
import { scratch } from "./harness.mjs";
import { makeRecord } from "./pageRecord.mjs";

const { values } = parseArgs({
  options: { trials: { type: "string", default: "10000" }, screenshot: { type: "string" } },
});

const { manifest, trials } = makeRecord(Number(values.trials));
const results = summariser(manifest, "reports/made-up");
for (const trial of trials) results.add(trial);
const startedAt = performance.now();
const collector = new PageTrialCollector(manifest);
for (const trial of trials) collector.add(trial);
const html = renderPage(runPage({ summary: results.summary(), manifest }, collector));
const written = performance.now() - startedAt;

const files = { page: join(scratch, "report.html"), empty: join(scratch, "empty.html") };
writeFileSync(files.page, html);
writeFileSync(files.empty, "<!doctype html><title>empty</title><script>performance.mark('drawn')</script>");

const executablePath = process.env.CHROMIUM ?? execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

/** Milliseconds from the start of loading a file until it is drawn. */
async function open(file) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const before = performance.now();
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => performance.getEntriesByName("drawn").length > 0);
  return { page, wall: performance.now() - before };
}

const [opened, empty, searched] = [[], [], []];
for (let repetition = 0; repetition < 5; repetition++) {
  const bare = await open(files.empty);
  empty.push(bare.wall);
  await bare.page.close();
  const { page, wall } = await open(files.page);
  opened.push(wall);
  searched.push(
    await page.evaluate(async () => {
      const input = document.querySelector("input[type=search]");
      const from = performance.now();
      input.value = "invoice wrong-tool";
      input.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      return performance.now() - from;
    }),
  );
  if (values.screenshot && repetition === 0) await page.screenshot({ path: values.screenshot });
  await page.close();
}
await browser.close();

const [page, bare] = [median(opened), median(empty)];
console.log(
  `${trials.length} trials: report.html has ${(html.length / 1e6).toFixed(1)} MB, made in ${written.toFixed(0)} ms`,
);
console.log(
  `opened in ${page.toFixed(0)} ms, an empty page in ${bare.toFixed(0)} ms (ratio ${(page / bare).toFixed(1)})`,
);
console.log(`searched in ${median(searched).toFixed(0)} ms`);

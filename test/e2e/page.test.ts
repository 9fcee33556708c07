import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { RunManifest, RunSummary } from "../../src/evals/base/types/run.ts";
import type { Trial } from "../../src/evals/base/types/trial.ts";
import { intervalPlot, intervalRow } from "../../src/evals/experiments/results/figures.ts";
import { forms, runReport } from "../../src/evals/experiments/run/report/forms.ts";
import { blocksPage, PageTrialCollector, toPage } from "../../src/evals/experiments/run/report/page.ts";
import { summarizer } from "../../src/evals/experiments/run/summary.ts";
import { heading, makeColumns, table } from "../../src/evals/reports/document.ts";
import { renderPage } from "../../src/evals/reports/html.ts";
import { makeFolder } from "../fakes/folder.ts";
import { checked } from "../reports/checks.ts";
import { hostile, hostileManifest, nasty, manifest as sampleManifest, skills } from "../reports/samples.ts";
import { needsBrowser, openPage } from "./browser.ts";

const { makeRecord } = (await import(join(import.meta.dirname, "../fixtures/pageRecord.mjs"))) as {
  makeRecord(count: number): { manifest: RunManifest; trials: Trial[] };
};

const dir = makeFolder();
const browser = needsBrowser();

function write(name: string, summary: RunSummary, manifest: RunManifest, trials: readonly Trial[] = []): string {
  const collector = new PageTrialCollector(manifest);
  for (const trial of trials) collector.add(trial);
  const file = join(dir, `${name}.html`);
  writeFileSync(file, forms.html.render(runReport({ summary, manifest, trials: collector })));
  return pathToFileURL(file).href;
}

/** Writes a page of these blocks. */
function writeBlocks(...blocks: Parameters<typeof blocksPage>[0]): string {
  const file = join(dir, "blocks.html");
  writeFileSync(file, [...renderPage(toPage(blocksPage([heading(1, "ADOPT clear"), ...blocks])))].join(""));
  return pathToFileURL(file).href;
}

/** The page of trials, with the summary of them. */
function writeTrials(name: string, manifest: RunManifest, trials: readonly Trial[]): string {
  const results = summarizer(manifest, "reports/made-up");
  for (const trial of trials) results.add(trial);
  return write(name, results.summary(), manifest, trials);
}

let run: string | undefined;
/** A run of 1,200 trials: 30 cases, two models, before and after a change. */
function writeRun(): string {
  if (run !== undefined) return run;
  const { manifest, trials } = makeRecord(1200);
  run = writeTrials("run", manifest, trials);
  return run;
}

// The page redraws some time after an action, so expectations are polled.
const focused = (page: Page) => expect.poll(() => page.evaluate("document.activeElement.className"));
const status = (page: Page) => expect.poll(() => page.getByRole("status").innerText());
const selected = (page: Page) => page.locator(".row[aria-selected=true]").innerText();

/** Opens the first trial of the first case. */
async function openFirstTrial(page: Page): Promise<void> {
  await page.locator(".row.case").first().click();
  await page.locator(".row.trial").first().click();
  await page.locator(".pane.open h3", { hasText: /trial \d/ }).waitFor();
}

describe("a run", () => {
  it("lists cases that did not pass first, each in a row of at most 80 pixels", async () => {
    const { page, faults } = await openPage(browser, writeRun());
    await status(page).toBe("60 cases, 1,200 of 1,200 trials.");
    const rows = page.locator(".row.case");
    await rows.first().waitFor();
    const heights = await rows.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    expect(Math.max(...heights)).toBeLessThanOrEqual(80);
    // Only visible rows are in the DOM.
    expect(heights.length).toBeLessThan(40);
    expect(await rows.first().getByRole("img").getAttribute("aria-label")).toBe("failed");
    await page.locator(".list").evaluate((list) => list.scrollTo(0, list.scrollHeight));
    const last = page.locator(".row[aria-rowindex='60']");
    expect(await last.getByRole("img").getAttribute("aria-label")).toBe("passed");
    expect(faults).toEqual([]);
  });

  it("names in the row of a case the outcomes with the tools of now, not those with the baseline's", async () => {
    const { trials } = makeRecord(1200);
    const model = "openai:gpt-6-mini";
    const failing = (arm: string) =>
      new Set(
        trials
          .filter((one) => one.cell.model === model && one.cell.arm === arm && one.verdict?.grade !== "pass")
          .map((one) => one.cell.case),
      );
    const [fixed = ""] = [...failing("base")].filter((id) => !failing("head").has(id));
    const { page } = await openPage(browser, writeRun());
    await page.getByLabel("Case", { exact: true }).selectOption(fixed);
    const row = page.locator(".row.case", { hasText: model });
    await expect.poll(() => row.count()).toBe(1);
    expect(await row.locator(".outcomes > span").innerText()).toBe("");
  });

  it("opens the sample of the documentation, with commands as code", async () => {
    const sample = pathToFileURL(join(import.meta.dirname, "../../docs/sample/report.html")).href;
    const { page, faults } = await openPage(browser, sample);
    await status(page).toBe("5 cases, 5 of 5 trials.");
    const commands = await page.locator("p code").allInnerTexts();
    expect(commands).toContain("evals run -m anthropic:claude-haiku-5-5");
    expect(faults).toEqual([]);
  });

  it("filters by outcome, tool, model and words together, and counts the matches", async () => {
    const { page } = await openPage(browser, writeRun());
    const search = page.getByRole("searchbox");
    const count = async () =>
      Number(/([\d,]+) of/.exec(await page.getByRole("status").innerText())?.[1]?.replace(",", ""));
    const choose = (label: string, value: string) => page.getByLabel(label, { exact: true }).selectOption(value);
    let left = 1200;
    for (const narrow of [
      () => choose("Outcome", "wrong-tool"),
      () => choose("Model", "openai:gpt-6-mini"),
      () => choose("Tool picked", "read_file"),
      () => search.fill("invoice branch"),
    ]) {
      await expect.poll(count).toBe(left);
      await narrow();
      await expect.poll(count).toBeLessThan(left);
      left = await count();
    }
    expect(left).toBeGreaterThan(0);
    await search.fill("no such words");
    await status(page).toMatch(/^0 cases, 0 of/);
    await page.getByText("No trial matches.").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await expect.poll(count).toBe(1200);
  });

  it("filters by a cell of the confusion table", async () => {
    const { page } = await openPage(browser, writeRun());
    const cell = page.getByRole("button", { name: /^write_file, \(none\): / }).first();
    const counted = Number(/: (\d+)/.exec((await cell.getAttribute("aria-label")) ?? "")?.[1]);
    await cell.click();
    await page.getByLabel("Model", { exact: true }).selectOption("anthropic:claude-haiku-5-5");
    await page.getByLabel("Arm", { exact: true }).selectOption("head");
    await status(page).toContain(` ${counted} of 1,200 trials`);
  });

  it("shows the transcript of a trial: query, text, call, difference from a passed trial, result, order of tools", async () => {
    const { page } = await openPage(browser, writeRun());
    await page.getByLabel("Outcome", { exact: true }).selectOption("wrong-arguments");
    await status(page).toMatch(/^\d+ cases, \d{1,3} of 1,200/);
    await openFirstTrial(page);
    const pane = page.getByRole("complementary", { name: "Transcript" });
    const text = await pane.innerText();
    for (const part of [
      ...["wrong-arguments", "Not met", 'expected "notes.txt"', "Called", "Result", "tokens in", "Arguments of trial"],
    ])
      expect(text).toContain(part);
    expect(await pane.locator("del").count()).toBeGreaterThan(0);
    expect(await pane.locator("ins").count()).toBeGreaterThan(0);
    await pane.getByText("Tools in the order shown (7)").click();
    await pane.locator(".tools li").first().waitFor();
    expect(await pane.locator(".tools li").count()).toBe(7);
  });

  it("shows the inner call of one through a dispatcher", async () => {
    const { manifest, trials } = makeRecord(20);
    const inner = { tool: "behind", arguments: { organization: "acme" } };
    for (const call of trials.flatMap(({ turns }) => turns.flatMap(({ calls }) => calls)))
      Object.assign(call, { inner });
    const { page } = await openPage(browser, writeTrials("dispatched", manifest, trials));
    await page.getByLabel("Outcome", { exact: true }).selectOption("right-tool");
    await openFirstTrial(page);
    const text = await page.getByRole("complementary", { name: "Transcript" }).innerText();
    expect(text).toMatch(/Inner call behind\s+\{\s+"organization": "acme"\s+\}/);
  });

  it("can be used by keyboard alone", async () => {
    const { page } = await openPage(browser, writeRun());
    const isExpanded = () => page.locator(".row[aria-selected=true]").getAttribute("aria-expanded");
    const trials = () => page.locator(".row.trial").count();
    await page.keyboard.press("/");
    await page.keyboard.type("invoice wrong-tool");
    await expect.poll(() => page.getByRole("searchbox").inputValue()).toBe("invoice wrong-tool");
    await status(page).not.toContain("1,200 of 1,200");
    await page.keyboard.press("Escape");
    await focused(page).toBe("list");
    await page.keyboard.press("ArrowDown");
    const first = await selected(page);
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => selected(page)).not.toBe(first);
    await page.keyboard.press("ArrowUp");
    await expect.poll(() => selected(page)).toBe(first);
    await page.keyboard.press("Enter");
    await expect.poll(isExpanded).toBe("true");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => selected(page)).toMatch(/^.?\s*Trial \d/);
    await page.keyboard.press("Enter");
    await focused(page).toBe("pane open");
    await page.keyboard.press("Escape");
    await focused(page).toBe("list");
    expect(await trials()).toBeGreaterThan(0);
    await page.keyboard.press("ArrowLeft");
    await expect.poll(isExpanded).toBe("true");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(trials).toBe(0);
    // The active descendant must be in the DOM for screen readers.
    await page.keyboard.press("End");
    await page.waitForFunction(
      'document.getElementById(document.querySelector(".list").getAttribute("aria-activedescendant"))',
    );
  });

  it("fits a phone, where an open trial covers the list", async () => {
    const { page } = await openPage(browser, writeRun(), { viewport: { width: 390, height: 844 } });
    const pane = page.locator(".pane");
    await page.locator(".row.case").first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await pane.waitFor({ state: "hidden" });
    await openFirstTrial(page);
    await page.getByRole("button", { name: "Back to the list" }).click();
    await pane.waitFor({ state: "hidden" });
    const height = await page
      .locator(".row.case")
      .first()
      .evaluate((row) => row.getBoundingClientRect().height);
    expect(height).toBeLessThanOrEqual(80);
    // A name in the matrix is broken at its hyphens at most; the table scrolls.
    const lines = await page
      .locator("table.grid tbody th code")
      .evaluateAll((all) => all.map((one) => one.getClientRects().length));
    expect(Math.max(...lines)).toBeLessThanOrEqual(3);
    const intervals = page.locator("table.intervals tr");
    expect(await intervals.count()).toBeGreaterThan(0);
    const rows = await intervals.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    expect(Math.max(...rows)).toBeLessThanOrEqual(100);
  });

  it("prints what is folded, without the list", async () => {
    const { page } = await openPage(browser, writeRun());
    await page.emulateMedia({ media: "print" });
    await page.locator("#trials").waitFor({ state: "hidden" });
    const folded = page.locator("details:not([open]) > :not(summary)");
    expect(await folded.count()).toBeGreaterThan(0);
    // Hidden text is none of the text that is rendered.
    for (const one of await folded.all()) expect(await one.innerText()).not.toBe("");
    const marker = "getComputedStyle(document.querySelector('summary')).listStyleType";
    expect(await page.evaluate(marker)).toBe("none");
    const pdf = await page.pdf();
    expect(pdf.subarray(0, 4).toString()).toBe("%PDF");
  });
});

describe("an interval plot", () => {
  const plot = intervalPlot(
    "Pass rate of each wording",
    ["passed"],
    [intervalRow("incumbent", [{ passed: 2, trials: 8 }]), intervalRow("clear", [{ passed: 8, trials: 8 }])],
  );

  it.each([1280, 390])(
    "names its axis and the ends of it, below the lines of the rows, %i pixels wide",
    async (width) => {
      const viewport = { width, height: 800 };
      const { page, faults } = await openPage(browser, writeBlocks(...plot), { viewport });
      const labels = page.locator("table.intervals tfoot text");
      expect(await labels.allTextContents()).toEqual(["0%", "50%", "100%", "Pass rate"]);
      const middles = (selector: string) =>
        page.locator(selector).evaluateAll((all) =>
          all.map((one) => {
            const { x, width: wide } = one.getBoundingClientRect();
            return Math.round(x + wide / 2);
          }),
        );
      const ticks = (await middles("table.intervals tfoot text")).slice(0, 3);
      expect(await middles("table.intervals tbody tr:first-child line.grid")).toEqual(ticks);
      const cut = await labels.evaluateAll((all) =>
        all.filter((one) => {
          const [inner, outer] = [one.getBoundingClientRect(), one.closest("svg")?.getBoundingClientRect()];
          return !outer || inner.left < outer.left || inner.right > outer.right;
        }),
      );
      expect(cut).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      expect(faults).toEqual([]);
    },
  );
});

it("keeps names of a wide table in one piece on a phone", async () => {
  const columns = makeColumns(["name", "wording"], ["figure", "screening", "mean of the gain test", "prompt tokens"]);
  const wide = table("wording", columns, [["incumbent", "75% (round 1)", "98%", "1,024 (+31)"]]);
  const { page } = await openPage(browser, writeBlocks(wide), { viewport: { width: 390, height: 800 } });
  const name = page.locator("td code");
  expect(await name.evaluate((one) => one.getClientRects().length)).toBe(1);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
});

describe("every page", () => {
  it.each(["light", "dark"] as const)("has no serious axe violation, %s", async (colorScheme) => {
    // axe is injected, which the content security policy would block.
    const run = writeRun();
    const pages = [run, write("regressed", checked.regressed, sampleManifest), write("skills", skills, sampleManifest)];
    for (const url of pages) {
      const { page } = await openPage(browser, url, { colorScheme, bypassCSP: true });
      if (url === run) await openFirstTrial(page);
      for (const folded of await page.locator("details > summary").all()) await folded.click();
      await page.addScriptTag({ content: axe.source });
      const { violations } = await page.evaluate<axe.AxeResults>("axe.run(document)");
      const found = violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
      expect(found.filter((one) => /^(serious|critical)/.test(one))).toEqual([]);
    }
  });

  it("makes no request, and its policy allows none", async () => {
    const url = writeRun();
    const { page, faults, requests } = await openPage(browser, url);
    await openFirstTrial(page);
    expect(requests).toEqual([url]);
    expect(faults).toEqual([]);
    const blocked = await page.evaluate(`(async () => {
      const refused = new Promise((resolve) => document.addEventListener("securitypolicyviolation", resolve, { once: true }));
      document.body.append(Object.assign(document.createElement("img"), { src: "https://example.com/x.png" }));
      await refused;
      return await fetch("https://example.com").then(() => "reached", () => "refused");
    })()`);
    expect(blocked).toBe("refused");
    expect(requests).toEqual([url]);
  });

  it("shows hostile text as text: without scripts, hidden characters or links", async () => {
    const cell = { suite: nasty, case: nasty, arm: nasty, model: nasty, trial: 1 };
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const result = { isError: true, content: [{ type: "text", text: nasty }] };
    const execution = { status: "executed" as const, ms: 1, result };
    const call = { id: nasty, tool: nasty, arguments: { [nasty]: nasty }, execution };
    const searches = [{ query: nasty, found: [nasty] }];
    const trial: Trial = {
      ...{ cell, toolset: nasty, orderSeed: 1, outcome: { kind: "answered" } },
      turns: [{ text: nasty, calls: [call], searches, stop: "calls", usage, ms: 1 }],
      verdict: {
        ...{ grade: "fail", selection: "wrong-tool", expected: nasty, picked: nasty },
        ...{ checks: [{ what: nasty, met: "no", why: nasty, evidence: nasty }], unchecked: [nasty] },
      },
      ...{ costUsd: "unknown", startedAt: nasty, ms: 1 },
    };
    const location = {
      ...{ hash: nasty, expectedTools: [nasty], file: nasty, line: 1 },
      ...{ trials: 1, passRate: 1, maxTurns: 1 },
    };
    const manifest: RunManifest = {
      ...hostileManifest,
      suites: [
        {
          ...{ name: nasty, file: nasty, hash: nasty, execute: "read-only", isolate: "run" },
          cases: [{ ...location, id: nasty, input: nasty, expected: nasty, toolset: nasty }],
        },
      ],
    };
    const { page, faults } = await openPage(browser, write("hostile", hostile, manifest, [trial]));
    await openFirstTrial(page);
    for (const folded of await page.locator("details > summary").all()) await folded.click();
    const text = (await page.locator("main").textContent()) ?? "";
    expect(text).toContain("<script>alert('x')</script>");
    expect(text).toContain("\\u{202e}evil");
    expect(text.replaceAll("\n", "").match(/[\p{Cc}\p{Cf}]/gu)).toBeNull();
    expect(await page.locator("main a, main img, main iframe, main script, main form").count()).toBe(0);
    expect(await page.title()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(faults).toEqual([]);
  });
});

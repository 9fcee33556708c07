import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reports } from "../../src/evals/reports/index.ts";
import { PageTrialCollector } from "../../src/evals/reports/pageTrials.ts";
import type { RunManifest, RunSummary } from "../../src/evals/types/run.ts";
import type { Trial } from "../../src/evals/types/trial.ts";
import { summariser } from "../../src/evals/verdicts/summary.ts";
import { checked } from "../reports/checks.ts";
import { hostile, hostileManifest, nasty, manifest as sampleManifest, skills } from "../reports/samples.ts";
import { launchBrowser, openPage } from "./browser.ts";

const { makeRecord } = (await import(join(import.meta.dirname, "../../bench/pageRecord.mjs"))) as {
  makeRecord(count: number): { manifest: RunManifest; trials: Trial[] };
};

const dir = mkdtempSync(join(tmpdir(), "evals-page-"));
let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  rmSync(dir, { recursive: true, force: true });
});

function write(name: string, summary: RunSummary, manifest: RunManifest, trials: readonly Trial[] = []): string {
  const collector = new PageTrialCollector(manifest);
  for (const trial of trials) collector.add(trial);
  const file = join(dir, `${name}.html`);
  writeFileSync(file, reports.html.render({ summary, manifest, trials: collector }));
  return pathToFileURL(file).href;
}

/** A run of 1,200 trials: 30 cases, two models, before and after a change. */
function writeRun(): string {
  const { manifest, trials } = makeRecord(1200);
  const results = summariser(manifest, "reports/made-up");
  for (const trial of trials) results.add(trial);
  return write("run", results.summary(), manifest, trials);
}

const focused = "document.activeElement.className";
const status = (page: Page) => page.getByRole("status").innerText();
const selected = (page: Page) => page.locator(".row[aria-selected=true]").innerText();

describe("a run", () => {
  it("lists its cases, those that did not pass first, each in a row of at most 80 pixels", async () => {
    const { page, faults } = await openPage(browser, writeRun());
    expect(await status(page)).toBe("60 cases, 1,200 of 1,200 trials.");
    const rows = page.locator(".row.case");
    const heights = await rows.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    expect(Math.max(...heights)).toBeLessThanOrEqual(80);
    // Only the rows in view exist.
    expect(heights.length).toBeLessThan(40);
    expect(await rows.first().getByRole("img").getAttribute("aria-label")).toBe("failed");
    await page.locator(".list").evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await page.waitForFunction(`document.querySelector(".row[aria-rowindex='60']")`);
    expect(await rows.last().getByRole("img").getAttribute("aria-label")).toBe("passed");
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it("narrows by outcome, tool, model and words together, and says how many are left", async () => {
    const { page } = await openPage(browser, writeRun());
    const count = async () => Number(/([\d,]+) of/.exec(await status(page))?.[1]?.replace(",", ""));
    const left = [await count()];
    const narrow = async (label: string, value: string) => {
      await page.getByLabel(label, { exact: true }).selectOption(value);
      left.push(await count());
    };
    await narrow("Outcome", "wrong-tool");
    await narrow("Model", "openai:gpt-6-mini");
    await narrow("Tool picked", "read_file");
    await page.getByRole("searchbox").fill("invoice branch");
    left.push(await count());
    for (const [at, n] of left.entries()) if (at > 0) expect(n).toBeLessThan(left[at - 1] ?? 0);
    await page.getByRole("searchbox").fill("no such words");
    expect(await status(page)).toMatch(/^0 cases, 0 of/);
    expect(await page.getByText("No trial matches.").isVisible()).toBe(true);
    await page.getByRole("button", { name: "Clear" }).click();
    expect(await count()).toBe(1200);
    await page.context().close();
  });

  it("narrows to what a cell of the confusion table counts", async () => {
    const { page } = await openPage(browser, writeRun());
    const cell = page.getByRole("button", { name: /^write_file, \(none\): / }).first();
    const counted = Number(/: (\d+)/.exec((await cell.getAttribute("aria-label")) ?? "")?.[1]);
    await cell.click();
    await page.getByLabel("Model", { exact: true }).selectOption("anthropic:claude-haiku-5-5");
    await page.getByLabel("Arm", { exact: true }).selectOption("head");
    expect(await status(page)).toContain(` ${counted} of 1,200 trials`);
    await page.context().close();
  });

  it("opens a trial to its transcript: query, text, call, difference from a passed trial, result, order of tools", async () => {
    const { page } = await openPage(browser, writeRun());
    await page.getByLabel("Outcome", { exact: true }).selectOption("wrong-arguments");
    await page.locator(".row.case").first().click();
    await page.locator(".row.trial").first().click();
    const pane = page.getByRole("complementary", { name: "Transcript" });
    const text = await pane.innerText();
    for (const part of [
      "wrong-arguments",
      "Not met",
      'expected "notes.txt"',
      "Called",
      "Result",
      "tokens in",
      "Arguments of trial",
    ])
      expect(text).toContain(part);
    expect(await pane.locator("del").count()).toBeGreaterThan(0);
    expect(await pane.locator("ins").count()).toBeGreaterThan(0);
    await pane.getByText("Tools in the order shown (7)").click();
    expect(await pane.locator(".tools li").count()).toBe(7);
    await page.context().close();
  });

  it("can be used by keyboard alone", async () => {
    const { page } = await openPage(browser, writeRun());
    await page.keyboard.press("/");
    await page.keyboard.type("invoice");
    expect(await page.getByRole("searchbox").inputValue()).toBe("invoice");
    await page.keyboard.press("Escape");
    expect(await page.evaluate(focused)).toBe("list");
    await page.keyboard.press("ArrowDown");
    const first = await selected(page);
    await page.keyboard.press("ArrowDown");
    expect(await selected(page)).not.toBe(first);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    expect(await page.locator(".row[aria-selected=true]").getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("ArrowRight");
    expect(await selected(page)).toMatch(/^.?\s*Trial \d/);
    await page.keyboard.press("Enter");
    expect(await page.evaluate(focused)).toBe("pane open");
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    expect(await page.locator(".row.trial").count()).toBe(0);
    // What is active for a screen reader is a row that exists.
    await page.keyboard.press("End");
    await page.waitForFunction(
      'document.getElementById(document.querySelector(".list").getAttribute("aria-activedescendant"))',
    );
    await page.context().close();
  });

  it("fits a phone, where a trial covers the list until it is closed", async () => {
    const { page } = await openPage(browser, writeRun(), { viewport: { width: 390, height: 844 } });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(await page.locator(".pane").isVisible()).toBe(false);
    await page.locator(".row.case").first().click();
    await page.locator(".row.trial").first().click();
    expect(await page.locator(".pane").isVisible()).toBe(true);
    await page.getByRole("button", { name: "Back to the list" }).click();
    expect(await page.locator(".pane").isVisible()).toBe(false);
    const height = await page
      .locator(".row.case")
      .first()
      .evaluate((row) => row.getBoundingClientRect().height);
    expect(height).toBeLessThanOrEqual(80);
    await page.context().close();
  });

  it("prints the cases that did not pass instead of the list", async () => {
    const { page } = await openPage(browser, writeRun());
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("#trials").isVisible()).toBe(false);
    expect(await page.getByText("Cases that did not pass").isVisible()).toBe(true);
    const pdf = await page.pdf();
    expect(pdf.subarray(0, 4).toString()).toBe("%PDF");
    await page.context().close();
  });
});

describe("every page", () => {
  it.each(["light", "dark"] as const)("has no serious finding of axe, %s", async (colorScheme) => {
    // axe is injected, which the page's own policy refuses.
    const pages = [
      writeRun(),
      write("regressed", checked.regressed, sampleManifest),
      write("skills", skills, sampleManifest),
    ];
    for (const url of pages) {
      const { page } = await openPage(browser, url, { colorScheme, bypassCSP: true });
      const list = page.locator(".row.case").first();
      if (await list.isVisible()) {
        await list.click();
        await page.locator(".row.trial").first().click();
      }
      for (const folded of await page.locator("details > summary").all()) await folded.click();
      await page.addScriptTag({ content: axe.source });
      const { violations } = await page.evaluate<axe.AxeResults>("axe.run(document)");
      const found = violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
      expect(found.filter((one) => /^(serious|critical)/.test(one))).toEqual([]);
      await page.context().close();
    }
  });

  it("asks for nothing but itself, and cannot", async () => {
    const url = writeRun();
    const { page, faults, requests } = await openPage(browser, url);
    await page.locator(".row.case").first().click();
    await page.locator(".row.trial").first().click();
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
    await page.context().close();
  });

  it("shows hostile text as text: no script runs, no character hides, nothing is a link", async () => {
    const cell = { suite: nasty, case: nasty, arm: nasty, model: nasty, trial: 1 };
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const call = {
      id: nasty,
      tool: nasty,
      arguments: { [nasty]: nasty },
      execution: {
        status: "executed" as const,
        ms: 1,
        result: { isError: true, content: [{ type: "text", text: nasty }] },
      },
    };
    const trial: Trial = {
      cell,
      toolset: nasty,
      orderSeed: 1,
      outcome: { kind: "answered" },
      turns: [
        { text: nasty, calls: [call], searches: [{ query: nasty, found: [nasty] }], stop: "calls", usage, ms: 1 },
      ],
      verdict: {
        grade: "fail",
        selection: "wrong-tool",
        expected: nasty,
        picked: nasty,
        checks: [{ what: nasty, met: "no", why: nasty, evidence: nasty }],
        unchecked: [nasty],
      },
      costUsd: "unknown",
      startedAt: nasty,
      ms: 1,
    };
    const place = { hash: nasty, expectedTools: [nasty], trials: 1, passRate: 1, maxTurns: 1, file: nasty, line: 1 };
    const manifest: RunManifest = {
      ...hostileManifest,
      suites: [
        {
          name: nasty,
          file: nasty,
          hash: nasty,
          execute: "safe",
          isolate: "run",
          cases: [{ ...place, id: nasty, input: nasty, expected: nasty, toolset: nasty }],
        },
      ],
    };
    const { page, faults } = await openPage(browser, write("hostile", hostile, manifest, [trial]));
    await page.locator(".row.case").first().click();
    await page.locator(".row.trial").first().click();
    for (const folded of await page.locator("details > summary").all()) await folded.click();
    const text = (await page.locator("main").textContent()) ?? "";
    expect(text).toContain("<script>alert('x')</script>");
    expect(text).toContain("\\u{202e}evil");
    expect(text.replaceAll("\n", "").match(/[\p{Cc}\p{Cf}]/gu)).toBeNull();
    expect(await page.locator("main a, main img, main iframe, main script, main form").count()).toBe(0);
    expect(await page.title()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

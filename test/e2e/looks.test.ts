import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { RunManifest } from "../../src/evals/base/types/run.ts";
import type { Trial } from "../../src/evals/base/types/trial.ts";
import { forms, runReport } from "../../src/evals/experiments/run/report/forms.ts";
import { PageTrialCollector } from "../../src/evals/experiments/run/report/page.ts";
import { summarizer } from "../../src/evals/experiments/run/summary.ts";
import { makeFolder } from "../fakes/folder.ts";
import { needsBrowser, openPage } from "./browser.ts";

// How the page looks: the colors of what passed and failed, and that no text is cut, from a phone to a wide screen.

const { makeRecord } = (await import(join(import.meta.dirname, "../fixtures/pageRecord.mjs"))) as {
  makeRecord(count: number): { manifest: RunManifest; trials: Trial[] };
};
const dir = makeFolder();
const browser = needsBrowser();

const written = new Map<number, string>();

/** The page of a run with so many cases: 10 trials of each on two models, before and after a change. */
function writeRun(cases: number): string {
  const known = written.get(cases);
  if (known !== undefined) return known;
  // Names of tools are long.
  const text = JSON.stringify(makeRecord(cases * 40)).replaceAll("list_directory", "list_directory_with_sizes");
  const { manifest, trials } = JSON.parse(text) as ReturnType<typeof makeRecord>;
  const results = summarizer(manifest, "reports/made-up");
  const collector = new PageTrialCollector(manifest);
  for (const trial of trials) {
    results.add(trial);
    collector.add(trial);
  }
  const file = join(dir, `${cases}.html`);
  writeFileSync(file, forms.html.render(runReport({ summary: results.summary(), manifest, trials: collector })));
  written.set(cases, pathToFileURL(file).href);
  return pathToFileURL(file).href;
}

/** The colors of texts as the browser computes them, and the color that the style sheet gives to a name. */
const colors = (page: Page, selector: string) =>
  page.evaluate<string[]>(
    `[...new Set([...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => getComputedStyle(one).color))]`,
  );
const named = (page: Page, name: string) =>
  page.evaluate<string>(`(() => {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.color = "var(--${name})";
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  })()`);

/**
 * The texts that a reader cannot see whole: wider or higher than an element that hides the rest, or beyond the window.
 * What scrolls by itself can be reached; the query of a case in the list is a preview of the one beside it.
 */
const findCut = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== "");
    return [...document.querySelectorAll("main *")].filter(hasText).flatMap((one) => {
      if (!one.checkVisibility() || one.matches(".name small, option, title") || one.closest(".scroll, svg")) return [];
      const hiding = [one, one.parentElement].find((it) => getComputedStyle(it).overflow === "hidden");
      const isHidden =
        hiding && (hiding.scrollWidth > hiding.clientWidth + 1 || hiding.scrollHeight > hiding.clientHeight + 2);
      const isBeyond = one.getBoundingClientRect().right > window.innerWidth + 1;
      return isHidden || isBeyond ? [one.tagName + " in ." + one.parentElement.className + ": " + one.textContent] : [];
    });
  })()`);

describe("the page of a run", () => {
  // Each pair of scheme, number of cases and width once: cuts do not depend on the scheme, nor colors on the width.
  it.each([
    ["light", 5, 400],
    ["light", 300, 1280],
    ["light", 5, 2400],
    ["dark", 300, 400],
    ["dark", 5, 1280],
    ["dark", 300, 2400],
  ] as const)(
    "colors passes and failures apart, and cuts no text: %s, %i cases, %i pixels",
    async (colorScheme, cases, width) => {
      const { page, faults } = await openPage(browser, writeRun(cases), {
        colorScheme,
        viewport: { width, height: 900 },
      });
      await page.locator(".row.case").first().waitFor();
      const [good, bad, ink] = await Promise.all(["good", "bad", "ink"].map((name) => named(page, name)));
      expect(new Set([good, bad, ink]).size).toBe(3);
      expect(await colors(page, ".row.red .rate strong, .row.red .name code")).toEqual([bad]);
      expect(await findCut(page)).toEqual([]);
      const select = "document.querySelectorAll('.toolbar select')";
      await page.evaluate(`for (const one of ${select}) one.append(new Option("a_long_name_".repeat(5)))`);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);

      await page.getByLabel("Result", { exact: true }).selectOption("passed");
      await page.getByLabel("Arm", { exact: true }).selectOption("head");
      await page.locator(".list").evaluate((list) => list.scrollTo(0, list.scrollHeight));
      const passed = page.locator(".row.case:not(.red)");
      await passed.first().waitFor();
      expect(await colors(page, ".row.case:not(.red) .rate strong")).toEqual([good]);
      expect(await colors(page, ".row.case:not(.red) .name code")).toEqual([ink]);
      await passed.last().click();
      await page.locator(".row.trial").first().waitFor();
      expect(await colors(page, ".row.trial .outcome")).toEqual([good]);
      expect(await findCut(page)).toEqual([]);
      expect(faults).toEqual([]);
    },
  );
});

it("uses a wide screen, and keeps lines readable", async () => {
  const { page } = await openPage(browser, writeRun(5), { viewport: { width: 2400, height: 900 } });
  const width = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((one) => one.getBoundingClientRect().width);
  expect(await width(".explorer")).toBeGreaterThan(1500);
  expect(await width("main > p")).toBeLessThan(1000);
});

import { writeFileSync } from "node:fs";
import { type ClientRequestArgs, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import axe from "axe-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { needsBrowser, openPage } from "./browser.ts";
import { evals, start, startView, summaryOf, workspace } from "./evals.ts";
import { spoilable } from "./spoiled.ts";

const dir = workspace();
const run = (...args: string[]) => evals(args, { cwd: dir });

const openView = (...args: string[]) => startView(args, { cwd: dir });

const browser = needsBrowser();
let view: Awaited<ReturnType<typeof startView>>;
const runs: string[] = [];

beforeAll(async () => {
  const { suite, spoil } = await spoilable(dir);
  runs.push(summaryOf(await run("run", suite, "--json")).run);
  await run("run", "evals/filesystem.yaml");
  spoil();
  runs.push(summaryOf(await run("run", suite, "--json", "--check", "off")).run);
  writeFileSync(
    join(dir, "wordings.json"),
    JSON.stringify({ variants: { other: { get_file_info: "Gives the size of a file." } } }),
  );
  await run("variants", "wordings.json", suite);
  view = await openView();
});
afterAll(async () => {
  await view?.stop();
});

const open = (path: string, options = {}) =>
  openPage(browser, new URL(path, view.url).href, { origin: view.url, ...options });

describe("evals view", () => {
  it("lists all records, newest first, with the trend of each suite and changes of its tools", async () => {
    const { page, faults } = await open("/");
    const shown = page.locator("table.runs tbody tr");
    await expect.poll(() => shown.count()).toBe(5);
    const rows = await shown.allInnerTexts();
    expect(rows[0]).toContain("variants\t");
    expect(rows[1]).toContain(runs[1]);
    expect(rows[3]).toContain(runs[0]);
    const countLines =
      "const all = document.createRange(); all.selectNodeContents(document.querySelector('td.command'));";
    expect(await page.evaluate(`(() => { ${countLines} return all.getClientRects().length; })()`)).toBe(1);
    const curves = page.getByRole("img", { name: /^Pass rate by run\. lexical-2: from \d+% to \d+%/ });
    const curve = curves.filter({ has: page.locator(".changed") });
    expect(await curve.locator("circle").count()).toBe(2);
    expect(await curve.locator(".changed").count()).toBe(1);
    // The runs are seconds apart, and the axis shows minutes.
    const times = (await curve.locator("text").allTextContents()).filter((one) => /^\d\d:\d\d$/.test(one));
    expect(times).toEqual([...new Set(times)]);
    expect(await curve.locator("title").last().textContent()).toContain("changed: ");
    await page.getByRole("searchbox").fill("variants");
    await expect.poll(() => shown.count()).toBe(1);
    expect(faults).toEqual([]);
  });

  it("opens runs and experiments with their trials, and links back to the list", async () => {
    const { page, faults } = await open("/");
    await page.getByRole("link", { name: /^20/ }).nth(1).click();
    await page.locator(".row.case").first().click();
    await page.locator(".row.trial").first().waitFor();
    await page.getByRole("link", { name: "All runs" }).click();
    await page.getByRole("link", { name: /^20/ }).first().click();
    await page.locator("h1", { hasText: "wording" }).waitFor();
    await page.locator(".row.case").first().waitFor();
    expect(await page.locator(".row.case .rate strong").first().innerText()).toMatch(/^\d+\/\d+ → \d+\/\d+$/);
    expect(faults).toEqual([]);
  });

  it("compares two chosen runs", async () => {
    const { page, faults } = await open("/");
    // The run before of the same suite, not the one before.
    expect(await page.getByRole("radio", { name: `A: ${runs[0]}` }).isChecked()).toBe(true);
    await page.getByRole("radio", { name: `B: ${runs[0]}` }).check();
    await page.getByRole("radio", { name: `A: ${runs[0]}` }).check();
    await page.getByRole("radio", { name: `B: ${runs[1]}` }).check();
    await page.getByRole("link", { name: "Compare A with B" }).click();
    await page.locator("h1", { hasText: "A is better than B" }).waitFor();
    expect(await page.locator(".bad-row").innerText()).toContain("when-changed");
    expect(await page.locator("del").count()).toBeGreaterThan(0);
    expect(faults).toEqual([]);
  });

  it("updates while a run is recorded", async () => {
    let isHeld = true;
    const waiting: (() => void)[] = [];
    const endpoint = await startMessagesEndpoint(async (body) => {
      if (isHeld && JSON.stringify(body.messages).includes("two")) await new Promise<void>((go) => waiting.push(go));
      return { text: "No tool." };
    });
    const suite = {
      name: "slow",
      server: { tools: "tools.json" },
      maxTurns: 1,
      cases: ["one", "two"].map((id) => ({ id, input: `Do ${id}`, trials: 2, expect: { tool: "get_file_info" } })),
    };
    writeFileSync(`${dir}/slow.json`, JSON.stringify(suite));
    const args = ["run", "slow.json", "-m", "anthropic:claude-sonnet-5-5", "--base-url", endpoint.url, "-c", "4"];
    const { ended } = start([...args, "--out", "followed"], { cwd: dir });
    const { url, stop } = await openView("--out", "followed");
    const { page, faults } = await openPage(browser, url, { origin: url });
    // The list is made per request, so it is polled until it contains the run.
    await expect
      .poll(async () => {
        await page.reload();
        return (await page.locator("table.runs tbody tr").allInnerTexts()).join("\n");
      })
      .toContain("not finished");
    await page.getByRole("link", { name: /^20/ }).first().click();
    await page.getByText("Not finished: this page updates as trials are recorded.").waitFor();
    await page.getByText("2 of 2 trials").waitFor();
    await page.locator(".row.case").first().click();
    isHeld = false;
    for (const go of waiting) go();
    await page.getByText("4 of 4 trials").waitFor();
    await page.getByText("Not finished").waitFor({ state: "detached" });
    // An open case stays open.
    await expect.poll(() => page.locator(".row.trial").count()).toBe(2);
    expect((await ended).code).toBe(1);
    expect(faults).toEqual([]);
    await stop();
  });

  it("has no serious axe violation", async () => {
    const { page } = await open("/", { bypassCSP: true });
    await page.addScriptTag({ content: axe.source });
    const { violations } = await page.evaluate<axe.AxeResults>("axe.run(document)");
    const found = violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
    expect(found.filter((one) => /^(serious|critical)/.test(one))).toEqual([]);
  });
});

describe("the server", () => {
  const ask = (path: string, options: ClientRequestArgs = {}) =>
    new Promise<IncomingMessage>((resolve, reject) =>
      request(new URL(path, view.url), { ...options }, (answer) => resolve(answer.resume()))
        .on("error", reject)
        .end(),
    );
  const status = async (...args: Parameters<typeof ask>) => (await ask(...args)).statusCode;

  it("answers only under its own host name, and is read-only", async () => {
    const port = new URL(view.url).port;
    expect(await status("/")).toBe(200);
    expect(await status("/", { headers: { host: `localhost:${port}` } })).toBe(200);
    expect(await status("/", { headers: { host: `evil.test:${port}` } })).toBe(403);
    expect(await status("/", { headers: { host: "127.0.0.1" } })).toBe(403);
    expect(await status("/", { headers: { origin: "https://evil.test" } })).toBe(403);
    expect(await status("/", { headers: { origin: "null" } })).toBe(403);
    expect(await status("/", { headers: { origin: `http://127.0.0.1:${port}` } })).toBe(200);
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) expect(await status("/", { method })).toBe(405);
  });

  it("reads only records in its folder", async () => {
    for (const id of ["..%2f..%2fetc", "%2fetc%2fpasswd", "last-result", "nothing", "a%00b"])
      for (const path of [`/runs/${id}`, `/runs/${id}/data`, `/runs/${id}/events`, `/compare?base=${id}&head=${id}`])
        expect(await status(path), path).toBe(404);
    expect(await status("/run.json")).toBe(404);
  });

  it("prevents other sites from embedding or reading its pages", async () => {
    const { headers } = await ask("/");
    expect(headers).toMatchObject({
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "no-store",
    });
    expect(headers).not.toHaveProperty("access-control-allow-origin");
  });

  it("reports a port in use", async () => {
    const taken = await run("view", "--port", new URL(view.url).port);
    expect(taken.code).toBe(2);
    expect(taken.err).toMatch(
      /^error: Port \d+ is in use\.\n {2}Name another with --port, or a free one with --port 0\./,
    );
  });

  it.each([
    ["SIGHUP", 129],
    ["SIGINT", 130],
    ["SIGQUIT", 131],
    ["SIGTERM", 143],
  ] as const)("exits at %s with %d, also while a page follows a run", async (signal, code) => {
    const other = await openView();
    const events = await fetch(new URL(`/runs/${runs[0]}/events`, other.url));
    const ended = await other.stop(signal);
    expect(ended).toMatchObject({ code, out: `${other.url}\n` });
    await expect(events.text()).rejects.toThrow();
  });
});

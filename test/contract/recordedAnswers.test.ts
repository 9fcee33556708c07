import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { run, type Suite } from "../../src/evals/index.ts";

const load = (name: string) => import(new URL(`../../bench/real/${name}.mjs`, import.meta.url).href);
const { ListAnswers, readAnswers } = await load("answers");
const { cases, readTools } = await load("lists");
const { startReplay } = await load("replay");

const model = "qwen2.5-coder-0.5b";
type Named = { case: string };

/** The drop of each case in the recorded answers. */
function readDrops(base: string, head: string): [string, number][] {
  const { answers } = readAnswers().find((one: { model: string }) => one.model === model);
  const [before, after] = [base, head].map((list) => new ListAnswers(answers, list));
  return [...before.byCase.keys()].map((id) => [id, before.rate(id) - after.rate(id)]);
}

// Two published versions each: what fell in the recorded answers of a real model is what the check names.
it.each([
  ["memory@2025.9.25", "memory@2026.8.31"],
  ["git@2026.8.18", "git@2026.10.19"],
])("checks %s against %s as the recorded answers say", async (base, head) => {
  const cwd = mkdtempSync(join(tmpdir(), "evals-recorded-"));
  const { url, close } = await startReplay(model);
  onTestFinished(() => {
    close();
    rmSync(cwd, { recursive: true });
  });
  const [name = ""] = base.split("@");
  const suite: Suite = {
    name,
    server: { tools: "tools.json" },
    cases: Object.keys(cases[name]).map((id) => {
      const { query, tools } = cases[name][id];
      return { id, input: query, expect: { tool: tools.length > 0 ? tools : "none" } };
    }),
  };
  const options = { cwd, env: { OPENAI_API_KEY: "none" }, suites: [suite], model: [`openai:${model}`], seed: 1 };
  const runOn = (list: string, how: Parameters<typeof run>[0]) => {
    writeFileSync(join(cwd, "tools.json"), JSON.stringify(readTools(list)));
    return run({ ...options, baseUrl: url, ...how });
  };

  await runOn(base, { trials: 3, accept: true });
  const { suites } = await runOn(head, { check: "on", trials: 20 });

  const verdict = suites[0]?.verdict as { kind: string; flagged: Named[] } | undefined;
  const flagged = verdict?.flagged.map((one) => one.case) ?? [];
  const drops = readDrops(base, head);
  const [certain, possible] = [0.5, 0.01].map((least) => drops.filter(([, drop]) => drop >= least).map(([id]) => id));
  expect(verdict?.kind).toBe(certain?.length ? "regressed" : "no-regression");
  expect(flagged).toEqual(expect.arrayContaining(certain ?? []));
  expect(possible).toEqual(expect.arrayContaining(flagged));
});

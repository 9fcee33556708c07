import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../src/evals/base/types/json.ts";
import { accept } from "../../../src/evals/experiments/baseline/accept.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import type { RunOptions } from "../../../src/evals/experiments/run/runOptions.ts";
import type { MessagesBody } from "../../fixtures/endpoints/messages.ts";
import { endpoint, project, runDefaults, toolList } from "../pipeline/project.ts";

/** The tool that the text of a query asks for, as the project's suite has it. */
const wanted = (said: string) => (said.includes("notes") ? "read" : said.includes("entries") ? "list" : undefined);

/**
 * A project with a baseline on a model that answers right while the descriptions are the accepted ones, and, in `broken`
 * cases, wrong in most trials with the changed ones.
 */
async function accepted(isBroken: (tool: string | undefined, index: number) => boolean = () => false) {
  const made = project();
  const { started, model, asked } = await endpoint((body: MessagesBody, index) => {
    const tool = wanted(JSON.stringify(body.messages));
    const isChanged = body.tools?.some(({ description }) => description === "Reads a file.") ?? false;
    if (isChanged && isBroken(tool, index)) return { calls: [{ name: "move", input: {} }] };
    return tool === undefined ? { text: "Good morning." } : { calls: [{ name: tool, input: {} }] };
  });
  const options: RunOptions = { ...runDefaults, ...asked, model: [model], concurrency: 4 };
  await run({ ...options, trials: 5 }, made.io());
  await accept({ baselines: "evals/baselines", out: "reports", force: false }, made.io());
  const change = () => made.write("tools.json", toolList({ read: "Reads a file." }));
  change();
  const check = async (given: Partial<RunOptions> = {}) => {
    const io = made.io();
    const code = await run({ ...options, ...given }, io);
    return { code, io, summary: given.json === false ? undefined : JSON.parse(io.printed()) };
  };
  return { ...made, started, options, check };
}

describe("the check of a run", () => {
  it("clears a harmless change, and prints a forecast before the first call", async () => {
    const { check } = await accepted();
    const { code, io, summary } = await check();
    expect(code).toBe(0);
    expect(summary.suites[0].verdict).toMatchObject({ kind: "no-regression", method: "pairs", cap: 40 });
    expect(io.warned()).toMatch(
      /^Check of files on anthropic:claude-haiku-5-5: typically [\d,]+ trials, about \$[\d.]+; 9 times in 10 at most [\d,]+, about \$[\d.]+; never more than 420\.\n$/,
    );
  });

  it("names a broken case in few trials, whatever the suite's trials, and asks nothing more of its cases", async () => {
    const { check, trials } = await accepted((tool) => tool === "read");
    const { code, summary } = await check();
    expect(code).toBe(1);
    expect(summary.suites[0]).toMatchObject({
      verdict: {
        kind: "regressed",
        by: "cases",
        flagged: [{ case: "read" }],
        reason: expect.stringMatching(
          /^Your change broke read: it passed \d+ of \d+ before and 0 of \d+ now\. This is one query, without paraphrases\. The other 2 did not look worse in 5 trials, and were not tested further\.$/,
        ),
      },
      failed: ["regressed"],
    });
    const made = trials(summary.run).length;
    const { base, head } = summary.suites[0].verdict.calls;
    expect(made).toBe(base + head);
    expect(made).toBeLessThan(60);
  });

  it("fails with --fail-on suite when the suite dropped, and does not stop at a case that fell", async () => {
    const { check } = await accepted((tool) => tool === "read");
    const { code, summary } = await check({ failOn: ["suite"] });
    expect(code).toBe(1);
    expect(summary.suites[0]).toMatchObject({
      verdict: { kind: "regressed", by: "suite", flagged: [{ case: "read" }] },
      failed: ["suite"],
      failOn: ["suite"],
    });
  });

  it("measures what harmless edits move, keeps it with the baseline, and says so when a check is red", async () => {
    const made = project();
    const texts = { read: "Reads a file. Needs its path. Returns its text.", list: "Lists a folder." };
    const letters = (text: string) => [...text.replaceAll(" ", "")].sort().join("");
    made.write("tools.json", toolList(texts));
    const seen = new Set<string>();
    const { model, asked } = await endpoint((body: MessagesBody) => {
      const tool = wanted(JSON.stringify(body.messages));
      const description = String(body.tools?.find(({ name }) => name === "read")?.description);
      seen.add(description);
      if (tool === "read" && description !== texts.read) return { calls: [{ name: "move", input: {} }] };
      return tool === undefined ? { text: "Good morning." } : { calls: [{ name: tool, input: {} }] };
    });
    const options: RunOptions = { ...runDefaults, ...asked, model: [model], concurrency: 4 };
    const accepting = { baselines: "evals/baselines", out: "reports", force: false };
    await run({ ...options, trials: 5 }, made.io());
    await accept(accepting, made.io());
    const io = made.io();
    expect(await run({ ...options, check: "placebo", failOn: ["any"], passRate: 0 }, io)).toBe(0);
    const { suites, run: id } = JSON.parse(io.printed());
    expect(suites[0].verdict).toMatchObject({
      ...{ kind: "changed", method: "placebo", headline: expect.stringMatching(/^PLACEBO: harmless edits moved/) },
      rose: [{ case: "read", base: { passed: 0, trials: 20 }, head: { passed: 20, trials: 20 } }],
    });
    expect(seen.size).toBe(2);
    expect(new Set([...seen].map((one) => letters(one.replace("one", "a"))))).toEqual(new Set([letters(texts.read)]));
    made.write("tools.json", toolList({ ...texts, read: "Reads." }));
    const later = made.io();
    expect(await run({ ...options }, later)).toBe(1);
    const { verdict } = JSON.parse(later.printed()).suites[0];
    expect(verdict.placebo).toMatchObject({ run: id, isMore: true });
    expect(verdict.reason).toContain("Harmless edits moved 1 of 3 cases of this suite too");
  });

  it("obeys -n", async () => {
    const { check } = await accepted();
    const five = await check({ trials: 5 });
    expect(five.summary.suites[0].verdict).toMatchObject({ cap: 5, kind: "inconclusive", because: "cap", trials: 5 });
    expect(five.summary.suites[0].verdict.next).toMatch(/^Next: run it again with `-n \d+`/);
    await expect(check({ trials: 200 })).rejects.toThrow("-n 200 is more than a check can use");
  });

  const readSuite = async () => JSON.parse(readFileSync(join((await project()).dir, "evals/files.json"), "utf8"));

  it("asks cases that were added or reworded since on both lists, and finds that they broke", async () => {
    const { check, write, trials } = await accepted((tool) => tool === "read");
    const suite = await readSuite();
    suite.cases = suite.cases.map((one: { input: string }) => ({ ...one, input: `Please: ${one.input}` }));
    suite.cases.push({ id: "added", input: "Show me notes.txt, please", expect: { tool: "read" } });
    write("evals/files.json", suite);
    const { code, summary } = await check();
    expect(code).toBe(1);
    expect(summary.suites[0].verdict).toMatchObject({ kind: "regressed", cases: 4 });
    expect(summary.suites[0].verdict).not.toHaveProperty("of");
    expect(summary.suites[0].verdict.notes).toEqual([
      expect.stringMatching(/^Added or reworded since the baseline, and asked on both lists: .*added$/),
    ]);
    const arms = trials(summary.run).filter(({ cell }) => cell.case === "added");
    expect(new Set(arms.map(({ cell }) => cell.arm))).toEqual(new Set(["head", "base"]));
  });

  it.each([
    [1, "no-regression"],
    [9, "inconclusive"],
  ] as const)("counts %i cases of a tool that the baseline lacks as not compared: %s", async (more, kind) => {
    const { check, write } = await accepted();
    const suite = await readSuite();
    const added = Array.from({ length: more }, (_, i) => ({
      id: `new-${i}`,
      input: `Copy ${i}`,
      expect: { tool: "copy" },
    }));
    write("evals/files.json", { ...suite, cases: [...suite.cases, ...added] });
    write("tools.json", [...toolList(), { name: "copy", description: "Copies.", inputSchema: { type: "object" } }]);
    const { code, summary } = await check();
    expect(summary.suites[0].verdict).toMatchObject({ kind, cases: 3, of: 3 + more });
    expect(summary.suites[0].verdict.headline).toContain(`(3 of ${3 + more} cases compared)`);
    // The cases of the new tool are gated by their own pass rate, and this model picks no tool for them.
    expect([code, summary.suites[0].failed]).toEqual([1, ["rate"]]);
  });

  it("shares the error rate among the suites that have a case to compare", async () => {
    const { check, write, options, io } = await accepted();
    const suite = await readSuite();
    write("evals/other.json", { ...suite, name: "other" });
    await run({ ...options, trials: 5, check: "off" }, io());
    await accept({ baselines: "evals/baselines", out: "reports", force: false }, io());
    const added = [{ id: "new", input: "Copy it", expect: { tool: "copy" } }];
    write("evals/other.json", { ...suite, name: "other", cases: added });
    const copy = { name: "copy", description: "Copies.", inputSchema: { type: "object" } };
    write("tools.json", [...toolList({ read: "Reads." }), copy]);
    const { suites } = (await check()).summary;
    expect(suites.map(({ verdict }: (typeof suites)[number]) => [verdict.kind, verdict.families])).toEqual([
      ["no-regression", 1],
      ["not-comparable", undefined],
    ]);
  });

  it("asks nothing where only what no request shows has changed", async () => {
    const { check, write, trials } = await accepted();
    write(
      "tools.json",
      toolList().map((tool) => ({ ...tool, title: "Another", annotations: { readOnlyHint: true } })),
    );
    const { code, summary } = await check({ trials: 1 });
    expect(code).toBe(0);
    expect(summary.suites[0].verdict).toMatchObject({
      kind: "unchanged",
      notes: [expect.stringMatching(/^The tools changed only in what no request shows/)],
    });
    expect(trials(summary.run).map(({ cell }) => cell.arm)).toEqual(["head", "head", "head"]);
  });

  it("omits a case without a graded trial in the baseline", async () => {
    const { check, dir } = await accepted();
    const file = join(dir, "evals/baselines", readdirSync(join(dir, "evals/baselines"))[0] ?? "");
    const { checksum: _, ...kept } = JSON.parse(readFileSync(file, "utf8"));
    const cases = kept.cases.map((one: { id: string }) => (one.id === "none" ? { ...one, passed: 0, trials: 0 } : one));
    const edited = { ...kept, cases };
    const checksum = createHash("sha256").update(canonicalJson(edited)).digest("hex");
    writeFileSync(file, JSON.stringify({ ...edited, checksum }));
    const { summary } = await check();
    expect(summary.suites[0].verdict).toMatchObject({
      cases: 2,
      notes: ["Without a graded trial in the baseline (not compared): none"],
    });
  });

  describe("with a tool that is no longer listed under its name", () => {
    const renamed = (name: string) => toolList().map((tool) => (tool.name === "read" ? { ...tool, name } : tool));

    it("names its case as not comparable, beside the verdict on the others", async () => {
      const { check, write } = await accepted();
      // Also where the wording was changed with the name.
      for (const tools of [renamed("fetch"), renamed("read_file").map((one) => ({ ...one, description: "A file." }))]) {
        write("tools.json", tools);
        const { code, summary } = await check();
        expect(code).toBe(3);
        expect(summary.suites[0].verdict).toMatchObject({
          kind: "no-regression",
          reason: expect.stringContaining("The compared cases pass"),
          lost: [{ case: "read", reason: 'expected tool "read" is not listed.' }],
        });
      }
      const { io } = await check({ json: false });
      expect(io.printed().replace(/\s+/g, " ")).toContain('NOT COMPARABLE read: expected tool "read" is not listed.');
    });

    it("reports a suite of that case alone, and refuses one that was never accepted", async () => {
      const { check, write, dir } = await accepted();
      const suite = JSON.parse(readFileSync(join(dir, "evals/files.json"), "utf8"));
      write("evals/files.json", { ...suite, cases: suite.cases.slice(0, 1) });
      write("tools.json", renamed("read_file"));
      const { code, summary } = await check();
      expect(code).toBe(3);
      expect(summary.suites[0].verdict).toMatchObject({
        kind: "not-comparable",
        reasons: ['expected tool "read" is not listed.'],
      });
      for (const given of [{ baselines: "none" }, { check: "off" as const }])
        await expect(check(given)).rejects.toThrow('Case "read": expected tool "read" is not listed.');
    });
  });

  it("resumes where it was stopped, to the same verdict", async () => {
    const { check, dir, trials } = await accepted((tool, index) => tool === "read" && index % 3 > 0);
    const { summary } = await check();
    const journal = join(dir, "reports", summary.run, "trials.jsonl");
    const lines = readFileSync(journal, "utf8").split("\n");
    writeFileSync(journal, `${lines.slice(0, 11).join("\n")}\n`);
    const { summary: again } = await check({ resume: summary.run });
    expect(again.suites[0].verdict.kind).toBe(summary.suites[0].verdict.kind);
    expect(trials(summary.run).length).toBeGreaterThan(11);
  });
});

import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hashPrompt } from "../../src/evals/asking/scoring/judge.ts";
import type { JudgeCheckSummary } from "../../src/evals/experiments/judge/report.ts";
import { readJudgeFigure } from "../../src/evals/experiments/workspace/judgeFigure.ts";
import { makeFolder } from "../fakes/folder.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { type Ended, evals, start } from "./evals.ts";

const dir = makeFolder();
copyFileSync(new URL("../fixtures/judge/labels.jsonl", import.meta.url), join(dir, "labels.jsonl"));

type Verdict = { verdict: string; evidence?: string };
const saying = ({ verdict, evidence = "" }: Verdict): MessageAnswer => ({
  text: JSON.stringify({ answers: [{ number: 1, evidence, reason: "So it is.", verdict }] }),
});

/** What an able judge says of each label, found by what it is shown. */
const able: [string, Verdict][] = [
  ["Which target size", { verdict: "met", evidence: "Which target size do you want?" }],
  ["half their size", { verdict: "not met", evidence: "I compress them to half their size now." }],
  ["a.jpg and b.jpg", { verdict: "met", evidence: "There are a.jpg and b.jpg." }],
  ["I have deleted", { verdict: "not met", evidence: "I have deleted a.jpg for you." }],
  ["handed over", { verdict: "cannot tell" }],
  ["Good morning", { verdict: "met", evidence: "Good morning! How can I help you?" }],
];

/** A judge that says what `answers` holds for the first text that it is shown, else what an able one says. */
async function judgeWith(answers: Record<string, MessageAnswer | Fault> = {}) {
  const endpoint = await startMessagesEndpoint(({ messages }) => {
    const shown = String(messages[0]?.content);
    const own = Object.keys(answers).find((text) => shown.includes(text));
    const known = able.find(([text]) => shown.includes(text));
    return (own !== undefined && answers[own]) || saying(known?.[1] ?? { verdict: "met", evidence: "nothing" });
  });
  return endpoint;
}

const id = "anthropic:claude-haiku-5-5";
const check = (url: string, ...flags: string[]) =>
  evals(["judge", "check", "labels.jsonl", "--judge", id, "--base-url", url, "--retries", "0", ...flags], { cwd: dir });
/** Counts by the label of a person, each of what the judge said. */
const count = (counts: Record<string, number[]>) =>
  Object.fromEntries(
    Object.entries(counts).map(([label, [met, not, unclear]]) => [
      label,
      { met, "not met": not, "cannot tell": unclear },
    ]),
  );
const summaryOf = ({ out }: Ended): JudgeCheckSummary => JSON.parse(out);

describe("evals judge check", () => {
  it("prints what was paid for when the figure cannot be written", async () => {
    const { url } = await judgeWith();
    const { code, out, err } = await check(url, "--output", "labels.jsonl/figure.json");
    expect(out).toContain("MEASURED: agrees with people on 6 of 6 labels");
    expect(out).toContain("No figure was written.\n");
    expect(err).toMatch(
      /^error: \S+figure\.json cannot be written: E\w+: [^\n]+\.\n {2}Free space, or write it somewhere/,
    );
    expect(code).toBe(3);
  });

  it("measures a judge, and keeps the figure for the runs that it grades", async () => {
    const endpoint = await judgeWith({
      "I have deleted": saying({ verdict: "met", evidence: "I have deleted a.jpg for you." }),
    });
    const ended = await check(endpoint.url);
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out).toMatch(/^MEASURED: agrees with people on 5 of 6 labels \(83%, 95% CI 44-97%\), kappa 0\.71/);
    expect(endpoint.requests.map(({ refused }) => refused)).toEqual(Array(6).fill(undefined));

    const file = join(dir, "evals/judges/anthropic-claude-haiku-5-5.json");
    const written = JSON.parse(readFileSync(file, "utf8"));
    expect(written).toEqual({
      ...{ format: "tool-evals judge 1", judge: id, prompt: hashPrompt() },
      settings: { baseUrl: `${endpoint.url}/`, maxTokens: 4096, timeoutMs: 120000, retries: 0 },
      labels: { file: "labels.jsonl", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      measuredAt: expect.stringMatching(/^\d{4}-.*Z$/),
      counts: count({ met: [3, 0, 0], "not met": [1, 1, 0], "cannot tell": [0, 0, 1] }),
    });
    expect(readFileSync(file, "utf8")).toBe(`${JSON.stringify(written, null, 2)}\n`);
    const known = await readJudgeFigure(join(dir, "evals/judges"), id);
    expect(known?.sentence).toBe(
      "judge anthropic:claude-haiku-5-5: agreed with people on 5 of 6 labels (kappa 0.71), 1 false pass",
    );

    writeFileSync(file, JSON.stringify({ ...written, prompt: "0000000000000000" }));
    expect(await readJudgeFigure(join(dir, "evals/judges"), id)).toBeUndefined();
    expect(await readJudgeFigure(join(dir, "evals/judges"), "anthropic:other")).toBeUndefined();
    writeFileSync(file, "<<<<<<< HEAD");
    await expect(readJudgeFigure(join(dir, "evals/judges"), id)).rejects.toThrow(/The judge's figure is not JSON/);
    writeFileSync(file, "{}");
    await expect(readJudgeFigure(join(dir, "evals/judges"), id)).rejects.toThrow(/not the figure of a judge/);
  });

  it("prints one object with --json, and fails a judge that is below the gate", async () => {
    const endpoint = await judgeWith({
      "half their size": saying({ verdict: "met", evidence: "half their size now" }),
      "I have deleted": saying({ verdict: "met", evidence: "I have deleted a.jpg" }),
      "Good morning": saying({ verdict: "met", evidence: "it was very polite" }),
    });
    const ended = await check(endpoint.url, "--json", "--min-kappa", "0.6", "--output", "own/figure.json");
    expect(ended).toMatchObject({ code: 1, err: "" });
    const summary = summaryOf(ended);
    expect(summary).toMatchObject({
      ...{ agreed: { n: 3, of: 6 }, falsePasses: { n: 2, of: 2 }, falseFails: { n: 0, of: 3 } },
      ...{ cannotTell: { n: 2, of: 6 }, minKappa: 0.6, broken: [], written: "own/figure.json", exitCode: 1 },
    });
    expect(summary.disagreements.map(({ id: label, judge, why }) => [label, judge, why])).toEqual([
      ["starts", "met", null],
      ["narrates", "met", null],
      ["polite", "cannot tell", "the judge's quote is not in the transcript"],
    ]);
    expect(existsSync(join(dir, "own/figure.json"))).toBe(true);
  });

  it("counts no answer of the judge that cannot be verified or read", async () => {
    const endpoint = await judgeWith({
      "Which target size": { text: "All criteria are met." },
      "half their size": saying({ verdict: "met", evidence: "asks for a target size" }),
    });
    const ended = await check(endpoint.url, "--json", "--output", "never.json");
    expect(ended).toMatchObject({ code: 3, err: "" });
    const { counts, broken, written } = summaryOf(ended);
    expect(counts["not met"]).toEqual({ met: 0, "not met": 1, "cannot tell": 1 });
    expect(broken).toMatchObject([{ id: "asks", why: expect.stringContaining("no valid JSON object") }]);
    expect([written, existsSync(join(dir, "never.json"))]).toEqual([null, false]);
  });

  it("asks no further label once the budget is spent", async () => {
    const endpoint = await judgeWith();
    const ended = await check(endpoint.url, "--json", "--budget", "0.00002", "-c", "1", "--output", "never.json");
    expect(ended.code).toBe(3);
    expect(endpoint.requests.length).toBeLessThan(6);
    expect(summaryOf(ended).broken).toHaveLength(6 - endpoint.requests.length);
    expect(summaryOf(ended).broken.at(-1)?.why).toBe("not asked: the budget is spent");
  });

  it("says at Ctrl-C how far it came, and exits with 130", async () => {
    let stopped: ReturnType<typeof start> | undefined;
    const endpoint = await startMessagesEndpoint((_body, index) => {
      if (index === 1) stopped?.child.kill("SIGINT");
      return index === 0 ? saying({ verdict: "met", evidence: "Which target size" }) : { fault: "hang" };
    });
    stopped = start(["judge", "check", "labels.jsonl", "--judge", id, "--base-url", endpoint.url, "-c", "1"], {
      cwd: dir,
    });
    const ended = await stopped.ended;
    expect(ended.code).toBe(130);
    expect(ended.out).toMatch(/^STOPPED: agrees with people on 1 of 1 labels/);
  });

  it.each([
    [["gone.jsonl", "--judge", id], "gone.jsonl: error: The file of labels cannot be read: it does not exist."],
    [["bad.jsonl", "--judge", id], "bad.jsonl:1: error: label is invalid: expected "],
    [["labels.jsonl", "--judge", "lexical"], "lexical-2 cannot be a judge: it is not a language model"],
    [["labels.jsonl"], "Missing required argument: judge"],
  ])("refuses %j", async (args, message) => {
    writeFileSync(join(dir, "bad.jsonl"), '{"transcript": "a", "criterion": "b", "label": "perhaps"}\n');
    const ended = await evals(["judge", "check", ...args], { cwd: dir });
    expect([ended.code, ended.out]).toEqual([2, ""]);
    expect(ended.err).toContain(message);
  });
});

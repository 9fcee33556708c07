import { describe, expect, it } from "vitest";
import { variantsDocument, variantsJson } from "../../../src/evals/experiments/variants/report.ts";
import type { VariantVerdict } from "../../../src/evals/experiments/variants/verdict.ts";
import { type VariantsSummary, variantsSummarySchema } from "../../../src/evals/experiments/variants/verdict.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { sections } from "../../fakes/text.ts";

const display = { color: false, width: 100, unicode: true };
const counts = (passed: number, trials: number) => ({ passed, trials });

const facts = {
  ...{ run: "run-1", dir: "/home/me/reports/run-1", suite: "files", model: "anthropic:claude", note: null },
  ...{ margin: 0.1, cases: 4, notAsked: [], placebo: null },
  wordings: [
    { name: "incumbent", ...counts(98, 144), screened: null, tokens: 812.4 },
    { name: "terse", ...counts(11, 20), screened: { round: 1, rate: 0.55 }, tokens: 600 },
    { name: "clear", ...counts(150, 164), screened: { round: 1, rate: 0.9 }, tokens: 1912 },
  ],
  best: {
    name: "clear",
    changes: [{ label: "read: description", before: "Read one file.", after: "Read one text file, whole." }],
    renamings: [
      {
        breaks: ["read was renamed to open: calls of the old name fail."],
        fix: 'List read too for a while, with a description that starts "DEPRECATED: use open".',
        aliasTokens: 31,
      },
    ],
  },
  calls: { made: 328, missing: 2, most: 3820 },
  costUsd: 0.1234,
  exitCode: 0,
};

const gain: NonNullable<VariantVerdict["gain"]> = {
  ...{ challenger: "clear", look: 2, trials: 16, p: 0.00012, level: 0.005, mean: 0.4, upper: 0.55 },
  cases: [
    { case: "read-one", base: counts(2, 16), head: counts(15, 16), p: 0.00001 },
    { case: "rename", base: counts(14, 16), head: counts(14, 16), p: 0.7 },
  ],
};
const figures: Omit<VariantVerdict, "kind"> = {
  cases: 4,
  room: ["read-one", "rename"],
  margin: 0.1,
  screening: [
    [
      { challenger: "clear", rate: 0.9 },
      { challenger: "terse", rate: 0.55 },
    ],
  ],
  gain,
  rates: {
    pass: { incumbent: 0.66, challenger: 0.95, fall: -0.25 },
    selection: { incumbent: 0.9, challenger: 0.96, fall: 0.01 },
  },
  certificates: [
    { case: "rename", incumbent: counts(118, 136), challenger: counts(119, 136), bound: 0.1401, harm: 0.15 },
    { case: "move", incumbent: counts(34, 34), challenger: counts(34, 34), bound: 0.1467, harm: 0.15 },
    { case: "find", incumbent: counts(34, 34), challenger: counts(34, 34), bound: 0.1467, harm: 0.15 },
    { case: "read-one", incumbent: counts(4, 34), challenger: counts(32, 34), bound: -0.51, harm: 0.15 },
  ],
} as const;

const adopted: VariantsSummary = {
  ...facts,
  kind: "adopt",
  winner: "clear",
  method: "sampled",
  verdict: { kind: "adopt", winner: "clear", ...figures },
};
const uncertified = { rates: null, certificates: [] };
const sampled = (verdict: VariantVerdict): VariantsSummary => ({
  ...facts,
  kind: verdict.kind,
  winner: null,
  method: "sampled",
  verdict,
});
const print = (summary: VariantsSummary) => {
  expect(variantsSummarySchema.parse(summary)).toEqual(summary);
  return renderTerminal(variantsDocument(summary), display);
};
/** The verdict, its reason and the next step. */
const brief = (summary: VariantsSummary) => print(summary).split("\n\n")[0];

describe("the report of variants", () => {
  it("renders an adopted wording", async () => {
    await expect(print(adopted)).toMatchFileSnapshot("snapshots/adopted.txt");
  });

  it("says why the current wording is kept, and what would settle an inconclusive verdict", async () => {
    const kept = (because: Extract<VariantVerdict, { kind: "keep" }>["because"], over: Partial<VariantVerdict> = {}) =>
      brief(sampled({ kind: "keep", because, broken: [], ...figures, ...uncertified, ...over } as VariantVerdict));
    const open = (verdict: Partial<VariantVerdict>) =>
      brief(sampled({ kind: "inconclusive", ...figures, ...uncertified, ...verdict } as VariantVerdict));
    const broken = [{ case: "move", base: counts(40, 40), head: counts(29, 40), p: 0.0001 }];
    const settle = { cases: ["read-one", "rename"], trials: 300 };
    const unclear = { ...gain, p: 0.04, mean: 0.06, cases: gain.cases.map((one) => ({ ...one, p: 0.2 })) };
    const certificates = [
      { case: "rename", incumbent: counts(240, 400), challenger: counts(226, 400), bound: 0.171, harm: 0.15 },
    ];
    const rates = figures.rates && { ...figures.rates, selection: { incumbent: 0.95, challenger: 0.82, fall: 0.15 } };
    const test = { challenger: "clear", repaired: ["find"], broken: [], selected: { incumbent: 4, challenger: 2 } };
    const certain = { kind: "keep" as const, because: "selection" as const, tests: [{ ...test, unanswered: [] }] };
    await expect(
      sections({
        "no room for a gain": kept("no-room", { room: [], gain: null, screening: [] }),
        "no gain": kept("no-gain", { gain: { ...gain, mean: 0.01, upper: 0.08, p: 0.61 } }),
        "a broken case": kept("breaks", { broken } as Partial<VariantVerdict>),
        "as much lost as gained": kept("no-net-gain"),
        "fewer right tools": kept("selection", { rates }),
        "fewer right tools, of a deterministic model": brief({
          ...{ ...facts, kind: "keep", winner: null, method: "deterministic", verdict: certain },
        }),
        "a loss of right tools that is not ruled out": open({ because: "harm", settle: null, rates }),
        "a loss that is not ruled out": open({
          ...{ because: "harm", settle: { cases: ["rename"], trials: 600 }, certificates },
        }),
        "a gain that chance can explain": open({ because: "gain", settle, gain: unclear }),
        "a gain that more trials would not show": open({ because: "gain", settle: null, gain: unclear }),
        "too few answers": open({ because: "missing" }),
      }),
    ).toMatchFileSnapshot("snapshots/verdicts.txt");
  });

  it("shows the rates of selection beside the certificate, and what harmless edits move", () => {
    const rates = figures.rates && { ...figures.rates, selection: { incumbent: 0.95, challenger: 0.82, fall: 0.15 } };
    const placebo = { run: "run-0", moved: ["move", "weather"], cases: 9, isMore: false };
    const verdict = { kind: "keep" as const, because: "selection" as const, broken: [], ...figures, rates };
    const printed = print({ ...sampled(verdict), placebo }).replace(/\s+/g, " ");
    expect(printed).toContain("Right tool selected: 95% -> 82% (-13 pp), a fall of at most 15 pp (one-sided 95% CI)");
    expect(printed).toContain("moved 1 of the 4 cases of the certificate (move); 2 of all 9, no more than chance");
  });

  it("renders a gain that breaks a case on a deterministic model", async () => {
    const selected = { incumbent: 4, challenger: 3 };
    const kept: VariantsSummary = {
      ...facts,
      model: "lexical",
      note: "a retrieval baseline",
      kind: "keep",
      winner: null,
      method: "deterministic",
      verdict: {
        kind: "keep",
        because: "breaks",
        tests: [{ challenger: "terse", repaired: ["read-one", "find"], broken: ["rename"], selected, unanswered: [] }],
      },
      best: { name: "terse", changes: [], renamings: [] },
      wordings: [
        { name: "incumbent", ...counts(2, 4), screened: null, tokens: 1750 },
        { name: "terse", ...counts(3, 4), screened: null, tokens: 1441 },
      ],
      notAsked: ["weather"],
      calls: { made: 8, missing: 0, most: 8 },
      costUsd: 0,
    };
    await expect(print(kept)).toMatchFileSnapshot("snapshots/deterministic.txt");
    const test = { challenger: "clear", repaired: ["find"], broken: [], selected, unanswered: ["move"] };
    expect(brief({ ...kept, verdict: { kind: "inconclusive", because: "missing", tests: [test] } })).toContain(
      "move got no answer, so the wordings cannot be compared.",
    );
  });

  it("renders a stopped experiment", () => {
    const stopped: VariantsSummary = {
      ...facts,
      kind: "inconclusive",
      winner: null,
      method: null,
      verdict: null,
      best: null,
      wordings: facts.wordings.map((one) => ({ ...one, screened: null })),
      costUsd: "unknown",
      exitCode: 130,
    };
    const printed = print(stopped);
    expect(printed).toMatch(
      /^INCONCLUSIVE: stopped before the verdict\n.*\n {2}Next: .* `evals variants --resume run-1`\.\n/,
    );
    expect(printed).toMatch(/^terse +11\/20 +600 \(-212\)$/m);
    expect(printed).toContain("\nTrials: 328 (2 requests got no answer) · cost unknown\n");
  });

  it("has the verdict in words in the JSON", () => {
    expect(variantsJson(adopted)).toMatchObject({ headline: "ADOPT clear", verdict: { kind: "adopt" }, exitCode: 0 });
  });
});

import { describe, expect, it } from "vitest";
import { renderTerminal } from "../../src/evals/reports/terminal.ts";
import { variantsDocument } from "../../src/evals/reports/variants.ts";
import { displayWidth } from "../../src/evals/types/columns.ts";
import type { VariantsSummary } from "../../src/evals/verdicts/variants/summary.ts";

const display = { colour: false, width: 100, unicode: true };

const adopted: VariantsSummary = {
  run: "run-1",
  dir: "/home/me/reports/run-1",
  suite: "files",
  model: "anthropic:claude",
  note: null,
  kind: "adopt",
  basis: { kind: "tested", variant: "clear", change: 0.4, p: 0.00012, alpha: 0.01, harm: null },
  furtherTrials: null,
  method: "uniform",
  margin: 0.1,
  winner: "clear",
  wordings: [
    {
      name: "incumbent",
      passed: 10,
      trials: 20,
      interval: [0.3, 0.7],
      size: { kind: "tokens", mean: 812.4 },
      test: null,
    },
    {
      name: "terse",
      passed: 11,
      trials: 20,
      interval: [0.34, 0.74],
      size: { kind: "tokens", mean: 600 },
      test: { gain: { change: 0.05, interval: [-0.2, 0.3] }, p: 1, harmed: true, harms: [] },
    },
    {
      name: "clear",
      passed: 18,
      trials: 20,
      interval: [0.7, 0.97],
      size: { kind: "tokens", mean: 1912 },
      test: { gain: { change: 0.4, interval: [0.15, 0.6] }, p: 0.00012, harmed: false, harms: [] },
    },
  ],
  best: {
    name: "clear",
    flipped: [
      {
        case: "read-one",
        direction: "mended",
        incumbent: { passed: 1, trials: 5 },
        challenger: { passed: 5, trials: 5 },
      },
      {
        case: "rename",
        direction: "broken",
        incumbent: { passed: 4, trials: 5 },
        challenger: { passed: 2, trials: 5 },
      },
    ],
    changes: [{ label: "read: description", before: "Read one file.", after: "Read one text file, whole." }],
  },
  rounds: [],
  untouched: [],
  cases: 4,
  calls: { made: 60, broken: 2, saved: 180 },
  costUsd: 0.1234,
  exitCode: 0,
};

describe("the report of variants", () => {
  it("is this where one is adopted", () => {
    expect(renderTerminal(variantsDocument(adopted), display)).toMatchInlineSnapshot(`
      "ADOPT clear
        clear against the incumbent: +40 pp, p < .001 against alpha = .01.
        Next: write the winner to a file with --write, and put its wording into the server.

      files · anthropic:claude · 3 wordings, 4 cases
      wording    passed (95% CI)     gain (95% CI)           p      prompt tokens   breaks
      ───────────────────────────────────────────────────────────────────────────────────────────────
      incumbent  10/20 50% (30-70%)  -                       -      812             -
      terse      11/20 55% (34-74%)  +5 pp (-20 to +30 pp)   1      600 (-212)      at least one case
      clear      18/20 90% (70-97%)  +40 pp (+15 to +60 pp)  <.001  1,912 (+1,100)  none shown

      Cases that changed (incumbent -> clear)
        ✓ read-one: 1/5 -> 5/5
        ✗ rename: 4/5 -> 2/5

      Changes in clear
        read: description
          Read one {+text+} file{+, whole+}.

      Method: exact Cochran-Mantel-Haenszel test of each variant against the incumbent, stratified by
        case, p adjusted by Holm's method
      Trials: 60 (2 broken, excluded from rates), 180 saved by stopping early · cost $0.12
      Record: /home/me/reports/run-1
      "
    `);
  });

  it("is this on a deterministic model, where a gain breaks a case", () => {
    const size = { kind: "bytes", mean: 7000 } as const;
    const kept: VariantsSummary = {
      ...adopted,
      model: "lexical",
      note: "a retrieval baseline",
      kind: "keep",
      basis: { kind: "counted", variant: "terse", gain: 1, breaks: ["rename"] },
      method: "deterministic",
      winner: null,
      wordings: [
        { name: "incumbent", passed: 2, trials: 4, interval: [0.15, 0.85], size, test: null },
        {
          name: "terse",
          passed: 3,
          trials: 4,
          interval: [0.3, 0.95],
          size: { ...size, mean: 5766 },
          test: { gain: { change: 0.25, interval: null }, p: null, harmed: true, harms: ["rename"] },
        },
      ],
      untouched: ["weather"],
      calls: { made: 8, broken: 0, saved: 0 },
      costUsd: 0,
    };
    expect(renderTerminal(variantsDocument(kept), display)).toMatchInlineSnapshot(`
      "KEEP the incumbent
        terse passes 1 more case overall, but breaks rename.

      files · lexical (a retrieval baseline) · 2 wordings, 4 cases
      wording    passed (95% CI)   gain (95% CI)  list bytes      breaks
      ──────────────────────────────────────────────────────────────────
      incumbent  2/4 50% (15-85%)  -              7,000           -
      terse      3/4 75% (30-95%)  +25 pp         5,766 (-1,234)  rename

      Cases that changed (incumbent -> clear)
        ✓ read-one: 1/5 -> 5/5
        ✗ rename: 4/5 -> 2/5

      Method: the model is deterministic, so any difference is real
      Not asked (no variant changes their tool lists): weather
      Trials: 8 · cost $0
      Record: /home/me/reports/run-1
      "
    `);
  });

  it("is this after halving, and when it was stopped before anything was scored", () => {
    const stopped: VariantsSummary = {
      ...adopted,
      kind: "inconclusive",
      basis: { kind: "stopped" },
      method: null,
      winner: null,
      wordings: adopted.wordings.map((one) => ({ ...one, passed: 0, trials: 0, interval: null, test: null })),
      best: null,
      rounds: [["clear", "terse"], ["clear"]],
      costUsd: "unknown",
      exitCode: 130,
    };
    expect(renderTerminal(variantsDocument(stopped), display)).toMatchInlineSnapshot(`
      "INCONCLUSIVE: stopped before the verdict
        The trials made so far are on the record.
        Next: finish it with \`evals variants --resume run-1\`.

      files · anthropic:claude · 3 wordings, 4 cases
      wording    passed (95% CI)  gain (95% CI)  p  prompt tokens   breaks
      ────────────────────────────────────────────────────────────────────
      incumbent  not scored       -              -  812             -
      terse      not scored       -              -  600 (-212)      -
      clear      not scored       -              -  1,912 (+1,100)  -

      Left after round 1: clear, terse
      Left after round 2: clear
      Trials: 60 (2 broken, excluded from rates), 180 saved by stopping early · cost unknown
      Record: /home/me/reports/run-1
      "
    `);
  });

  it("fits 100 columns in ASCII, whatever the names hold", () => {
    const name = `\u001b[31m${"é".repeat(80)}`;
    const hostile = { ...adopted, suite: name, wordings: adopted.wordings.map((one) => ({ ...one, name })) };
    const text = renderTerminal(variantsDocument(hostile), { ...display, unicode: false });
    expect(text).toMatch(/^[\n -~]*$/);
    for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(100);
  });
});

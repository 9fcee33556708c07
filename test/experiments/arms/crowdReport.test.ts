import { describe, expect, it } from "vitest";
import { displayWidth } from "../../../src/evals/base/text/columns.ts";
import { crowdDocument } from "../../../src/evals/experiments/arms/crowdReport.ts";
import type { CrowdSummary } from "../../../src/evals/experiments/arms/crowdVerdict.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";

const display = { colour: false, width: 100, unicode: true };

const fallen: CrowdSummary = {
  run: "run-1",
  dir: "/home/me/reports/run-1",
  suite: "files",
  model: "openai:gpt",
  note: null,
  kind: "fell",
  points: [
    {
      size: 0,
      passed: 48,
      trials: 50,
      broken: 0,
      interval: [0.87, 0.99],
      change: null,
      p: null,
      adjusted: null,
      instead: { "own tool": 2 },
    },
    {
      size: 50,
      passed: 30,
      trials: 49,
      broken: 1,
      interval: [0.47, 0.74],
      change: { change: -0.348, interval: [-0.49, -0.2] },
      p: 0.0000123,
      adjusted: 0.0000123,
      instead: { "own tool": 2, "foreign tool": 16, "no tool": 1 },
    },
  ],
  falls: [
    {
      case: "read-one",
      alone: { passed: 10, trials: 10 },
      crowded: { passed: 1, trials: 10 },
      picked: [
        { tool: "mail_read", n: 6 },
        { tool: "(none)", n: 1 },
        { tool: "chat_read", n: 1 },
        { tool: "list", n: 1 },
      ],
    },
  ],
  cases: 5,
  costUsd: 1.5,
  exitCode: 0,
};

describe("the report of a crowd", () => {
  it("renders a fall of accuracy", () => {
    expect(renderTerminal(crowdDocument(fallen), display)).toMatchInlineSnapshot(`
      "ACCURACY FALLS: 96% correct with 0 foreign tools, 61% with 50
        How sure: the change is -34.8 pp (95% CI -49 to -20 pp); a fall is named at p < .05, corrected
          for all sizes.
        Next: see which foreign tools are picked instead (below), and describe how your tools differ
          from them.

      files · openai:gpt · 5 cases
      foreign tools  correct (95% CI)    change (95% CI)           p (Holm)  picked instead
      ────────────────────────────────────────────────────────────────────────────────────────────────────
      0              48/50 96% (87-99%)  -                         -         own tool 2
      50             30/49 61% (47-74%)  -34.8 pp (-49 to -20 pp)  <.001     foreign tool 16
                                                                             own tool 2
                                                                             no tool 1

      Cases that fell most, 0 -> 50 foreign tools
        read-one: 10/10 -> 1/10; picked mail_read 6, (none) 1, chat_read 1

      Trials: 100 (1 broken, excluded from rates) · cost $1.50
      Record: /home/me/reports/run-1
      "
    `);
  });

  it("renders a deterministic model", () => {
    const certain: CrowdSummary = {
      ...fallen,
      model: "lexical",
      note: "a retrieval baseline",
      kind: "no fall shown",
      points: fallen.points.map((one) => ({
        ...one,
        p: null,
        adjusted: null,
        broken: 0,
        change: one.change && { change: 0, interval: null },
      })),
      falls: [],
    };
    expect(renderTerminal(crowdDocument(certain), display)).toMatchInlineSnapshot(`
      "NO FALL SHOWN: 96% correct with 0 foreign tools, 61% with 50
        How sure: certain, since the model is deterministic.
        Next: try more of them with \`--sizes\`, or ones that are more like your own.

      files · lexical (a retrieval baseline) · 5 cases
      foreign tools  correct (95% CI)    change (95% CI)  picked instead
      ──────────────────────────────────────────────────────────────────────────────────────────
      0              48/50 96% (87-99%)  -                own tool 2
      50             30/49 61% (47-74%)  0 pp             foreign tool 16, own tool 2, no tool 1

      Trials: 99 · cost $1.50
      Record: /home/me/reports/run-1
      "
    `);
  });

  it.each([
    ["not scored", "NOT SCORED: every trial broke or could not be graded"],
    ["stopped", "STOPPED: 96% correct with 0 foreign tools, none scored with 50, of the trials made so far"],
  ] as const)("begins so when it is %s", (kind, line) => {
    const points = fallen.points.map((one) => (one.size > 0 ? { ...one, passed: 0, trials: 0, interval: null } : one));
    expect(renderTerminal(crowdDocument({ ...fallen, kind, points }), display).split("\n")[0]).toBe(line);
  });

  it("fits 100 columns in ASCII for any names", () => {
    const name = `\u202e${"日".repeat(90)}`;
    const falls = fallen.falls.map((one) => ({ ...one, case: name, picked: [{ tool: name, n: 1 }] }));
    const text = renderTerminal(crowdDocument({ ...fallen, suite: name, falls }), { ...display, unicode: false });
    expect(text).toMatch(/^[\n -~]*$/);
    for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(100);
  });
});

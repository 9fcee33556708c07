import { describe, expect, it } from "vitest";
import {
  caseSentence,
  caseState,
  explainedCases,
  lossText,
  rateText,
} from "../../../src/evals/experiments/results/text.ts";
import { forms, runReport } from "../../../src/evals/experiments/run/report/forms.ts";
import { headline, leadLines, runStatus } from "../../../src/evals/experiments/run/report/status.ts";
import { checkOf } from "../../reports/checks.ts";
import { caseOf, empty, failed, incomplete, manifest, passed, runOf, suiteOf } from "../../reports/samples.ts";

const a = { id: "a", input: "do a", expected: "a" };
const run = (exitCode: number, ...cases: Parameters<typeof suiteOf>[0]["cases"]) =>
  runOf([suiteOf({ cases })], exitCode);

describe("headline", () => {
  it("summarizes each sample", () => {
    expect([passed, failed, incomplete, empty].map(headline)).toMatchSnapshot();
  });

  it("names each model once, and counts those beyond three", () => {
    const suites = ["m1", "m2", "m3", "m4", "m1"].map((model) => suiteOf({ cases: [caseOf(a)], model, note: "n" }));
    expect(headline(runOf(suites, 0))).toBe("PASSED · 5 of 5 cases pass · m1, m2, m3 and 1 more");
  });

  it.each([
    ["NOT GATED · 1 of 2 cases passes · lexical", {}],
    [
      "NO REGRESSION · 1 of 2 cases passes, as in the baseline · lexical",
      { verdict: checkOf({ kind: "no-regression" }) },
    ],
    ["UNCHANGED · 1 of 2 cases passes, as in the baseline · lexical", { verdict: { kind: "unchanged", notes: [] } }],
  ])("says of failing cases that fail nothing what they are compared with: %s", (line, given) => {
    const accepted = (passed: number) => (line.includes("baseline") ? { before: { passed, trials: 5 } } : {});
    const cases = [caseOf({ ...a, ...accepted(5) }), caseOf({ ...a, passed: 0, ...accepted(0) })];
    expect(
      headline(runOf([suiteOf({ cases, kind: "language model", failOn: ["regressed"], ...given } as never)], 0)),
    ).toBe(line);
  });

  it("says how many cases passed in the baseline if they are others", () => {
    const before = { passed: 5, trials: 5 };
    const cases = [caseOf({ ...a, before }), caseOf({ ...a, passed: 0, before }), caseOf(a)];
    expect(headline(runOf([suiteOf({ cases })], 1))).toBe(
      "FAILED · 2 of 3 cases pass, 2 of 2 in the baseline · lexical",
    );
  });

  it("proposes to look at a case that made the run fail, not at one without a gate", () => {
    const red = caseOf({ ...a, id: "ungated", passed: 0 });
    const gated = caseOf({ ...a, id: "gated", passed: 0 });
    const suites = [
      suiteOf({ cases: [red], failOn: ["regressed"], failed: [] }),
      suiteOf({ cases: [gated], failOn: ["rate"], failed: ["rate"] }),
    ];
    expect(leadLines(runOf(suites, 1), manifest).at(-1)).toContain("`evals show gated --failed`");
  });

  it("repeats what was given in the command that it proposes", () => {
    const quick = { ...passed, partial: { asked: [], leftOut: [], since: "baseline" as const } };
    const next = (flags: object) => leadLines(quick, { ...manifest, flags: flags as typeof manifest.flags }).at(-1);
    const given = { paths: ["evals/a.yaml"], model: ["openai:x"], baseUrl: "http://127.0.0.1:8000/v1" };
    expect(next(given)).not.toContain("evals/a.yaml");
    expect(next({ ...given, given: ["paths", "model", "baseUrl"] })).toContain(
      "`evals run evals/a.yaml -m openai:x --base-url http://127.0.0.1:8000/v1",
    );
  });

  it("is not PASSED if trials broke, even if every case passed", () => {
    const one = caseOf({ ...a, trials: 4, broken: 1, brokenStages: { model: 1 } });
    expect(headline(run(3, one))).toBe("INCOMPLETE · 1 of 1 case passes · lexical");
  });

  it.each([130, 143, 3])("is INCOMPLETE for exit code %d", (code) =>
    expect(runStatus(run(code, caseOf(a)))).toBe("INCOMPLETE"),
  );

  it("is never PASSED without cases, whatever the exit code", () => {
    expect(runStatus(runOf([], 0))).toBe("FAILED");
  });
});

describe("caseState", () => {
  it.each([
    ["passed", {}],
    ["failed", { passed: 3 }],
    ["failed", { passed: 1, trials: 3, broken: 2 }],
    ["failed", { passed: 1, trials: 3, notGradable: 2 }],
    ["not gradable", { trials: 0, notGradable: 5 }],
    ["not gradable", { trials: 4, notGradable: 1 }],
    ["broken", { trials: 0, broken: 5 }],
    ["missing", { trials: 0, planned: 5 }],
    ["missing", { trials: 0, planned: 0 }],
  ])("%s: %j", (state, given) => expect(caseState(caseOf({ ...a, ...given }))).toBe(state));
});

describe("a case in words", () => {
  it("gives no rate without its counts", () => {
    const some = caseOf({ ...a, trials: 3, passed: 2, broken: 1, planned: 5, brokenStages: { timeout: 1 } });
    expect([rateText(some), caseSentence(some), lossText(some)]).toEqual([
      "2/3 67% (21-94%)",
      "2 of 3 graded trials passed: 67% (95% CI 21-94%), needs 80%; 1 broken, 1 missing",
      "2 of 5 (missing 1, timeout 1)",
    ]);
    const none = caseOf({ ...a, trials: 0, broken: 5 });
    expect([rateText(none), caseSentence(none)]).toEqual([
      "no graded trial",
      "none of 5 trials was graded, needs 80%; 5 broken",
    ]);
  });

  it("explains failures, red cases first, and lists broken trials separately", () => {
    const reasons = [{ text: "why", n: 1 }];
    const suite = suiteOf({
      cases: [
        caseOf({ ...a, id: "flaky", passed: 4, reasons }),
        caseOf({ ...a, id: "broke", trials: 4, broken: 1, reasons }),
        caseOf({ ...a, id: "red", passed: 1, reasons }),
        caseOf({ ...a, id: "both", trials: 4, passed: 1, broken: 1, reasons }),
        caseOf({ ...a, id: "fine" }),
      ],
    });
    expect(explainedCases(suite).map((one) => one.id)).toEqual(["red", "both", "flaky"]);
  });
});

it("reports a crashed server once, not for every case", () => {
  const broken = (id: string, tool: string) =>
    caseOf({
      ...{ id, input: "x", expected: tool, trials: 0, broken: 2, brokenStages: { server: 2 } },
      reasons: [{ text: `broken (server): Server "files", called for "${tool}", exited with code 3.`, n: 2 }],
    });
  const summary = runOf([suiteOf({ cases: [broken("a", "read"), broken("b", "read"), broken("c", "list")] })], 3);
  const text = forms.terminal.render(runReport({ summary, manifest }));
  expect(text.match(/exited with code 3/g)).toHaveLength(1);
  expect(text).toContain('3 cases, 6 broken trials: a, b, c\n    broken (server): Server "files" exited with code 3.');
});

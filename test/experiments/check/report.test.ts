import { describe, expect, it } from "vitest";
import type { ComparedCheck } from "../../../src/evals/base/types/check.ts";
import type { RunSummary, SuiteSummary } from "../../../src/evals/base/types/run.ts";
import { checkBlocks } from "../../../src/evals/experiments/check/report.ts";
import { checkNext, checkReason, type FollowUp } from "../../../src/evals/experiments/check/sentences.ts";
import { formNames, forms, runReport } from "../../../src/evals/experiments/run/report/forms.ts";
import { exitText, leadLines, runStatus } from "../../../src/evals/experiments/run/report/status.ts";
import { pipe, renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { passedOf } from "../../fakes/record.ts";
import { checked, checkedRun, checkOf } from "../../reports/checks.ts";
import { caseOf, manifest, passed } from "../../reports/samples.ts";

const blocksOf = ({ suites }: RunSummary) => suites.slice(0, 1).flatMap((suite) => checkBlocks(suite));

// Headlines and sentences of every verdict: test/reports/snapshots.
it("never contradicts the exit code, and explains it if needed", () => {
  expect(
    Object.entries(checked).map(
      ([name, summary]) => `${name}: ${exitText(summary, { ...manifest, failOn: ["regressed"] })}`,
    ),
  ).toMatchSnapshot();
});

it.each([1, 3, 130])("calls a run regressed whatever the exit code: %d", (exitCode) =>
  expect(runStatus({ ...checked.regressed, exitCode })).toBe("REGRESSED"),
);

it("shows a placebo as edits of the list of today", () => {
  const moved = { base: passedOf(3, 20), head: passedOf(17, 20), p: 0.00001 };
  const placebo = checkOf({
    ...{ kind: "changed", method: "placebo", trials: 20, cap: 20, net: null, selection: null },
    ...{ suite: null, calls: { base: 60, head: 60, copies: 0, missing: 0 } },
    rose: [{ case: "read-head", ...moved }],
    changes: [
      { label: "read: description", class: "description only", before: "Reads one file.", after: "Reads a file." },
    ],
  });
  const blocks = blocksOf(checkedRun(placebo, { failOn: ["regressed"], failed: [] }));
  expect(renderTerminal(blocks, pipe)).toMatchSnapshot();
});

it("is absent without a check", () => {
  expect(blocksOf(passed)).toEqual([]);
});

describe("the sentences", () => {
  it("state the reason without test statistics", () => {
    for (const { suites } of Object.values(checked)) {
      const verdict = suites[0]?.verdict;
      if (verdict && "method" in verdict) expect(checkReason(verdict)).not.toMatch(/\bp [=<]|CI|alpha|z =/);
    }
  });

  it.each(["changed", "no-regression"] as const)(
    "claim no certainty if repeats alone suggest a deterministic model: %s",
    (kind) => {
      const flips = [{ case: "read-head", down: 1, up: 0, pairs: 1 }];
      const render = (repeats?: number) => {
        const summary = checkedRun(
          checkOf({ kind, method: "exhausted", flips, ...(repeats !== undefined && { repeats }) }),
        );
        const report = runReport({ summary, manifest });
        return formNames.map((form) => forms[form].render(report, pipe).replace(/\s+/g, " "));
      };
      for (const text of render()) expect(text).not.toContain("How sure");
      const assumed = render(6);
      const sure = "this assumes that the model is deterministic: 6 repeated requests got the same answers as before";
      expect(assumed.filter((text) => text.includes(sure)).length).toBeGreaterThanOrEqual(3);
      for (const text of assumed) expect(text).not.toMatch(/: certain|model is deterministic\.|A deterministic model/);
    },
  );

  it("say what would settle an inconclusive check", () => {
    const open = (advice: ComparedCheck["advice"]) =>
      checkNext(checkOf({ kind: "inconclusive", because: "cap", trials: 25, advice }));
    expect([
      open({ likely: 20, safe: 60, atLeast: false }),
      open({ likely: 90, safe: 400, atLeast: false }),
      open({ likely: 900, safe: 4000, atLeast: false }),
      open({ likely: 20_000, safe: 20_000, atLeast: true }),
      open(null),
    ]).toMatchSnapshot();
  });

  it("propose nothing that the command does itself", () => {
    const accepted = ["regressed", "certain", "not-comparable"] as const;
    for (const name of accepted) {
      const all = (followUp?: FollowUp) => {
        const report = runReport({ summary: checked[name], manifest, ...(followUp && { followUp }) });
        return formNames.map((form) => forms[form].render(report, pipe).replace(/\s+/g, " "));
      };
      expect(all().filter((text) => text.includes("baseline accept")).length).toBeGreaterThanOrEqual(5);
      for (const text of all({ accept: true })) expect(text).not.toContain("baseline accept");
      for (const text of all({ blame: true })) expect(text).not.toContain("blame latest");
    }
    expect(leadLines(passed, manifest)).toContainEqual(expect.stringContaining("`evals baseline accept`"));
    expect(leadLines(passed, manifest, { accept: true }).join()).not.toContain("Next");
    const [{ verdict }] = checked.regressed.suites as [SuiteSummary];
    expect(verdict && checkNext(verdict, { blame: true })).toBe(
      "Next: revert or reword what the blame report names; or accept the change with `evals baseline accept`.",
    );
  });
});

describe("changes", () => {
  const changes = ["move_file: title", "read: description", "read.path: description", '"a b": new tool'].map(
    (label) => ({ label, before: "a" }),
  );
  const cases = [caseOf({ id: "one", input: "x", expected: "read | open" })];
  const counts = { base: passedOf(9, 9), head: passedOf(0, 9) };
  const labels = (given: Partial<Parameters<typeof checkOf>[0]>) => {
    const blocks = blocksOf(checkedRun(checkOf({ kind: "no-regression", changes, ...given }), { cases }));
    const diffs = blocks.flatMap((block) => (block.kind === "details" ? block.blocks : [block]));
    return diffs.flatMap((block) => (block.kind === "diff" ? [block.changes.map(({ label }) => label)] : []));
  };

  it("of tools that a dropped case expects come first", () => {
    expect(labels({ flagged: [{ case: "one", ...counts, p: 0 }] })).toEqual([
      ["read: description", "read.path: description", "move_file: title", '"a b": new tool'],
    ]);
  });

  it("all come first if no tool is named", () => {
    expect(labels({})).toEqual([changes.map(({ label }) => label)]);
  });

  it("beyond the first twenty are listed without a diff", () => {
    const many = Array.from({ length: 22 }, (_, at) => ({ label: `t${at}: description`, before: "a", after: "b" }));
    const blocks = blocksOf(checkedRun(checkOf({ kind: "no-regression", changes: many })));
    const diff = blocks.find((block) => block.kind === "diff");
    expect(diff?.changes.slice(19)).toEqual([many[19], { label: "t20: description" }, { label: "t21: description" }]);
  });
});

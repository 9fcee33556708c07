import { describe, expect, it } from "vitest";
import type { PartialRun } from "../../../../src/evals/base/types/run.ts";
import { describePartial, leadLines } from "../../../../src/evals/experiments/run/report/status.ts";
import { failed, incomplete, manifest } from "../../../reports/samples.ts";

const asked: PartialRun["asked"] = [
  { suite: "files", case: "read-notes", why: "stale", tools: ["read"] },
  { suite: "files", case: "read-all", why: "stale", tools: ["read"] },
  { suite: "files", case: "list-home", why: "neighbor", tools: ["read"] },
];

describe("the description of a partial run", () => {
  it("names the cases of one suite with their reasons", () => {
    const leftOut: PartialRun["leftOut"] = [{ suite: "files", why: "unchanged", cases: 9 }];
    expect(describePartial({ since: "baseline", asked, leftOut }).join("\n")).toMatchInlineSnapshot(`
      "Asking 3 of 12 cases.
        read-notes, read-all: read changed
        list-home: read changed, which is similar to an expected tool
      Left out: 9 cases of files. No change since the accepted baseline touches them."
    `);
  });

  it("names the suites if there are several", () => {
    const more: PartialRun["asked"] = [
      ...asked,
      { suite: "mail", case: "read-notes", why: "stale", tools: ["read"] },
      { suite: "mail", case: "send", why: "new", tools: [] },
    ];
    const leftOut: PartialRun["leftOut"] = [
      { suite: "files", why: "unchanged", cases: 2 },
      { suite: "notes", why: "unchanged", cases: 4 },
    ];
    expect(describePartial({ since: "last asked", asked: more, leftOut }).join("\n")).toMatchSnapshot();
  });

  it("says in one line that nothing changed", () => {
    const leftOut: PartialRun["leftOut"] = [{ suite: "files", why: "unchanged", cases: 12 }];
    expect(describePartial({ since: "baseline", asked: [], leftOut })).toEqual([
      "No case is asked: no change since the accepted baseline affects any of 12 cases.",
    ]);
  });
});

describe("the next step of a run that was stopped", () => {
  const lastOf = (summary: typeof incomplete) => leadLines(summary, manifest).at(-1);
  const resume = `finish the run with \`evals run --resume ${incomplete.run}\``;

  it("is to fix what broke, unless all of it was cancelled", () => {
    expect(lastOf(incomplete)).toBe(`Next: fix what broke (below), then ${resume}.`);
    const suites = incomplete.suites.map((suite) => ({
      ...suite,
      cases: suite.cases.map((one) => ({ ...one, brokenStages: { cancelled: one.broken } })),
    }));
    expect(lastOf({ ...incomplete, suites })).toBe(`Next: ${resume}.`);
  });

  it("names the folder of a record that is not in the default one", () => {
    expect(lastOf({ ...incomplete, dir: "out/2026" })).toMatch("`evals run --resume out/2026`");
    expect(lastOf({ ...incomplete, dir: "ci/reports/2026" })).toMatch("`evals run --resume ci/reports/2026`");
    expect(lastOf({ ...failed, dir: "/data/a b/2026" })).toMatch(` --failed --run '/data/a b/2026'\``);
  });

  it("is to resume it where cases failed, too", () => {
    expect(lastOf({ ...failed, totals: { ...failed.totals, missing: 3 } })).toMatch(`Next: ${resume}; read what`);
  });
});

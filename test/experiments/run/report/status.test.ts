import { describe, expect, it } from "vitest";
import type { PartialRun } from "../../../../src/evals/base/types/run.ts";
import { describePartial } from "../../../../src/evals/experiments/run/report/status.ts";

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
    expect(describePartial({ since: "last asked", asked: more, leftOut }).join("\n")).toMatchInlineSnapshot(`
      "Asking 5 of 11 cases.
        read-notes, read-all of files: read changed
        list-home of files: read changed, which is similar to an expected tool
        read-notes of mail: read changed
        send of mail: new
      Left out: 2 cases of files, 4 cases of notes. No change since they were last asked touches them."
    `);
  });

  it("says in one line that nothing changed", () => {
    const leftOut: PartialRun["leftOut"] = [{ suite: "files", why: "unchanged", cases: 12 }];
    expect(describePartial({ since: "baseline", asked: [], leftOut })).toEqual([
      "No case is asked: no change since the accepted baseline affects any of 12 cases.",
    ]);
  });
});

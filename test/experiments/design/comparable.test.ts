import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { type ComparedRun, comparability } from "../../../src/evals/experiments/design/comparable.ts";

const run = (change: Partial<ComparedRun> = {}): ComparedRun => ({
  ...{ suite: "files", model: "m", settings: {}, host: "plain", exposure: "all", harness: "1.2.0" },
  cases: ["a", "b", "c"].map((id) => ({ id, hash: `hash of ${id}` })),
  ...change,
});

describe("comparability", () => {
  it("compares the cases that are the same, and names the others", () => {
    const now = run({
      harness: "1.9.3",
      cases: [
        { id: "b", hash: "another" },
        { id: "c", hash: "hash of c" },
        { id: "d", hash: "hash of d" },
      ],
    });
    expect(comparability(run(), now)).toEqual({
      kind: "comparable",
      cases: ["c"],
      notes: ["Added (not compared): d", "Removed or not selected (not compared): a", "Reworded (not compared): b"],
    });
  });

  it("says so when no case is left", () => {
    expect(comparability(run(), run({ cases: [] }))).toMatchObject({
      kind: "comparable",
      cases: [],
      notes: [
        "No case is the same in both, so nothing can be compared",
        "Removed or not selected (not compared): a, b, c",
      ],
    });
  });

  it("gives every reason why runs cannot be compared", () => {
    const other = run({
      ...{ suite: "mail", model: "n", host: "claude-code", exposure: "names (keyword 1)", harness: "2.0.0" },
    });
    expect(comparability(run(), other)).toEqual({
      kind: "not comparable",
      reasons: [
        'The suite differs: "files" before, "mail" now. Compare runs of the same suite.',
        'The model differs: "m" before, "n" now. Run the same model, or accept a new baseline for it.',
        'The host profile differs: "plain" before, "claude-code" now. Use the same --host, or accept a new baseline for it.',
        'The exposure differs: "all" before, "names (keyword 1)" now. Use the same --exposure, or accept a new baseline for it.',
        'The major version differs: "1" before, "2" now. Accept a new baseline with this version.',
      ],
    });
  });

  it("ignores settings that cannot change an answer, and names another base URL", () => {
    const settings = (more: JsonObject) => run({ settings: { maxTokens: 10, ...more } });
    const before = settings({ baseUrl: "https://a/", retries: 4, timeoutMs: 1000 });
    expect(comparability(before, settings({ baseUrl: "https://a/", retries: 0, timeoutMs: 9 }))).toMatchObject({
      kind: "comparable",
      notes: [],
    });
    expect(comparability(before, settings({ baseUrl: "https://b/" }))).toMatchObject({
      kind: "comparable",
      notes: ["Another base URL is asked now (https://b/, before https://a/): the same model is assumed behind both"],
    });
    expect(comparability(before, settings({ maxTokens: 11 })).kind).toBe("not comparable");
  });

  it("takes a minor version below 1.0 for a major one, and names other settings", () => {
    expect(comparability(run({ harness: "0.1.0" }), run({ harness: "0.1.9" })).kind).toBe("comparable");
    expect(comparability(run({ harness: "0.1.0" }), run({ harness: "0.2.0" })).kind).toBe("not comparable");
    expect(comparability(run(), run({ settings: { temperature: 1 } })).kind).toBe("not comparable");
  });
});

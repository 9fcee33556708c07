import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Score, Trial } from "../../../src/evals/base/types/trial.ts";
import {
  type ComparedRecord,
  type Comparison,
  type ComparisonReport,
  compareSides,
  comparisonDocument,
} from "../../../src/evals/experiments/compare/report.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { aTrial, passed, passedOf } from "../../fakes/record.ts";
import { aTool } from "../../fakes/suite.ts";
import { checkOf } from "../../reports/checks.ts";

const failed: Score = { ...passed, grade: "fail", selection: "wrong-tool", picked: "write" };
const broken = { outcome: { kind: "broken", stage: "model", message: "gone" } } as const;

/** Trials from one letter each: p pass, f fail, b broken. */
function trials(id: string, letters: string): Trial[] {
  return [...letters].map((letter, index) => {
    const { verdict: _, ...unscored } = aTrial(id, index + 1);
    return letter === "b"
      ? { ...unscored, ...broken }
      : aTrial(id, index + 1, { verdict: letter === "p" ? passed : failed });
  });
}

function side(cases: Record<string, string>, changes: Partial<ComparedRecord> = {}): ComparedRecord {
  const ids = Object.keys(cases);
  return {
    ...{ suite: "s", model: "scripted", settings: {}, host: "plain", exposure: "all", harness: "0.1.0" },
    deterministic: false,
    cases: ids.map((id) => ({ id, hash: `hash of ${id}`, toolset: "list", expected: "read" })),
    toolsets: { list: [aTool("read"), aTool("write")] },
    seen: { kind: "trials", trials: ids.flatMap((id) => trials(id, cases[id] ?? "")) },
    ...changes,
  };
}

function compared(base: ComparedRecord, head: ComparedRecord): Extract<Comparison, { kind: "compared" }> {
  const found = compareSides(base, head);
  if (found.kind === "refused") throw new Error(found.reasons.join());
  return found;
}

const all = (n: number) => "p".repeat(n);
const none = (n: number) => "f".repeat(n);

describe("which of two records is better", () => {
  it("is the one that the other dropped from", () => {
    const [good, bad] = [side({ a: all(10), b: all(10) }), side({ a: none(10), b: all(10) })];
    const worse = compared(good, bad);
    expect(worse).toMatchObject({
      cases: 2,
      base: passedOf(20, 20),
      head: passedOf(10, 20),
      better: "base",
      check: { kind: "regressed", method: "records", net: { change: -0.5 }, flagged: [{ case: "a" }] },
      improved: [],
      exitCode: 1,
    });
    expect(compared(bad, good)).toMatchObject({
      better: "head",
      check: { kind: "no-regression", flagged: [] },
      improved: [{ case: "a", base: { passed: 0 }, head: { passed: 10 } }],
      exitCode: 0,
    });
  });

  it("is neither where some cases dropped and others improved", () => {
    const crossed = compared(side({ a: all(10), b: none(10) }), side({ a: none(10), b: all(10) }));
    expect(crossed).toMatchObject({ better: "mixed", check: { kind: "regressed" }, exitCode: 1 });
  });

  it("is not shown where the difference may be chance, and nothing is said on nothing", () => {
    expect(compared(side({ a: "ppppf" }), side({ a: "pppff" }))).toMatchObject({
      better: "none",
      check: { kind: "inconclusive" },
      exitCode: 0,
    });
    expect(compared(side({ a: "bbb" }), side({ a: "ppp" }))).toMatchObject({
      cases: 0,
      better: "none",
      check: { kind: "inconclusive", because: "missing" },
      exitCode: 3,
    });
    expect(compareSides(side({ a: "" }), side({ a: "ppp" }))).toMatchObject({ kind: "refused", exitCode: 3 });
  });

  it("is not asked where no case was scored in both: no change is shown, and the next step is to repeat the run", () => {
    const of = (name: string) => ({ name, what: "a run", path: name });
    const comparisons = [compared(side({ a: "ppp" }), side({ a: "bbb" }))];
    const given = { base: of("a"), head: of("b"), interleaved: false, comparisons, notes: [] } as const;
    const printed = renderTerminal(comparisonDocument(given as unknown as ComparisonReport), display);
    expect(printed).toContain("Next: repeat the run whose answers are missing, then compare again.");
    expect(printed).toContain("No case was scored in both.");
    expect(printed).not.toContain("Net change");
  });

  it("works with one trial a case: then it is McNemar's exact test", () => {
    const ids = Array.from({ length: 20 }, (_, i) => `case ${i}`);
    const of = (letter: (i: number) => string) => side(Object.fromEntries(ids.map((id, i) => [id, letter(i)])));
    const found = compared(
      of(() => "p"),
      of((i) => (i < 8 ? "f" : "p")),
    );
    expect(found.better).toBe("base");
    expect(found.check.suite).toMatchObject({ down: 8, up: 0, p: expect.closeTo(1 / 2 ** 8, 12) });
  });

  it("needs no chance for a deterministic model", () => {
    const certain = { deterministic: true };
    const found = compared(side({ a: "p", b: "p" }, certain), side({ a: "f", b: "p" }, certain));
    expect(found).toMatchObject({
      better: "base",
      check: { kind: "changed", method: "exhausted", reach: null, flips: [{ case: "a", down: 1, up: 0, pairs: 1 }] },
    });
  });

  it("is the same answer from the other side", () => {
    const record = fc.array(fc.stringMatching(/^[pfb]{1,8}$/), { minLength: 3, maxLength: 3 });
    const sideOf = (letters: string[]) => side(Object.fromEntries(letters.map((text, i) => [`case ${i}`, text])));
    const mirrored = { base: "head", head: "base", mixed: "mixed", none: "none" } as const;
    fc.assert(
      fc.property(record, record, (a, b) => {
        const [there, back] = [compared(sideOf(a), sideOf(b)), compared(sideOf(b), sideOf(a))];
        expect(back.better).toBe(mirrored[there.better]);
        expect([back.base, back.head]).toEqual([there.head, there.base]);
      }),
      { numRuns: 50 },
    );
  });
});

describe("what is compared", () => {
  it("takes the counts of a baseline, which knows no confusions", () => {
    const counts = new Map([["a", passedOf(20, 20)]]);
    const base = side({ a: "" }, { seen: { kind: "counts", counts } });
    const found = compared(base, side({ a: none(5) }));
    expect(found).toMatchObject({ base: passedOf(20, 20), better: "base" });
    expect(found.check.grew).toEqual([]);
  });

  it("leaves out what broke, and cases that were added, removed or reworded", () => {
    const head = side({ a: "ppb", b: "fff", c: "ppp" });
    const reworded = head.cases.map((one) => (one.id === "b" ? { ...one, hash: "another" } : one));
    const found = compared(side({ a: "ppp", b: "ppp", d: "ppp" }), { ...head, cases: reworded });
    expect(found).toMatchObject({ cases: 1, base: { trials: 3 }, head: passedOf(2, 2) });
    expect(found.check.calls).toMatchObject({ base: 3, head: 3, missing: 1 });
    expect(found.check.grew).toEqual([]);
    expect(found.check.notes).toEqual([
      "Added (not compared): c",
      "Removed or not selected (not compared): d",
      "Reworded (not compared): b",
    ]);
  });

  it("reports the confusions that grew, and first the wording of the tools in them", () => {
    const list = [
      aTool("append", { description: "Adds." }),
      aTool("read"),
      aTool("write", { description: "Reads too." }),
    ];
    const head = side({ a: none(6) }, { toolsets: { list: [] } });
    const moved = { ...head, cases: head.cases.map((one) => ({ ...one, toolset: "new" })), toolsets: { new: list } };
    const base = side({ a: all(6) }, { toolsets: { list: [aTool("append"), aTool("read"), aTool("write")] } });
    const { check } = compared(base, moved);
    expect(check.grew).toEqual([{ expected: "read", picked: "write", base: passedOf(0, 6), head: passedOf(6, 6) }]);
    expect(check.changes).toEqual([
      { label: "write: description", before: "Does write.", after: "Reads too." },
      { label: "append: description", before: "Does append.", after: "Adds." },
    ]);
  });

  it("is refused with every reason when the two are not of the same thing", () => {
    const other = side({ a: "p" }, { model: "another", host: "codex", harness: "1.0.0" });
    expect(compareSides(side({ a: "p" }), other)).toMatchObject({
      kind: "refused",
      model: "another",
      reasons: [
        'The model differs: "scripted" before, "another" now. Run the same model, or accept a new baseline for it.',
        'The host profile differs: "plain" before, "codex" now. Use the same --host, or accept a new baseline for it.',
        'The major version differs: "0.1" before, "1" now. Accept a new baseline with this version.',
      ],
      exitCode: 3,
    });
    expect(compareSides(side({ a: "p" }), side({ b: "p" }))).toMatchObject({
      kind: "refused",
      reasons: expect.arrayContaining(["No case is the same in both, so nothing can be compared"]),
    });
  });

  it("minds the settings of the model only where both are known", () => {
    const warm = side({ a: "p" }, { settings: { temperature: 1 } });
    const { settings: _, ...unknown } = side({ a: "p" });
    expect(compareSides(side({ a: "p" }), warm).kind).toBe("refused");
    expect(compareSides(unknown, warm).kind).toBe("compared");
  });
});

const display = { color: false, width: 100, unicode: true };

const check = {
  ...checkOf({ kind: "regressed", by: "cases" }),
  method: "records",
  ...{ look: 1, looks: 1, trials: 18, cap: 18, cases: 10 },
  net: { change: -0.084, interval: [-0.152, -0.031], standardError: 0.034, z: 1.76, cases: 10 },
  suite: { down: 21, up: 6, p: 0.003, level: 0.04 },
  flagged: [{ case: "read-several", base: passedOf(20, 20), head: passedOf(6, 20), p: 0.0000023 }],
  missing: { base: 1, head: 2, recovered: { base: 0, head: 0 }, worst: -0.09, best: -0.08 },
  grew: [{ expected: "read_multiple_files", picked: "read_text_file", base: passedOf(0, 20), head: passedOf(13, 20) }],
  changes: [
    {
      label: "read_multiple_files: description",
      before: "Read several files at once.",
      after: "Read a batch of resources at once.",
    },
    ...Array.from({ length: 7 }, (_, i) => ({ label: `tool_${i}: new tool`, after: "New." })),
  ],
  calls: { base: 200, head: 200, ahead: 0, copies: 0, missing: 3 },
  notes: ["Added (not compared): rename"],
  exitCode: 1,
} as const;

const report = {
  base: { name: "evals/baselines/files.lexical.json", what: "the baseline of 2026-11-20, from the run 2026-11-20T08" },
  head: { name: "2026-11-21T09-30-00-000", what: "the run of 2026-11-21 09:30 UTC" },
  interleaved: false,
  comparisons: [
    {
      ...{ kind: "compared", suite: "files", model: "anthropic:x", cases: 10, base: passedOf(190, 198) },
      ...{ head: passedOf(173, 199), better: "base", check },
      improved: [{ case: "find", base: passedOf(4, 20), head: passedOf(15, 20), p: 0.0007 }],
    },
    {
      ...{ kind: "compared", suite: "files", model: "lexical", cases: 1, base: passedOf(1, 1) },
      ...{ head: passedOf(1, 1), better: "none" },
      check: {
        ...check,
        kind: "no-regression",
        by: null,
        method: "exhausted",
        missing: null,
        net: { change: 0, interval: [0, 0], standardError: 0, z: 1.76, cases: 1 },
        flagged: [],
        grew: [],
        changes: [],
        calls: { base: 1, head: 1, ahead: 0, copies: 0, missing: 0 },
        notes: [],
      },
      improved: [],
    },
    {
      kind: "refused",
      suite: "mail",
      model: "anthropic:x",
      reasons: [
        "the host profile was plain then and is codex now",
        "the harness's major version was 1 then and is 2 now",
      ],
    },
  ],
  notes: ["Only in B: mail on lexical"],
} as const satisfies Readonly<Record<keyof ComparisonReport, unknown>>;

// The literal is deeply read-only, which the parameter of the report is not.
const given = structuredClone(report) as unknown as ComparisonReport;

describe("a comparison of two records", () => {
  it("says which is better, then shows the evidence", async () => {
    await expect(renderTerminal(comparisonDocument(given), display)).toMatchFileSnapshot("snapshots/comparison.txt");
  });

  it.each([
    ["mixed", "Neither is better throughout: some cases dropped from A to B, others rose · A to B: REGRESSED"],
    ["head", "B is better than A · A to B: REGRESSED"],
  ] as const)("has a sentence for %s", (better, headline) => {
    const [first] = given.comparisons;
    const comparisons = first?.kind === "compared" ? [{ ...first, better }] : [];
    const text = renderTerminal(comparisonDocument({ ...given, comparisons }), { ...display, width: 200 });
    expect(text.split("\n")[0]).toBe(`${headline} (read-several) · files · anthropic:x`);
  });
});

import { groupBy } from "../../base/collections.ts";
import { pool } from "../../base/stats/counts.ts";
import { fisherP } from "../../base/stats/hypothesisTests.ts";
import {
  type Block,
  diff,
  facts,
  heading,
  type Inline,
  makeColumns,
  section,
  type Tone,
  table,
  text,
} from "../../reports/document.ts";
import { count, integer, level, money, percent, probability, ratio, some } from "../../reports/format.ts";
import { modelLabel } from "../results/text.ts";
import type { BlamedCase, BlameReport, BlameTest } from "./verdict.ts";

type CaseReport = BlameReport["cases"][number];
/** Cases with the same verdict on the same changes. */
type Group = { cases: readonly CaseReport[]; verdict: BlamedCase | null };

/** The report of `evals blame` on one suite and model: what broke which cases, the wording, and the evidence. */
export function blameDocument(report: BlameReport): Block[] {
  const { suite, model, note, from, stopped, costUsd, calls, dir } = report;
  const made = calls.search + calls.confirmation;
  const parts =
    calls.confirmation > 0 ? `: ${integer(calls.search)} to search, ${integer(calls.confirmation)} to confirm` : "";
  return [
    ...groupCases(report.cases).flatMap((group) => groupBlocks(group, report)),
    facts(
      ["Suite", `${suite} · ${modelLabel({ model, note })}, against ${from}`],
      ["Trials", `${integer(made)}${parts}, at most ${integer(calls.most)} · cost ${money(costUsd)}`],
      ["Stopped", stopped ?? undefined],
      ["Record", dir],
    ),
  ];
}

/** A report as `evals blame --json` prints it. */
export function blameJson(report: BlameReport) {
  const cases = report.cases.map((one) => ({ ...one, ...describe({ cases: [one], verdict: one.verdict }, report) }));
  return { ...report, cases };
}

function groupCases(cases: readonly CaseReport[]): Group[] {
  const groups = groupBy(cases, ({ case: id, verdict }) => {
    const isNamed = verdict && verdict.descriptions.length > 0;
    return JSON.stringify(isNamed ? [verdict.kind, verdict.descriptions, verdict.relation] : id);
  });
  return [...groups.values()].map((members) => ({ cases: members, verdict: members[0]?.verdict ?? null }));
}

/** A fall of a case that is larger than chance, at 1 %: then something changed it, if no single change. */
const isSureFall = ({ cases }: Group) => cases.some(({ known: { old, new: now } }) => fisherP(old, now) <= 0.01);

/** What is left where no single change or pair is at fault. */
const nameNone = (group: Group) => (isSureFall(group) ? "the edits together" : "no change at all");

const nameCases = ({ cases }: Group) => joinNames(cases.map((one) => one.case));

function joinNames(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function groupBlocks(group: Group, report: BlameReport): Block[] {
  const { cases, verdict } = group;
  const { headline, reason, next } = describe(group, report);
  const named = verdict?.descriptions ?? [];
  const culprits = (cases[0]?.changes ?? []).filter(({ id }) => named.includes(id));
  const asked = cases.map((one): Inline => {
    const { old, new: now } = one.known;
    const rates = `: ${ratio(old)} with the old list, ${ratio(now)} with the new one. `;
    return ["Case ", { code: one.case }, rates, { code: `"${one.input}"`, max: 90, dim: true }];
  });
  return [
    heading(1, headline, tone(verdict)),
    text(reason, `Next: ${next}`),
    text(...asked),
    ...section(culprits.length === 1 ? "The change" : "The changes", [diff(culprits, 6)]),
    ...section("Exact tests on fresh trials (p over all cases of a change)", [testTable(group, report.tests)]),
  ];
}

function tone(verdict: BlamedCase | null): Tone {
  return verdict?.kind === "blamed" || verdict?.kind === "in-part" ? "bad" : "warn";
}

/** The verdict in plain words. `next`: what to do next, as an imperative clause. */
function describe(group: Group, { tests, run, risen }: BlameReport) {
  const { verdict } = group;
  const cases = nameCases(group);
  if (!verdict)
    return {
      headline: `NOT DECIDED: ${cases}`,
      reason: `The search for what broke ${cases} was stopped.`,
      next: `finish it with \`evals blame --resume ${run}\`.`,
    };
  const named = joinNames(verdict.descriptions);
  switch (verdict.kind) {
    case "blamed":
      return {
        headline: `BLAMED: ${named}`,
        reason: describeBlamed(group, verdict, tests),
        next: `revert or reword ${named}.${describeRisen(risen)}`,
      };
    case "in-part":
      return {
        headline: `BLAMED IN PART: ${named}`,
        reason: `${describeTests(group, tests)} It may not be all: ${likeliest(verdict, nameNone(group))}.`,
        next: `revert or reword ${named}, then check again.${describeRisen(risen)}`,
      };
    case "undecided":
      return { headline: `UNDECIDED: ${cases}`, ...describeUndecided(verdict, cases, nameNone(group)) };
    case "chance":
      return {
        headline: `NOTHING TO BLAME: ${cases}`,
        reason: isSureFall(group)
          ? `Most likely no change or pair of changes broke ${cases} by itself. Its fall in the check is larger than chance, so the edits together may have (not tested).`
          : `Most likely none of the changes broke ${cases}, and its fall was chance (not tested).`,
        next: "check again; if it still falls, revert half of the changes, or look at what else changed.",
      };
    case "nothing":
      return { headline: `NOTHING TO EXPLAIN: ${cases}`, ...describeNothing(verdict.because, cases) };
  }
}

function describeBlamed(group: Group, verdict: BlamedCase, tests: readonly BlameTest[]): string {
  if (verdict.because === "only-change")
    return `It is the only change of the list, so no model was asked. To confirm the fall of ${nameCases(group)}, check again.`;
  if (verdict.seen) return describeSeen(verdict.seen, nameCases(group));
  return `${describeTests(group, tests)}${verdict.descriptions.length > 1 ? relations[verdict.relation] : ""}`;
}

function describeRisen(risen: BlameReport["risen"] = []): string {
  const names = risen.map(({ case: id, base, head }) => `${id} (${ratio(base)} before, ${ratio(head)} now)`);
  return names.length === 0 ? "" : ` Reverting may undo what got better in the same check: ${some(names)}.`;
}

function describeUndecided(verdict: BlamedCase, cases: string, none: string): { reason: string; next: string } {
  if (verdict.because === "missing")
    return {
      reason: `Too many trials of ${cases} got no answer, so nothing can be decided.`,
      next: "find out why trials broke, then run it again.",
    };
  const likely = joinNames(verdict.sets[0]?.descriptions ?? []);
  return {
    reason: `What broke ${cases} is undecided: ${likeliest(verdict, none)}.`,
    next: likely
      ? `revert ${likely}, the likeliest, and check again.`
      : "check again; if it still falls, revert half of the changes.",
  };
}

function describeSeen({ reverted, breaking }: NonNullable<BlamedCase["seen"]>, cases: string): string {
  const alone =
    breaking.length > 1 ? `${joinNames(breaking)} together break it` : `${joinNames(breaking)} alone breaks it`;
  return `Reverting ${joinNames(reverted)} repairs ${cases}, and ${alone}. The model is deterministic, so this is certain.`;
}

/** `The change of get_file breaks c3 and c7: with it reverted, they pass 23 of 24 times; with it, 8 of 24.` */
function describeTests(group: Group, tests: readonly BlameTest[]): string {
  const own = listOwnTests(group, tests).filter(({ isConfirmed }) => isConfirmed);
  const sentences = (group.verdict?.descriptions ?? []).flatMap((description) => {
    const test = own.find((one) => one.description === description);
    if (!test) return [];
    const reverted = pool(test.cases.map((one) => one.reverted));
    const served = pool(test.cases.map((one) => one.new));
    const cases = joinNames(test.cases.map((one) => one.case));
    const passes = test.cases.length === 1 ? `${cases} passes` : "they pass";
    return `The change of ${description} breaks ${cases}: with it reverted, ${passes} ${integer(reverted.passed)} of ${count(reverted.trials, "time")}; with it, ${integer(served.passed)} of ${integer(served.trials)}.`;
  });
  return sentences.join(" ");
}

function listOwnTests({ cases }: Group, tests: readonly BlameTest[]): BlameTest[] {
  const ids = new Set(cases.map((one) => one.case));
  return tests
    .map((test) => ({ ...test, cases: test.cases.filter((one) => ids.has(one.case)) }))
    .filter((test) => test.cases.length > 0);
}

const relations: Readonly<Record<BlamedCase["relation"], string>> = {
  none: "",
  single: "",
  or: " Either of them is enough to break it (likeliest, not tested).",
  and: " It takes both to break it (likeliest, not tested).",
  add: " Each of them does a part (likeliest, not tested).",
};

/** `likeliest get_file (48%), read_file (25%) and no change at all (18%), not tested` */
function likeliest({ sets }: BlamedCase, none: string): string {
  const named = sets.map(({ descriptions, chance }) => {
    const what = descriptions.length === 0 ? none : joinNames(descriptions);
    return `${what} (${percent(chance)})`;
  });
  return `${named.length > 0 ? `likeliest ${some(named, 8)}` : "nothing is likely"}, not tested`;
}

function describeNothing(because: BlamedCase["because"], cases: string): { reason: string; next: string } {
  const next = "nothing to do.";
  switch (because) {
    case "unchanged":
      return { reason: `Nothing changed in the tool list of ${cases}.`, next };
    case "passes-new":
      return { reason: `${cases} passes with everything new.`, next };
    case "fails-old":
      return {
        reason: `${cases} fails with the old list, too, so no change of the list broke it.`,
        next: "look at what changed besides the tool list: the model, the server's answers, the case.",
      };
    default:
      return { reason: `${cases} did not drop.`, next };
  }
}

function testTable(group: Group, tests: readonly BlameTest[]): Block {
  const rows = listOwnTests(group, tests).flatMap(({ description, cases, p, level: alpha, isConfirmed }) =>
    cases.map((one) => [
      ...[description, one.case, ratio(one.reverted), ratio(one.new)],
      ...[probability(p), level(Number(alpha.toPrecision(2))), isConfirmed ? "confirmed" : "not confirmed"],
    ]),
  );
  const columns = makeColumns(
    ["name", "change", "case"],
    ["figure", "reverted", "new", "p", "alpha"],
    ["text", "result"],
  );
  return table("test", columns, rows);
}

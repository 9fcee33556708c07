import { groupBy, sumOf } from "../../../base/collections.ts";
import { pool } from "../../../base/stats/counts.ts";
import { wilson } from "../../../base/stats/intervals.ts";
import type { CaseSummary, RunManifest, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import { skillEntryName } from "../../../base/types/skill.ts";
import {
  type Block,
  details,
  type Fact,
  hasContent,
  type Inline,
  type Item,
  list,
  makeColumns,
  maxRows,
  type Span,
  section,
  type TableCell,
  type TableRow,
  table,
  text,
} from "../../../reports/document.ts";
import { count, integer, percent, range, ratio, share, some, tally } from "../../../reports/format.ts";
import { confusions } from "../../results/calls.ts";
import { notGradable } from "../../results/tally.ts";
import {
  caseState,
  describePair,
  explainedCases,
  isBelowBefore,
  lossText,
  lostPhrase,
  onlyBroke,
  rateText,
  redFirst,
  stateMark,
  unansweredCases,
  ungraded,
} from "../../results/text.ts";

// The cases of a run: first what everybody reads (which fail, and what was picked instead), then all of it.

/** How many entries of each list a terminal shows. Other forms show more; each form says how many it leaves out. */
const limits = { failing: 7, pairs: 3, cases: 24, explained: 12, reasons: 4 } as const;

type MissedTrials = CaseSummary["missed"][number];

/** The cases that fail, with what their trials did instead; of several models, all cases side by side. */
export function failingCases({ suites }: RunSummary): Block[] {
  const matrix = casesByModel(suites);
  if (matrix.length > 0) return matrix;
  // Cases without any answer are listed by what broke them.
  const failing = suites.flatMap(({ name, cases }) =>
    cases.filter(({ ok, trials, notGradable }) => !ok && trials + notGradable > 0).map((one) => ({ name, one })),
  );
  const hasBefore = failing.some(({ one }) => one.before);
  const rows = failing.map(({ name, one }) => [
    ...(suites.length > 1 ? [name] : []),
    one.id,
    describeExpected(name, one.expected),
    ...(hasBefore ? [one.before ? ratio(one.before) : "-"] : []),
    ratio(one),
    some([...describeMissed(one.missed), ...ungraded(one)], 3),
  ]);
  const columns = makeColumns(
    ["name", ...(suites.length > 1 ? ["suite"] : [])],
    ["id", "case"],
    ["name", "expected"],
    ["figure", ...(hasBefore ? ["baseline"] : []), "passed"],
    ["prose", "instead"],
  );
  return section("Cases that fail", [table("case", columns, rows, { max: limits.failing })]);
}

/** Why trials were not gradable, each reason with its cases. */
export function ungradable({ suites }: RunSummary): Block[] {
  const open = suites.flatMap(({ cases }) =>
    cases.flatMap(({ id, reasons: all }) => {
      const own = all.filter(({ text: reason }) => reason.startsWith(notGradable));
      return own.map(({ text: reason, n }) => ({ id, n, why: reason.slice(notGradable.length) }));
    }),
  );
  const items = [...groupBy(open, ({ why }) => why)].map(([why, all]): Span[] => [
    `${integer(sumOf(all, ({ n }) => n))}x `,
    { code: why, max: 300 },
    ` (${some(all.map(({ id }) => id))})`,
  ]);
  return items.length === 0 ? [] : [details("Not gradable", list("reason", items, limits.reasons))];
}

/** The expected tool; of a suite of a skill, whether the skill must be loaded. */
function describeExpected(suite: string, expected: string): string {
  if (!suite.startsWith(skillEntryName(""))) return expected;
  const skill = suite.slice(skillEntryName("").length);
  if (expected === suite) return `must load ${skill}`;
  return expected === "(none)" ? `must not load ${skill}` : expected;
}

/** `list_directory 5`, `no call 2`, `wrong arguments 1`: what was picked, or what else went wrong. */
function describeMissed(missed: readonly MissedTrials[]): string[] {
  const counts: Record<string, number> = {};
  for (const { outcome, picked, n } of missed) {
    const shown = picked.replace(skillEntryName(""), "loaded ");
    const name = confusions.has(outcome) && !picked.startsWith("(") ? shown : outcome.replaceAll("-", " ");
    counts[name] = (counts[name] ?? 0) + n;
  }
  return tally(counts);
}

/** Characters of the names of models that fit beside the cases on a narrow terminal. */
const maxHeads = 48;

/** Cases by model, those that fail first; models by number where their names are too wide. Empty for a single model. */
export function casesByModel(suites: readonly SuiteSummary[]): Block[] {
  const models = [...new Set(suites.map(({ model }) => model))];
  if (models.length < 2) return [];
  const isNamed = new Set(suites.map(({ name }) => name)).size > 1;
  const all = suites.flatMap(({ name, model, cases }) =>
    cases.map((one) => ({ model, one, label: isNamed ? `${name}: ${one.id}` : one.id })),
  );
  const total = models.map((model) => share(pool(all.filter((it) => it.model === model).map(({ one }) => one))));
  const rows = [...groupBy(all, ({ label }) => label)]
    .sort(([, a], [, b]) => Number(a.every(({ one }) => one.ok)) - Number(b.every(({ one }) => one.ok)))
    .map(([label, own]): TableCell[] => [
      label,
      ...models.map((model): TableCell => {
        const one = own.find((it) => it.model === model)?.one;
        return one ? { strong: ratio(one), tone: one.ok ? "good" : "bad" } : "-";
      }),
    ]);
  const withoutProvider = models.map((model) => model.slice(model.indexOf(":") + 1));
  const heads = new Set(withoutProvider).size === models.length ? withoutProvider : models;
  const isWide = sumOf(heads, ({ length }) => length + 2) > maxHeads;
  const listed = heads.map((head, at): TableCell[] => [integer(at + 1), head, total[at] ?? ""]);
  const byModel = table("model", makeColumns(["figure", "no."], ["name", "model"], ["figure", "passed"]), listed);
  const columns = makeColumns(["id", "case"], ["text", ...heads.map((head, at) => (isWide ? integer(at + 1) : head))]);
  const totals: TableCell[] = [`all ${count(rows.length, "case")}`, ...total];
  return section("Trials passed, by case and model", [
    ...(isWide ? [byModel] : []),
    table("case", columns, [...(isWide ? [] : [totals]), ...rows], { max: limits.failing }),
  ]);
}

/** Whether a model always gives the same reply, so that its rates have no interval. */
export function isDeterministic(model: string | undefined, models: RunManifest["models"]): boolean {
  return models.find(({ id }) => id === model)?.deterministic ?? false;
}

/** The rate of all trials of one model, with its interval where chance has a part in it. */
export function overallRate(summary: RunSummary, { models }: RunManifest): string | undefined {
  const [first, ...others] = new Set(summary.suites.map(({ model }) => model));
  const cases = summary.suites.flatMap((suite) => suite.cases);
  const counts = pool(cases);
  // The headline counts cases, so a single trial of each is told already.
  if (others.length > 0 || counts.trials === 0 || cases.every(({ trials }) => trials <= 1)) return undefined;
  const interval = isDeterministic(first, models) ? undefined : wilson(counts);
  const passed = `${percent(counts.passed / counts.trials)}, ${integer(counts.passed)} of ${count(counts.trials, "trial")}`;
  return `${passed}${interval ? `, 95% CI ${range(interval)}` : ""}`;
}

const faultKinds = [
  ["missing", "missing"],
  ["wrongType", "wrong type"],
  ["wrongValue", "wrong value"],
  ["invented", "invented"],
] as const;

const rankByCount = <T extends { n: number }>(all: readonly T[]): T[] => [...all].sort((a, b) => b.n - a.n);

/** Tools that were confused in more than one case; a single case names its own. */
export function confusedTools({ suites }: RunSummary): Block[] {
  const wrong = listMissed(suites).filter(({ outcome }) => confusions.has(outcome) && outcome !== "unknown-tool");
  const pairs = [...groupBy(wrong, ({ expected, picked }) => `${expected}\n${picked}`).values()].map((own) => {
    const [{ expected = "", picked = "" } = {}] = own;
    const { trials } = pool(suites.flatMap(({ cases }) => cases.filter((one) => one.expected === expected)));
    const n = sumOf(own, (one) => one.n);
    const cases = new Set(own.map(({ at }) => at)).size;
    const found = `${integer(n)} of ${count(trials, "trial")}, ${count(cases, "case")}`;
    return { text: `${expected} -> ${picked}: ${found}`, n, cases };
  });
  const items = rankByCount(pairs.filter(({ cases }) => cases > 1)).map((one) => one.text);
  return section("Confused in several cases", [list("pair", items, limits.pairs)]);
}

/** Names that the model made up, with what was expected, and the arguments that it got wrong. */
export function madeUp({ suites }: RunSummary): Fact[] {
  const unknown = listMissed(suites).filter(({ outcome }) => outcome === "unknown-tool");
  // Beside calls of listed tools, only those of others are marked.
  const marked = unknown.flatMap((one) => {
    const names = [...one.picked.matchAll(/([^\s,]+) \(unknown\)/g)].map(([, name = ""]) => name);
    return (names.length > 0 ? [...new Set(names)] : [one.picked]).map((name) => ({ ...one, name }));
  });
  const names = [...groupBy(marked, ({ name }) => name)].map(([name, own]) => {
    const meant = some([...new Set(own.map(({ expected }) => expected))], 2);
    const n = sumOf(own, (one) => one.n);
    return { text: `${name} ${integer(n)} (for ${meant})`, n };
  });
  const parameters = suites.flatMap(({ misses }) => misses?.parameters ?? []);
  const faults = [...groupBy(parameters, ({ tool, parameter }) => `${tool}.${parameter}`)].map(([name, own]) => {
    const counts = faultKinds.map(([key, kind]) => ({ kind, n: sumOf(own, (one) => one[key]) }));
    const kinds = counts.filter(({ n }) => n > 0).map(({ kind, n }) => `${kind} ${integer(n)}`);
    return { text: `${name} ${kinds.join(", ")}`, n: sumOf(counts, ({ n }) => n) };
  });
  const line = (all: typeof names) => {
    const texts = rankByCount(all).map((one) => one.text);
    return texts.length === 0 ? undefined : some(texts, limits.pairs);
  };
  return [
    ["Names that no tool has", line(names)],
    ["Wrong arguments", line(faults)],
  ];
}

/** What failed trials of all cases did. `at`: the case. */
const listMissed = (suites: readonly SuiteSummary[]) =>
  suites.flatMap(({ name, cases }) =>
    cases.flatMap(({ id, expected, missed }) => missed.map((one) => ({ ...one, expected, at: `${name}\n${id}` }))),
  );

/** All cases of a suite, red ones first; their rates have an interval unless the model is deterministic. */
export function caseTable({ cases }: SuiteSummary, isCertain: boolean): Block[] {
  if (cases.length === 0) return [text([{ strong: "No case was run.", tone: "bad" }])];
  const red = cases.filter((one) => !one.ok).length;
  // A numeric id does not describe its case.
  const hasQueries = cases.every(({ id }) => /^[\w-]*\d$/.test(id));
  const columns = makeColumns(
    ["text", "gate"],
    ["id", "case"],
    ["aside", ...(hasQueries ? ["query"] : [])],
    ["name", "expected"],
    ["figure", isCertain ? "passed" : "passed (95% CI)"],
    ["text", "outcomes"],
  );
  const listed = redFirst(cases).slice(0, maxRows);
  const rows = listed.map((one) => caseRow(one, hasQueries, isCertain));
  const unlisted = { rows: cases.length - listed.length, red: red - listed.filter((one) => !one.ok).length };
  // A long list omits passing cases first.
  const shown = cases.length <= limits.cases ? limits.cases : Math.min(red, limits.cases);
  return [table("case", columns, rows, { unlisted, max: shown })];
}

function caseRow(one: CaseSummary, hasQuery: boolean, isCertain: boolean): TableRow {
  const tone = one.ok ? "good" : "bad";
  const { rate, passRate, notGradable, trials } = one;
  const interval = isCertain ? null : one.interval;
  const cells: TableCell[] = [
    [{ mark: stateMark[caseState(one)] }, ` ≥${percent(passRate)}`],
    one.id,
    ...(hasQuery ? [{ code: one.input, max: 60 }] : []),
    one.expected,
    [
      { strong: rateText({ ...one, interval }), tone },
      ...(rate === null ? [] : [{ bar: { rate, needed: passRate, ...(interval && { interval }) } }]),
    ],
    { lines: tally({ ...one.outcomes, ...(trials > 0 && { "not gradable": notGradable }) }) },
  ];
  return { cells, ...(!one.ok && { tone: "bad" as const }) };
}

/** The trials without an answer, by cause. */
export function unanswered(suite: SuiteSummary): Block[] {
  const lost = lostPhrase(suite.totals);
  if (lost === "") return [];
  const items = groupByCause(unansweredCases(suite)).map(describeLost);
  const title = `Unanswered (excluded from rates): ${lost} of ${count(suite.totals.trials, "trial")}`;
  if (items.length === 0) return [text(title)];
  return [details(title, list("case", items, limits.explained))];
}

/** Groups cases that broke for the same cause, so that a crashed server is reported once. */
function groupByCause(cases: readonly CaseSummary[]): CaseSummary[][] {
  const groups = groupBy(cases, (one) => {
    const cause = onlyBroke(one) ? one.reasons.map(({ text: reason }) => withoutTool(reason)).join("\n") : "";
    return cause === "" ? `case ${one.id}` : cause;
  });
  return [...groups.values()];
}

/** Drops the called tool from a reason: it does not explain why the server died. */
const withoutTool = (reason: string) => reason.replace(/, called for "[^"]*",/, "");

function describeLost(group: readonly CaseSummary[]): Item {
  const [one] = group;
  if (!one) return { text: "" };
  if (group.length === 1)
    return { text: [{ code: one.id }, `: ${lossText(one)}`], ...(onlyBroke(one) && reasons(one)) };
  const trials = sumOf(group, ({ broken }) => broken);
  const named = some(group.map(({ id }) => id));
  const causes = one.reasons.map(
    ({ text: reason }): Span => ({ code: withoutTool(reason).replace(/\s+/g, " "), max: 300 }),
  );
  return {
    text: [`${count(group.length, "case")}, ${count(trials, "broken trial")}: `, { code: named, max: 200 }],
    items: causes,
  };
}

/** Why trials failed, case by case. */
export function explanations(suite: SuiteSummary): Block {
  const items = explainedCases(suite).map((one): Item => {
    const where = one.file === "" ? "" : ` (${one.file}:${one.line})`;
    const before = one.before && isBelowBefore(one) ? `, ${share(one.before)} in the baseline` : "";
    const { items: all, ...rest } = reasons(one);
    return {
      text: [{ mark: stateMark[caseState(one)] }, " ", { code: one.id }, where + before],
      items: [...queries(one, 90), ...all],
      ...rest,
    };
  });
  return details("Why trials failed", list("case", items, limits.explained));
}

function queries({ input, paraphrases }: CaseSummary, max: number): Span[] {
  if (!paraphrases) return [{ code: `"${input}"`, max, dim: true }];
  return paraphrases.map((one) => ({ code: `${one.passed}/${one.trials} "${one.input}"`, max, dim: true }));
}

function reasons({ reasons: all }: CaseSummary) {
  const items = all.map(({ text: reason, n }): Span[] => [`${integer(n)}x `, { code: reason, max: 300 }]);
  return { items, max: limits.reasons, noun: "reason" };
}

type Misses = NonNullable<SuiteSummary["misses"]>;

const noMisses: Misses = { tools: [], parameters: [], preconditions: [], repeated: [] };

/** Why trials missed, over all cases. A tool that is never picked has a different problem from one called wrongly. */
export function missBlocks({ misses = noMisses, confusion }: SuiteSummary): Block[] {
  const { tools, parameters, preconditions, repeated } = misses;
  // A trial can fail although its tool was picked and called rightly, by an assertion for example.
  const missed = tools.filter((one) => one.picked < one.trials || one.wrongArguments > 0 || one.reachedLater > 0);
  const described = new Set(missed.map(({ expected }) => expected));
  const toolRows = missed.map(({ expected, picked, trials, wrongArguments, reachedLater, instead }) => {
    const others = instead.map(({ picked: name, n }) => `${name} ${integer(n)}`);
    const counts = [ratio({ passed: picked, trials }), integer(wrongArguments), integer(reachedLater)];
    return [expected, ...counts, some(others, 5)];
  });
  const toolColumns = makeColumns(
    ["name", "tool"],
    ["figure", "picked", "arguments wrong", "reached later"],
    ["prose", "picked instead"],
  );
  const sentences = [
    // What is expected can also be no call, several calls or a skill.
    ...confusion.filter(({ expected, picked }) => expected !== picked && !described.has(expected)).map(describePair),
    ...preconditions.map(describePrecondition),
    ...repeated.map(describeRepeated),
  ];
  const rows = parameters.map((one) => [one.tool, one.parameter, ...faultKinds.map(([key]) => integer(one[key]))]);
  const columns = makeColumns(["name", "tool", "parameter"], ["figure", ...faultKinds.map(([, kind]) => kind)]);
  return [
    details(
      "Confused tools and wrong calls",
      table("tool", toolColumns, toolRows),
      list("finding", sentences, limits.explained),
    ),
    details("Wrong arguments by parameter", table("parameter", columns, rows)),
  ].filter(hasContent);
}

function describePrecondition({ tool, before, named, n }: Misses["preconditions"][number]): Inline {
  const about = named ? "its description names it" : "its description does not name it";
  return ["Before ", { code: tool }, " came ", { code: before }, ` in ${count(n, "trial")}: ${about}.`];
}

function describeRepeated({ tool, after, n }: Misses["repeated"][number]): Inline {
  const why = after === "denial" ? "it had not been executed" : "it had returned an error";
  return [{ code: tool }, `: ${count(n, "call")} repeated with the same arguments after ${why}.`];
}

import { groupBy } from "../base/groupBy.ts";
import { sumOf } from "../base/sum.ts";
import { isJsonObject, type Json, type JsonObject } from "../base/types/json.ts";
import { readMatcher } from "../base/types/matcher.ts";
import type { ManifestCase } from "../base/types/run.ts";
import { readQuery } from "../base/types/suite.ts";
import { joinResult } from "../base/types/tool.ts";
import type { Assertion, Call, Trial, Turn } from "../base/types/trial.ts";
import { describeFailure, promptTokens } from "../experiments/results/tally.ts";
import { describeListChange } from "../experiments/results/text.ts";
import {
  type Block,
  type Fact,
  facts,
  heading,
  type Inline,
  makeColumns,
  type Span,
  type TableRow,
  type Tone,
  table,
  text,
} from "../reports/document.ts";
import { count, duration, integer, money, some } from "../reports/format.ts";

/** A trial with its case, and the tool names in the order shown. */
export type ShownTrial = { trial: Trial; case: ManifestCase; tools: readonly string[] };

/** Trials of one case and model with identical transcripts. */
type Group = ShownTrial & { numbers: number[] };

const maxLength = 4_000;
const maxLines = 40;

/** The transcripts of trials, at most `limit` of them. Identical ones are shown once. */
export function showDocument(shown: readonly ShownTrial[], { run, limit }: { run: string; limit: number }): Block[] {
  const groups = groupAlike(shown);
  const failed = shown.filter(({ trial }) => trial.verdict?.grade !== "pass").length;
  const cases = [...new Set(shown.map(({ trial }) => trial.cell.case))];
  if (shown.length === 0)
    return [
      heading(1, "NOTHING TO SHOW: no trial is selected", "warn"),
      text(`Searched the run ${run}.`, "Next: name a case, or see them all with `evals show`."),
    ];
  return [
    heading(
      1,
      `${count(shown.length, "trial")} of ${some(cases, 3)}: ${integer(failed)} did not pass`,
      failed > 0 ? "bad" : "good",
    ),
    text(
      `This is what the run ${run} recorded: ${count(groups.length, "different transcript")} in ${count(shown.length, "trial")}.`,
      failed > 0
        ? "Next: compare what was expected with what was called; improve the description, or correct the case."
        : "Next: see the cases that failed with `evals show --failed`.",
    ),
    ...groups.slice(0, limit).flatMap(transcript),
    ...(groups.length > limit
      ? [text(`… and ${count(groups.length - limit, "more transcript")}: --limit shows more.`)]
      : []),
  ];
}

/** Groups trials with the same query, texts, calls and results. */
function groupAlike(shown: readonly ShownTrial[]): Group[] {
  const groups = groupBy(shown, (one) => {
    const { cell, outcome, turns, verdict } = one.trial;
    const made = turns.map(({ text: reply, calls, stop }) => [
      reply,
      stop,
      calls.map(({ tool, arguments: args, argumentsText, execution }) => [
        ...[tool, args, argumentsText],
        execution?.status === "executed" ? execution.result : execution?.reason,
      ]),
    ]);
    return JSON.stringify([
      cell.suite,
      cell.case,
      cell.model,
      cell.arm,
      readQuery(one.case, cell.trial),
      outcome,
      verdict?.grade,
      made,
    ]);
  });
  return [...groups.values()].flatMap((own) => {
    const numbers = own.map(({ trial }) => trial.cell.trial);
    return own.slice(0, 1).map((one) => ({ ...one, numbers }));
  });
}

function transcript(group: Group): Block[] {
  const { trial, case: one, numbers } = group;
  const { cell, outcome, verdict } = trial;
  const trials = numbers.length === 1 ? `trial ${cell.trial}` : `trials ${some(numbers.map(String), 8)} (alike)`;
  const arm = cell.arm === "head" ? "" : ` · ${cell.arm}`;
  const result = outcome.kind === "broken" ? `BROKEN (${outcome.stage})` : describeGrade(verdict);
  return [
    heading(2, `${cell.case} · ${cell.model}${arm} · ${trials}: ${result}`, resultTone(trial)),
    facts(...trialFacts(group)),
    text(...quoteLines("User: ", readQuery(one, cell.trial))),
    ...trial.turns.flatMap((turn, at) => showTurn(turn, at + 1, one, verdict?.checks ?? [])),
    ...(outcome.kind === "broken" ? [text([{ strong: "Broken: ", tone: "bad" }, verbatim(outcome.message)])] : []),
    ...listUnmet(verdict?.checks ?? []),
  ];
}

function describeGrade(verdict: Trial["verdict"]): string {
  if (!verdict) return "not graded";
  return verdict.grade === "pass"
    ? `passed (${verdict.selection})`
    : `${verdict.grade === "fail" ? "FAILED" : "NOT GRADABLE"} (${verdict.selection})`;
}

function resultTone({ outcome, verdict }: Trial): Tone {
  if (outcome.kind === "broken" || verdict?.grade === "not-gradable") return "warn";
  return verdict?.grade === "pass" ? "good" : "bad";
}

function trialFacts({ trial: { verdict, turns, ms, costUsd, startedAt }, case: one, tools }: Group): Fact[] {
  const input = sumOf(turns, ({ usage }) => promptTokens(usage));
  const output = sumOf(turns, ({ usage }) => usage.outputTokens);
  const took = [`${integer(input)} tokens in`, `${integer(output)} out`, money(costUsd), duration(ms), startedAt];
  return [
    ["Expected", { code: one.expected, max: 300 }],
    ["Picked", verdict && { code: verdict.picked, max: 300 }],
    ["Took", took.join(" · ")],
    ["Case", `${one.file}:${one.line}`],
    ["Tools", [`${integer(tools.length)} shown: `, { code: some(tools, 30), max: 2_000 }]],
  ];
}

const verbatim = (value: string): Span => ({ code: value, max: maxLength });

/** A text after its label, with up to 40 further lines below, marked as its own. `rest` follows the text. */
function quoteLines(label: Span, value: string, ...rest: readonly Span[]): Inline[] {
  const [first = "", ...lines] = value.split(/\r?\n/);
  const shown = lines.slice(0, maxLines);
  const left = lines.length - shown.length;
  const more = left > 0 ? [`… and ${count(left, "more line")}`] : [];
  return [
    [label, verbatim(first), ...(shown.length === 0 ? rest : [])],
    ...shown.map((line) => ["| ", verbatim(line)]),
    ...more,
    ...(shown.length > 0 ? rest : []),
  ];
}

/** `number` counts from 1. */
function showTurn(turn: Turn, number: number, one: ManifestCase, checks: readonly Assertion[]): Block[] {
  const { text: reply, calls, searches = [], listChange, stop, ms, usage } = turn;
  const changes = listChange ? describeListChange(listChange) : [];
  const label = { done: "Says: ", calls: "Says: ", refused: "Refuses: ", cut: "Is cut off: " }[stop];
  const isSilent = reply.trim() === "" && calls.length === 0;
  return [
    text(
      [{ strong: `Turn ${number}` }, ` · ${duration(ms)} · ${count(usage.outputTokens, "token")} out`],
      ...changes.map(([label, names]): Inline => [`${label}: `, { code: some(names, 10), max: 500 }]),
      ...(reply.trim() === "" && !isSilent ? [] : quoteLines(label, isSilent ? "(no text, no call)" : reply)),
      ...searches.map(({ query: asked, found }): Inline => {
        return ["Searches: ", verbatim(asked), " -> ", { code: some(found, 5), max: 300 }];
      }),
    ),
    ...calls.flatMap((call) => showCall(call, one, checks)),
  ];
}

/** A call as the model made it; for one through a dispatcher, the inner call, which is scored, on a line of its own. */
function showCall(call: Call, { expectedCalls = [] }: ManifestCase, checks: readonly Assertion[]): Block[] {
  const { argumentsText, execution, role, inner } = call;
  const label = role === undefined ? "Calls: " : `Calls (${role}): `;
  const made: Inline = [label, { code: call.tool }, " ", verbatim(writeArguments(call.arguments, argumentsText))];
  const { tool, arguments: args } = inner ?? call;
  const expected = role === undefined ? expectedCalls.find(({ tools }) => tools.includes(tool))?.args : undefined;
  const rows = expected && isJsonObject(args) ? compareArguments(expected, args, checks) : [];
  const scored: Inline[] = inner ? [["Inner call: ", { code: tool }, " ", verbatim(writeArguments(args))]] : [];
  if (rows.length === 0) return [text(made, ...scored, ...showResult(execution))];
  const columns = makeColumns(["text", ""], ["name", "argument"], ["text", "expected", "got"]);
  const title: Inline[] = inner ? [made, ["Inner call: ", { code: tool }]] : [[label, { code: tool }]];
  return [text(...title), table("argument", columns, rows, { max: 40 }), text(...showResult(execution))];
}

const writeArguments = (args: Json | undefined, given = ""): string =>
  args === undefined ? given : JSON.stringify(args);

const checkMarks = { yes: "good", no: "bad", unknown: "open" } as const;

/** Expected and given arguments side by side; `~` marks an argument without an expectation. */
function compareArguments(expected: JsonObject, given: JsonObject, checks: readonly Assertion[]): TableRow[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(given)])];
  return names.map((name): TableRow => {
    const [wanted, got] = [own(expected, name), own(given, name)];
    const check = checks.find(
      ({ what }) => what.endsWith(`args.${name}`) || what.endsWith(`args[${JSON.stringify(name)}]`),
    );
    const isWrong = check?.met === "no";
    const mark = check ? { mark: checkMarks[check.met] } : "";
    const cells = [
      wanted === undefined ? "~" : mark,
      name,
      { code: describeExpected(wanted), max: 300 },
      { code: describeValue(got), max: 300 },
    ];
    return { cells, ...(isWrong && { tone: "bad" as const }) };
  });
}

const own = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
const describeValue = (value: Json | undefined) => (value === undefined ? "(absent)" : JSON.stringify(value));

/** A matcher as written in the suite, a literal as JSON. */
function describeExpected(value: Json | undefined): string {
  if (value === undefined) return "(not named)";
  const read = readMatcher(value);
  if (read.kind !== "matcher") return JSON.stringify(value);
  return Object.entries(read.operands)
    .map(([key, operand]) => `${key} ${JSON.stringify(operand)}`)
    .join(", ");
}

function showResult(execution: Call["execution"]): Inline[] {
  if (execution?.status !== "executed") return [["Not executed: ", execution?.reason ?? "no result is on the record"]];
  const label = execution.result.isError ? { strong: "Error: ", tone: "bad" as const } : "Result: ";
  return quoteLines(label, joinResult(execution.result), ` (${duration(execution.ms)})`);
}

function listUnmet(checks: readonly Assertion[]): Block[] {
  const open = checks.filter(({ met }) => met !== "yes");
  if (open.length === 0) return [];
  return [
    text(
      ...open.map(
        (one): Inline => [
          ...[{ mark: checkMarks[one.met] }, " ", verbatim(describeFailure(one))],
          ...(one.evidence === undefined ? [] : [" (quoted: ", verbatim(one.evidence), ")"]),
        ],
      ),
    ),
  ];
}

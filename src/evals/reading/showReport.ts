import { hash } from "node:crypto";
import { sumOf } from "../base/collections.ts";
import { type Json, writeExactJson } from "../base/types/json.ts";
import type { ManifestCase } from "../base/types/run.ts";
import { readQuery } from "../base/types/suite.ts";
import { joinResult } from "../base/types/tool.ts";
import type { Assertion, Call, Trial, Turn } from "../base/types/trial.ts";
import { describeFailure, promptTokens } from "../experiments/results/tally.ts";
import { describeListChange } from "../experiments/results/text.ts";
import { type Block, type Fact, facts, heading, type Inline, type Span, type Tone, text } from "../reports/document.ts";
import { count, duration, integer, money, some } from "../reports/format.ts";

/** A trial with its case, and the tool names in the order shown. */
export type ShownTrial = { trial: Trial; case: ManifestCase; tools: readonly string[] };

/** Trials of one case and model with identical transcripts. */
type Group = ShownTrial & { numbers: number[] };

const maxLength = 4_000;
const maxLines = 40;

/** Collects the transcripts of trials, identical ones once. Holds the first `limit` of them, and counts the others. */
export class Transcripts {
  readonly #limit: number;
  readonly #shown = new Map<string, Group>();
  readonly #others = new Set<string>();
  readonly #cases = new Set<string>();
  #trials = 0;
  #failed = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(one: ShownTrial): void {
    const { cell, verdict } = one.trial;
    this.#trials++;
    if (verdict?.grade !== "pass") this.#failed++;
    this.#cases.add(cell.case);
    const key = hash("sha256", JSON.stringify(listShownParts(one)));
    const group = this.#shown.get(key);
    if (group) group.numbers.push(cell.trial);
    else if (this.#shown.size < this.#limit) this.#shown.set(key, { ...one, numbers: [cell.trial] });
    else this.#others.add(key);
  }

  document(run: string): Block[] {
    const [trials, failed] = [this.#trials, this.#failed];
    if (trials === 0)
      return [
        heading(1, "NOTHING TO SHOW: no trial is selected", "warn"),
        text(`Searched the run ${run}.`, "Next: name a case, or see them all with `evals show`."),
      ];
    const more = this.#others.size;
    const transcripts = count(this.#shown.size + more, "different transcript");
    const result = failed > 0 ? `${integer(failed)} did not pass` : trials > 1 ? "all passed" : "passed";
    const title = `${count(trials, "trial")} of ${some([...this.#cases], 3)}: ${result}`;
    return [
      heading(1, title, failed > 0 ? "bad" : "good"),
      text(
        `This is what the run ${run} recorded: ${transcripts} in ${count(trials, "trial")}.`,
        failed > 0
          ? "Next: compare what was expected with what was called; improve the description, or correct the case."
          : "Next: see the cases that failed with `evals show --failed`.",
      ),
      ...[...this.#shown.values()].flatMap(transcript),
      ...(more > 0 ? [text(`… and ${count(more, "more transcript")}: --limit shows more.`)] : []),
    ];
  }
}

/** What two trials with the same transcript have in common: query, texts, calls and results. */
function listShownParts({ trial: { cell, outcome, turns, verdict }, case: one }: ShownTrial): unknown[] {
  const made = turns.map(({ text: reply, calls, stop }) => [
    reply,
    stop,
    calls.map(({ tool, arguments: args, argumentsText, execution }) => [
      ...[tool, args, argumentsText],
      execution?.status === "executed" ? execution.result : execution?.reason,
    ]),
  ]);
  const { suite, case: id, model, arm, trial } = cell;
  return [suite, id, model, arm, readQuery(one, trial), outcome, verdict?.grade, made];
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
    ...trial.turns.flatMap((turn, at) => showTurn(turn, at + 1)),
    ...(outcome.kind === "broken" ? [text([{ strong: "Broken: ", tone: "bad" }, verbatim(outcome.message)])] : []),
    ...listUnmet(verdict?.checks ?? []),
  ];
}

const grades = { pass: "passed", fail: "FAILED", "not-gradable": "NOT GRADABLE" } as const;
const describeGrade = (verdict: Trial["verdict"]) =>
  verdict ? `${grades[verdict.grade]} (${verdict.selection})` : "not graded";

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
function showTurn(turn: Turn, number: number): Block[] {
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
    ...calls.map(showCall),
  ];
}

/** A call as the model made it; of one through a dispatcher also the inner call, which is scored. */
function showCall({ tool, arguments: args, argumentsText, execution, role, inner }: Call): Block {
  const label = role === undefined ? "Calls: " : `Calls (${role}): `;
  return text(
    [label, { code: tool }, " ", verbatim(writeArguments(args, argumentsText))],
    ...(inner ? [["Inner call: ", { code: inner.tool }, " ", verbatim(writeArguments(inner.arguments))]] : []),
    ...showResult(execution),
  );
}

const writeArguments = (args: Json | undefined, given = ""): string =>
  args === undefined ? given : writeExactJson(args);

const checkMarks = { yes: "good", no: "bad", unknown: "open" } as const;

function showResult(execution: Call["execution"]): Inline[] {
  if (execution?.status !== "executed") return [["Not executed: ", execution?.reason ?? "no result is on the record"]];
  const label = execution.result.isError ? { strong: "Error: ", tone: "bad" as const } : "Result: ";
  return quoteLines(label, joinResult(execution.result), ` (${duration(execution.ms)})`);
}

function listUnmet(checks: readonly Assertion[]): Block[] {
  const open = checks.filter(({ met }) => met !== "yes");
  const lines = open.map((one): Inline => {
    const quoted = one.evidence === undefined ? [] : [" (quoted: ", verbatim(one.evidence), ")"];
    return [{ mark: checkMarks[one.met] }, " ", verbatim(describeFailure(one)), ...quoted];
  });
  return lines.length === 0 ? [] : [text(...lines)];
}

import { listChanges, type ToolChange } from "../changes/changes.ts";
import { applyChanges } from "../changes/edits.ts";
import { EvalsError, type ExitCode, exitCodes } from "../errors.ts";
import type { Io } from "../io.ts";
import { blameText } from "../reports/blame.ts";
import { freeze } from "../toolsets/toolset.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { canonicalJson } from "../types/json.ts";
import type { OfferedTool } from "../types/tool.ts";
import { maskOfArm } from "../verdicts/blame.ts";
import { type BlameReport, blameCases } from "../verdicts/blameCases.ts";
import { comparability } from "../verdicts/comparable.ts";
import { some } from "../verdicts/words.ts";
import { version } from "../version.ts";
import type { RequestOptions } from "../workspace/models.ts";
import type { AskOptions } from "./asking.ts";
import { type Question, questionOfBaseline, questionsOfRun } from "./blameQuestion.ts";
import {
  type Bench,
  type ExperimentFlags,
  type ListOf,
  performExperiment,
  stoppedExitCode,
  withBench,
} from "./experiment.ts";

export type BlameOptions = RequestOptions &
  AskOptions & {
    run?: string | undefined;
    case?: readonly string[] | undefined;
    suite?: string | undefined;
    baseline?: string | undefined;
    paths?: string[] | undefined;
    model?: string | undefined;
    seed?: number | undefined;
    json: boolean;
  };

/** The flags of `evals blame` that say how the model is asked; those of `evals run` hold them, too. */
export type BlameAsking = Pick<BlameOptions, "out" | "concurrency"> & Partial<BlameOptions>;

/** All that was blamed, as `--json` prints it. */
export type BlameResult = { blames: readonly BlameReport[]; exitCode: ExitCode };

/** `evals blame`: finds what is to blame, and prints it. */
export async function blame(flags: BlameOptions, io: Io): Promise<ExitCode> {
  const questions =
    flags.baseline === undefined
      ? await questionsOfRun(flags.run ?? "latest", flags, io)
      : [await questionOfBaseline(flags.baseline, flags, io)];
  const result = await answerAll(questions, flags, io);
  printBlame(result, flags.json, io);
  return result.exitCode;
}

/**
 * Blames what regressed in the run in `dir`; undefined when nothing did. Asks on records of its own under `out`, and
 * prints nothing. Throws EvalsError when there is no way to ask the same again.
 */
export async function blameRun(
  dir: string,
  { out, concurrency, budget }: Pick<BlameAsking, "out" | "concurrency" | "budget">,
  io: Io,
): Promise<BlameResult | undefined> {
  const questions = await questionsOfRun(dir, { out, quiet: true }, io);
  return questions.length === 0 ? undefined : await answerAll(questions, { out, concurrency, budget }, io);
}

/** Prints the result as a report, or as one JSON object. */
export function printBlame(result: BlameResult, json: boolean, io: Io): void {
  const { colour, width, unicode } = io;
  io.out(
    json
      ? `${JSON.stringify(result)}\n`
      : result.blames.map((report) => blameText(report, { colour, width, unicode })).join("\n"),
  );
}

async function answerAll(questions: readonly Question[], flags: BlameAsking, io: Io): Promise<BlameResult> {
  const answers: { report: BlameReport; exitCode: ExitCode }[] = [];
  for (const question of questions) {
    answers.push(
      await withBench("blame", benchFlags(question, flags), io, (bench) => answer(question, bench, flags, io)),
    );
    if (io.signal.aborted) break;
  }
  const worst = answers.find(({ exitCode }) => exitCode !== exitCodes.passed);
  return { blames: answers.map(({ report }) => report), exitCode: worst?.exitCode ?? exitCodes.passed };
}

/** As the run was asked, but for what is said anew. */
function benchFlags({ recorded, paths, suite, model, host }: Question, flags: BlameAsking): ExperimentFlags {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  const asked = { ...recorded, ...Object.fromEntries(given), paths, suite, model, host };
  return { ...asked, case: flags.case } as unknown as ExperimentFlags;
}

/** A case with the list of then, the list of now, and what changed between them. */
type Suspect = { planned: PlannedCase; base: readonly OfferedTool[]; changes: readonly ToolChange[] };

async function answer(question: Question, bench: Bench, flags: BlameAsking, io: Io) {
  const { model } = bench;
  const suspects = new Map(suspectsOf(question, bench).map((one) => [one.planned.case.id, one]));
  const cases = [...suspects].map(([id, { changes }]) => {
    return { case: id, changed: changes.map((change) => change.id), ...question.known(id) };
  });
  const plan = {
    command: "blame" as const,
    arms:
      (arm: string): ListOf =>
      (planned) =>
        listOf(arm, suspects.get(planned.case.id)),
    design: blameCases(cases, model.deterministic),
    setup: { from: question.from, cases: cases.map(({ case: id, changed }) => ({ case: id, changed: [...changed] })) },
    flags: question.recorded,
  };
  const prepared = { ...bench.prepared, cases: [...suspects.values()].map(({ planned }) => planned) };
  const asking = { ...flags, host: question.host };
  const performed = await performExperiment({ ...bench, prepared }, plan, asking, io);
  const verdicts = performed.kind === "decided" ? performed.verdict : [];
  const report: BlameReport = {
    from: question.from,
    suite: bench.suite.name,
    model: model.id,
    ...(model.note && { note: model.note }),
    deterministic: model.deterministic,
    cases: cases.map(({ case: id, old, new: now }, at) => ({
      case: id,
      input: suspects.get(id)?.planned.case.messages.findLast(({ role }) => role === "user")?.content ?? "",
      known: { old, ...(now && { new: now }) },
      changes: suspects.get(id)?.changes ?? [],
      verdict: verdicts[at] ?? null,
    })),
    stopped: performed.kind === "decided" ? null : stops[performed.end],
    costUsd: performed.manifest.totals?.costUsd ?? 0,
    run: performed.manifest.id,
    dir: performed.dir,
  };
  const blamed = verdicts.length > 0 && verdicts.every(({ kind }) => kind === "blamed");
  const decided = blamed ? exitCodes.passed : exitCodes.incomplete;
  return { report, exitCode: performed.kind === "stopped" ? stoppedExitCode(performed.end, io) : decided };
}

const stops = { budget: "the budget is spent", cancelled: "interrupted" } as const;

/** The list of an arm: the old one with just the changes that the arm's mask names. */
function listOf(arm: string, suspect: Suspect | undefined) {
  if (!suspect) return undefined;
  const { base, planned, changes } = suspect;
  const mask = maskOfArm(arm);
  const taken = new Set(changes.flatMap(({ id }, i) => (mask[i] ? [id] : [])));
  return freeze(applyChanges(base, planned.toolset.tools, taken));
}

/** The cases to explain, worst first. Refused, with every reason, when they can no longer be asked as they were. */
function suspectsOf(question: Question, { prepared, suite, model }: Bench): Suspect[] {
  const live = new Map(prepared.cases.map((planned) => [planned.case.id, planned]));
  const now = {
    suite: suite.name,
    model: model.id,
    settings: canonicalJson(model.settings),
    host: question.host,
    harness: version,
    cases: prepared.cases.map(({ case: { id, hash } }) => ({ id, hash })),
  };
  const compared = comparability(question.identity, now);
  if (compared.kind === "not comparable") throw refusal(question, compared.reasons);
  const wanted = question.wanted ?? compared.cases;
  const unfit = wanted.filter((id) => !compared.cases.includes(id));
  if (unfit.length > 0) throw refusal(question, [`no longer the same: ${some(unfit)}`]);
  if (wanted.length === 0) throw refusal(question, ["none of the cases is in it as it is now", ...compared.notes]);
  const suspects = wanted.flatMap((id): Suspect[] => {
    const planned = live.get(id);
    const base = question.base(id);
    if (!planned || !base) return [];
    const { tools, hash } = planned.toolset;
    const before = question.head(id);
    if (before && before.hash !== hash) {
      const since = listChanges(before.tools, tools).map(({ label }) => label);
      throw refusal(question, [`the live list is no longer that of the run: ${some(since)}`]);
    }
    return [{ planned, base, changes: listChanges(base, tools) }];
  });
  if (suspects.length === 0) throw refusal(question, [`it compared none of ${some(wanted)}`]);
  return suspects;
}

function refusal({ from }: Question, reasons: readonly string[]): EvalsError {
  const hint = "Run it again: evals run --check thorough, then evals blame.";
  const problems = reasons.map((reason, at) => ({
    severity: "error" as const,
    message: `${from} cannot be explained: ${reason}`,
    ...(at === reasons.length - 1 && { hint }),
  }));
  return new EvalsError(problems, exitCodes.incomplete);
}

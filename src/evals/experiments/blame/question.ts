import { join, resolve } from "node:path";
import { countPasses, TrialRecord } from "../../asking/trials/design.ts";
import { printableLines } from "../../base/text/display.ts";
import { type CheckPlan, type ComparedCheck, toComparedRun } from "../../base/types/check.ts";
import { printProblem, usageError } from "../../base/types/errors.ts";
import { allDefinitions, type Exposure, nameExposure } from "../../base/types/exposure.ts";
import type { Io } from "../../base/types/io.ts";
import { canonicalJson } from "../../base/types/json.ts";
import { isModelNamed } from "../../base/types/model.ts";
import type { RunManifest } from "../../base/types/run.ts";
import type { OfferedTool, Toolset } from "../../base/types/tool.ts";
import { readBaseline } from "../../records/baseline.ts";
import { findRecord, listRecords } from "../../records/find.ts";
import type { ComparedRun } from "../design/comparable.ts";
import { type OpenRecord, readResults } from "../pipeline/record.ts";
import { type RecordedOptions, readRecorded } from "../pipeline/recordedOptions.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { CaseToBlame } from "./design.ts";

/**
 * Cases of one suite on one model to explain. `wanted` is absent if `--case` selects them. `base`: the tools of a case
 * before the change. `head`: the tools that it failed with, if recorded; the live tools must still be the same.
 */
export type BlameQuestion = {
  from: string;
  paths: string[];
  suite: string;
  model: string;
  host: Workspace["host"];
  exposure: Exposure;
  /** The options of the run, and its id or folder. */
  recorded: RecordedOptions;
  /** What the live suite must match to be comparable. */
  identity: ComparedRun;
  wanted?: readonly string[];
  /** Cases that got better in the check. */
  risen?: ComparedCheck["rose"];
  base(id: string): readonly OfferedTool[] | undefined;
  head(id: string): Toolset | undefined;
  known(id: string): Pick<CaseToBlame, "old" | "new">;
};

/** Maximum number of cases to explain without --case. */
const defaultCases = 3;

export type RunSelection = {
  out: string;
  suite?: string | undefined;
  model?: string | undefined;
  case?: readonly string[] | undefined;
  /** Returns no question, instead of throwing, if there is nothing to explain. */
  quiet?: boolean;
};

type ComparePlan = Extract<CheckPlan, { kind: "compare" }>;
type ManifestSuite = RunManifest["suites"][number];

/**
 * Returns one question for each suite and model whose check found a regression, or with `--case`, for each that was
 * checked. `latest` is the newest run with such a check; it is printed on standard error if it is not the newest run.
 */
export async function findRunQuestions(run: string, flags: RunSelection, io: Io): Promise<BlameQuestion[]> {
  const out = resolve(io.cwd, flags.out);
  const newest = await findRecord("run", run, out);
  let checks = 0;
  for await (const { dir, manifest } of run === "latest" ? listRecords("run", out, printProblem(io)) : [newest]) {
    if (!manifest.suites.some((suite) => suite.checks?.some(({ kind }) => kind === "compare"))) continue;
    const { questions, checked } = await readQuestions(dir, manifest, flags, out);
    if (manifest.id !== newest.manifest.id && questions.length > 0)
      io.err(printableLines(`Explaining the run ${manifest.id}, the latest one with a check to explain.`));
    if (questions.length > 0) return questions;
    checks += checked;
  }
  if (flags.quiet) return [];
  throw nothingToExplain(newest.manifest, checks, flags);
}

async function readQuestions(
  dir: string,
  manifest: RunManifest,
  flags: RunSelection,
  out: string,
): Promise<{ questions: BlameQuestion[]; checked: number }> {
  const results = await readResults(dir, manifest);
  const { suites } = results.summary();
  const checked = manifest.suites.flatMap((suite) =>
    (suite.checks ?? []).flatMap((plan) => {
      const fits = (flags.suite ?? suite.name) === suite.name && isModelNamed(flags.model ?? plan.model, plan.model);
      const verdict = suites.find(({ name, model }) => name === suite.name && model === plan.model)?.verdict;
      return fits && plan.kind === "compare" && verdict ? [{ suite, plan, verdict }] : [];
    }),
  );
  const regressed = checked.filter(({ verdict }) => verdict.kind === "regressed" || verdict.kind === "changed");
  const questions = (flags.case === undefined ? regressed : checked).map(({ suite, plan, verdict }): BlameQuestion => {
    const flagged = "flagged" in verdict ? listFallen(verdict) : [];
    const recorded = { ...readRecorded(manifest), run: dir === join(out, manifest.id) ? manifest.id : dir };
    const risen = "rose" in verdict ? verdict.rose : [];
    const question = { ...createQuestion(manifest, suite, plan, results), recorded, risen };
    if (flags.case !== undefined) return question;
    return { ...question, wanted: flagged.length > 0 ? flagged.slice(0, defaultCases) : [findWorst(plan, question)] };
  });
  return { questions, checked: checked.length };
}

function nothingToExplain({ id }: RunManifest, checked: number, { suite, model }: RunSelection) {
  const of = [suite, model].filter((one) => one !== undefined).join(" on ");
  return usageError(
    `The run ${id} has no ${checked > 0 ? "regression" : "regression check"}${of ? ` of ${of}` : ""} to explain.`,
    checked > 0 ? "Name a case with --case to explain it anyway." : "Run a check first with `evals run --check on`.",
  );
}

function createQuestion(
  manifest: RunManifest,
  suite: ManifestSuite,
  plan: ComparePlan,
  results: OpenRecord["results"],
): Omit<BlameQuestion, "recorded"> {
  const { toolsets, host, harness } = manifest;
  const planned = new Map(plan.cases.map((one) => [one.id, one]));
  const now = new Map(suite.cases.map(({ id, toolset }) => [id, toolset]));
  const record = results.check(suite.name, plan.model)?.record ?? new TrialRecord();
  const { settings = {}, exposures } = manifest.models.find(({ id }) => id === plan.model) ?? {};
  const list = (hash: string | undefined) => (hash === undefined ? undefined : toolsets[hash]);
  return {
    from: `the run ${manifest.id}`,
    paths: [suite.file],
    suite: suite.name,
    model: plan.model,
    host: host as BlameQuestion["host"],
    exposure: exposures?.[0] ?? allDefinitions,
    identity: {
      suite: suite.name,
      model: plan.model,
      settings: canonicalJson(settings),
      host,
      exposure: nameExposure(exposures?.[0] ?? allDefinitions),
      harness,
      cases: suite.cases,
    },
    base: (id) => list(planned.get(id)?.toolset),
    head: (id) => {
      const [hash, tools] = [now.get(id), list(now.get(id))];
      return hash !== undefined && tools ? { hash, tools } : undefined;
    },
    // A case that was cleared against the counts of the baseline has no fresh trials with the base list.
    known: (id) => {
      const fresh = countPasses(record, id, "base");
      const bank = planned.get(id)?.bank ?? fresh;
      return { old: fresh.trials > 0 ? fresh : bank, new: countPasses(record, id, "head") };
    },
  };
}

/** The cases that a verdict names: those that dropped, otherwise those with more flips from pass to fail than back. */
function listFallen({ flagged, flips }: ComparedCheck): string[] {
  const fell = flagged.length > 0 ? flagged : flips.filter(({ down, up }) => down > up);
  return fell.map((one) => one.case);
}

/** The case that dropped most, for a suite that regressed although no single case did. */
function findWorst({ cases }: ComparePlan, { known }: Pick<BlameQuestion, "known">): string {
  const drop = (id: string) => {
    const { old, new: now = { passed: 0, trials: 0 } } = known(id);
    return old.trials === 0 || now.trials === 0 ? 0 : old.passed / old.trials - now.passed / now.trials;
  };
  return cases.map(({ id }) => id).toSorted((a, b) => drop(b) - drop(a))[0] ?? "";
}

/** Asks why cases do worse with the live tools than in the baseline. How much worse is measured first. */
export async function readBaselineQuestion(
  given: string,
  flags: { case?: readonly string[] | undefined; paths?: string[] | undefined; model?: string | undefined },
  io: Io,
): Promise<BlameQuestion> {
  if (flags.case === undefined) throw usageError("--baseline requires --case.", "Name the case to explain.");
  const baseline = await readBaseline(resolve(io.cwd, given));
  if (!baseline) throw usageError(`There is no baseline "${given}".`, "Write one with `evals baseline accept`.");
  const { suite, model, host, cases, toolsets, exposure = allDefinitions } = baseline;
  const before = new Map(cases.map((one) => [one.id, one]));
  return {
    from: `the baseline ${given}`,
    paths: flags.paths ?? [],
    suite,
    model: flags.model ?? model.id,
    host: host as BlameQuestion["host"],
    exposure,
    recorded: {},
    identity: toComparedRun(baseline),
    base: (id) => {
      const hash = before.get(id)?.toolset;
      return hash === undefined ? undefined : toolsets[hash];
    },
    head: () => undefined,
    known: (id) => {
      const { passed, trials } = before.get(id) ?? { passed: 0, trials: 0 };
      return { old: { passed, trials } };
    },
  };
}

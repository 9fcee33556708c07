import { resolve } from "node:path";
import { usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { readBaseline } from "../runs/baseline.ts";
import { findRecord, readTrials } from "../runs/record.ts";
import { comparedOf } from "../types/baseline.ts";
import { canonicalJson, type JsonObject } from "../types/json.ts";
import type { CheckPlan, RunManifest } from "../types/run.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";
import type { Blamed } from "../verdicts/blameCases.ts";
import type { ComparedRun } from "../verdicts/comparable.ts";
import { countTrials } from "../verdicts/evidence.ts";
import { type Summariser, summariser } from "../verdicts/summary.ts";
import type { ExperimentFlags } from "./experiment.ts";

/**
 * Cases of one suite on one model that are to be explained. `wanted` is absent where `--case` says which. `base`: the
 * list of a case then; `head`: the list that it failed with, which the live one must still be; nothing where none did.
 */
export type Question = {
  from: string;
  paths: string[];
  suite: string;
  model: string;
  host: ExperimentFlags["host"];
  /** The flags that the model was asked with. */
  recorded: JsonObject;
  /** What the live suite must still be to be comparable. */
  identity: ComparedRun;
  wanted?: readonly string[];
  base(id: string): readonly OfferedTool[] | undefined;
  head(id: string): Toolset | undefined;
  known(id: string): Pick<Blamed, "old" | "new">;
};

/** How many of the cases that dropped are blamed when nothing says which. */
const mostCases = 3;

export type RunQuestionFlags = {
  out: string;
  suite?: string | undefined;
  model?: string | undefined;
  case?: readonly string[] | undefined;
  /** Nothing to explain is no error. */
  quiet?: boolean;
};

type ComparePlan = Extract<CheckPlan, { kind: "compare" }>;
type ManifestSuite = RunManifest["suites"][number];

/** One question for each suite and model that the run's check called regressed, or, with `--case`, that it checked. */
export async function questionsOfRun(run: string, flags: RunQuestionFlags, io: Io): Promise<Question[]> {
  const { dir, manifest } = await findRecord("run", run, resolve(io.cwd, flags.out));
  const results = summariser(manifest, dir);
  for await (const trial of readTrials(dir)) results.add(trial);
  const { suites } = results.summary();
  const checked = manifest.suites.flatMap((suite) =>
    (suite.checks ?? []).flatMap((plan) => {
      const fits = (flags.suite ?? suite.name) === suite.name && (flags.model ?? plan.model) === plan.model;
      const verdict = suites.find(({ name, model }) => name === suite.name && model === plan.model)?.verdict;
      return fits && plan.kind === "compare" && verdict ? [{ suite, plan, verdict }] : [];
    }),
  );
  const regressed = checked.filter(({ verdict }) => verdict.kind === "regressed");
  const asked = flags.case === undefined ? regressed : checked;
  if (asked.length === 0 && !flags.quiet) throw nothingToExplain(manifest, checked.length, flags);
  return asked.map(({ suite, plan, verdict }) => {
    const flagged = "flagged" in verdict ? verdict.flagged.map((one) => one.case) : [];
    const question = questionOf(manifest, suite, plan, results);
    if (flags.case !== undefined) return question;
    return { ...question, wanted: flagged.length > 0 ? flagged.slice(0, mostCases) : [worstOf(plan, question)] };
  });
}

function nothingToExplain({ id }: RunManifest, checked: number, { suite, model }: RunQuestionFlags) {
  const of = [suite, model].filter((one) => one !== undefined).join(" on ");
  const what = `the run ${id} has ${checked > 0 ? "no regression" : "no regression check"}${of ? ` of ${of}` : ""}`;
  return usageError(
    `${what} to explain`,
    checked > 0
      ? "Name a case of it with --case to explain it all the same."
      : "Make one with `evals run --check thorough`.",
  );
}

function questionOf(manifest: RunManifest, suite: ManifestSuite, plan: ComparePlan, results: Summariser): Question {
  const { toolsets, host, harness } = manifest;
  const planned = new Map(plan.cases.map((one) => [one.id, one]));
  const now = new Map(suite.cases.map(({ id, toolset }) => [id, toolset]));
  const evidence = results.check(suite.name, plan.model)?.book.evidence ?? new Map();
  const settings = manifest.models.find(({ id }) => id === plan.model)?.settings ?? {};
  const list = (hash: string | undefined) => (hash === undefined ? undefined : toolsets[hash]);
  return {
    from: `the run ${manifest.id}`,
    paths: [suite.file],
    suite: suite.name,
    model: plan.model,
    host: host as Question["host"],
    recorded: manifest.flags,
    identity: {
      suite: suite.name,
      model: plan.model,
      settings: canonicalJson(settings),
      host,
      harness,
      cases: suite.cases,
    },
    base: (id) => list(planned.get(id)?.toolset),
    head: (id) => {
      const [hash, tools] = [now.get(id), list(now.get(id))];
      return hash !== undefined && tools ? { hash, tools } : undefined;
    },
    // A case that was cleared against the bank has no fresh trials of the base list.
    known: (id) => {
      const fresh = countTrials(evidence, id, "base");
      const bank = planned.get(id)?.bank ?? fresh;
      return { old: fresh.trials > 0 ? fresh : bank, new: countTrials(evidence, id, "head") };
    },
  };
}

/** The case that dropped most, for a suite that regressed without a case that can be named. */
function worstOf({ cases }: ComparePlan, { known }: Question): string {
  const drop = (id: string) => {
    const { old, new: now = { passed: 0, trials: 0 } } = known(id);
    return old.trials === 0 || now.trials === 0 ? 0 : old.passed / old.trials - now.passed / now.trials;
  };
  return cases.map(({ id }) => id).toSorted((a, b) => drop(b) - drop(a))[0] ?? "";
}

/** The question why cases do worse with the live list than the baseline says: how much worse is measured first. */
export async function questionOfBaseline(
  given: string,
  flags: { case?: readonly string[] | undefined; paths?: string[] | undefined; model?: string | undefined },
  io: Io,
): Promise<Question> {
  if (flags.case === undefined) throw usageError("--baseline needs --case", "Say which case is to be explained.");
  const baseline = await readBaseline(resolve(io.cwd, given));
  if (!baseline) throw usageError(`there is no baseline ${given}`, "Baselines are written by `evals baseline accept`.");
  const { suite, model, host, cases, toolsets } = baseline;
  const before = new Map(cases.map((one) => [one.id, one]));
  return {
    from: `the baseline ${given}`,
    paths: flags.paths ?? [],
    suite,
    model: flags.model ?? model.id,
    host: host as Question["host"],
    recorded: {},
    identity: comparedOf(baseline),
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

import { hashPrompt } from "../../asking/scoring/judge.ts";
import { labelCase, listExpectedTools, readSkillExpectation } from "../../asking/scoring/labels.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { groupBy } from "../../base/collections.ts";
import type { CheckPlan } from "../../base/types/check.ts";
import { allDefinitions } from "../../base/types/exposure.ts";
import type { JsonObject } from "../../base/types/json.ts";
import type { AskedModel } from "../../base/types/model.ts";
import type { Experiment, RunManifest } from "../../base/types/run.ts";
import { asksModel, type Suite } from "../../base/types/suite.ts";
import { newNonce, newRunId } from "../../records/record.ts";
import { distractorsArm } from "../workspace/arms.ts";
import { version } from "../workspace/version.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The checks of a run by suite, one for each model with a baseline, and the tool lists of these baselines by hash. */
export type PlannedChecks = { plans: ReadonlyMap<string, readonly CheckPlan[]>; toolsets: RunManifest["toolsets"] };

type ManifestParts = Workspace & {
  flags: JsonObject;
  seed: number;
  checks?: PlannedChecks;
  experiment?: Experiment;
  /** Tool lists of arms other than head, by hash. */
  otherToolsets?: RunManifest["toolsets"];
  failOn?: RunManifest["failOn"];
  partial?: RunManifest["partial"];
  distractors?: string | undefined;
  cache?: boolean | undefined;
};

/** Creates the manifest, which records everything that affects a run's answers before the first model call. */
export function createManifest(parts: ManifestParts): RunManifest {
  const now = new Date();
  return {
    format: "tool-evals run 1",
    id: newRunId(now),
    nonce: newNonce(),
    startedAt: now.toISOString(),
    ...(parts.failOn && { failOn: parts.failOn }),
    ...(parts.partial && { partial: parts.partial }),
    ...(parts.cache && { cache: true as const }),
    harness: version,
    node: process.version,
    ...(parts.git && { git: parts.git }),
    flags: parts.flags,
    seed: parts.seed,
    host: parts.host,
    models: parts.models.map((model) => ({
      id: model.id,
      kind: model.kind,
      ...(model.note && { note: model.note }),
      settings: model.settings,
      deterministic: model.deterministic,
      exposures: [...(model.askedUnder ?? [allDefinitions])],
    })),
    ...(parts.judge && { judge: describeJudge(parts.judge, parts.judgeFigure) }),
    suites: parts.suites.map((suite) => describeSuite(suite, parts)),
    ...(parts.experiment && { experiment: parts.experiment }),
    toolsets: { ...parts.checks?.toolsets, ...parts.otherToolsets, ...indexToolsets(parts.cases) },
  };
}

function describeJudge({ id, settings }: AskedModel, figure: string | undefined): RunManifest["judge"] {
  return { model: id, settings: { ...settings, prompt: hashPrompt() }, ...(figure !== undefined && { figure }) };
}

/** The tool lists of these cases, by hash. */
export function indexToolsets(cases: readonly PlannedCase[]): RunManifest["toolsets"] {
  return Object.fromEntries(cases.map(({ toolset }) => [toolset.hash, [...toolset.tools]]));
}

function describeSuite(
  suite: Suite,
  { servers, configurations, cases, checks, models, armCases, distractors }: ManifestParts,
): RunManifest["suites"][number] {
  const ownArmCases = armCases.filter((one) => one.suite === suite);
  const others = [...groupBy(ownArmCases, ({ arm }) => arm)].map(([name, own]) => ({
    name,
    cases: own.map((one) => one.case.id),
  }));
  const smallest = Number.parseInt(distractors ?? "", 10);
  const server = servers.get(suite.name);
  const members = configurations.get(suite.name);
  const planned = checks?.plans.get(suite.name);
  const ofCases = cases.filter((one) => one.suite === suite).flatMap((one) => one.case.mocks?.list ?? []);
  const mocks = [...new Set(ofCases.map(({ label }) => label))];
  return {
    name: suite.name,
    file: suite.file,
    hash: suite.hash,
    execute: suite.execute,
    ...(suite.denial !== undefined && { denial: suite.denial }),
    isolate: suite.isolate,
    ...(suite.models && { models: models.filter((model) => asksModel(suite, model)).map(({ id }) => id) }),
    ...(others.length > 0 && {
      arms:
        distractors === undefined
          ? { axis: "surface" as const, first: "default", others }
          : { axis: "distractors" as const, first: distractorsArm(smallest), others },
    }),
    ...(suite.dispatch && { dispatchers: Object.keys(suite.dispatch) }),
    ...(suite.failOn && { failOn: [...suite.failOn] }),
    ...(suite.lift !== undefined && { lift: suite.lift }),
    ...(mocks.length > 0 && { mocks }),
    ...(server && { server }),
    ...(members && { servers: [...members] }),
    ...(planned && { checks: [...planned] }),
    ...(suite.unreviewed && { unreviewed: [...suite.unreviewed] }),
    cases: cases.filter((planned) => planned.suite === suite).map(describeCase),
  };
}

function describeCase({ case: one, toolset, owner }: PlannedCase): RunManifest["suites"][number]["cases"][number] {
  return {
    id: one.id,
    hash: one.hash,
    input:
      one.turns?.map(({ content }) => content).join(" > ") ??
      one.messages.findLast((message) => message.role === "user")?.content ??
      "",
    ...(one.paraphrases && { paraphrases: [...one.paraphrases] }),
    expected: labelCase(one),
    expectedTools: [...listExpectedTools(one)],
    ...(readSkillExpectation(one.expect) && { skills: readSkillExpectation(one.expect) }),
    ...(owner !== undefined && { server: owner }),
    toolset: toolset.hash,
    trials: one.trials,
    passRate: one.passRate,
    maxTurns: one.maxTurns,
    file: one.location.file,
    line: one.location.line ?? 1,
  };
}

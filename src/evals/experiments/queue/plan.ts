import { createHash } from "node:crypto";
import * as z from "zod";
import { formatIssues } from "../../base/types/issues.ts";
import { canonicalJson, type Json, jsonObjectSchema } from "../../base/types/json.ts";
import { executionPolicySchema } from "../../base/types/suite.ts";
import { type HostName, hosts } from "../../servers/host.ts";
import { neverListed } from "../workspace/cases.ts";
import { version } from "../workspace/version.ts";
import type { Workspace } from "../workspace/workspace.ts";

// What a coordinator and its workers must agree on. A worker opens the same suites in its own checkout, and runs trials
// only if they match what the coordinator planned with.

const text = z.string().max(1_000);
const texts = z.array(text).max(1_000);

/** The options of a run that affect what is asked. Executables, URLs and keys are those of the worker. */
const planOptionsSchema = z
  .strictObject({
    paths: texts,
    case: texts,
    skill: texts,
    hostDir: texts,
    model: texts,
    judge: text,
    trials: z.number().int().min(1),
    passRate: z.number().min(0).max(1),
    maxTurns: z.number().int().min(1).max(100),
    maxTokens: z.number().int().min(1),
    timeout: z.number().positive().max(86_400),
    retries: z.number().int().min(0).max(20),
    execute: executionPolicySchema,
    host: z.enum(Object.keys(hosts) as [HostName, ...HostName[]]),
    exposure: text,
    ranker: z.enum(["keyword", "bm25", "regex"]),
    surfaces: z.boolean(),
    distractors: text,
    effort: text,
    prices: text,
    baselines: text,
  })
  .partial();

const planSchema = z.strictObject({
  format: z.literal("tool-evals plan 1"),
  harness: text,
  commit: text.optional(),
  host: text,
  options: planOptionsSchema,
  /** The explicitly given options, which override the settings of single suites. */
  given: texts,
  /** `tools`: hash of the tool lists of all cases; absent if the coordinator could not list the tools. */
  suites: z
    .array(z.strictObject({ name: text, file: z.string().max(4_096), hash: text, tools: text.optional() }))
    .max(10_000),
  models: z.array(z.strictObject({ id: text, settings: jsonObjectSchema })).max(1_000),
  judge: z.strictObject({ id: text, settings: jsonObjectSchema }).optional(),
});
export type Plan = z.infer<typeof planSchema>;

const hashText = (value: string) => createHash("sha256").update(value).digest("hex");

/** Describes what is planned in a workspace. Options that do not belong in a plan are omitted. */
export function describePlan(
  { suites, cases, armCases, models, judge, git, host }: Workspace,
  options: object,
  given: Iterable<string> = [],
): Plan {
  const shape = Object.keys(planOptionsSchema.shape);
  const asGiven = Object.fromEntries(
    Object.entries(options).filter(([name, value]) => shape.includes(name) && value !== undefined),
  );
  const all = [...cases, ...armCases];
  return planSchema.parse({
    format: "tool-evals plan 1",
    harness: version,
    ...(git && { commit: git.commit }),
    host,
    options: { ...asGiven, ...("model" in asGiven && { model: [asGiven.model].flat() }) },
    given: [...given].filter((name) => shape.includes(name)).sort(),
    suites: suites.map((suite) => {
      const own = all.filter((planned) => planned.suite === suite);
      const lists = own.map((planned) => [planned.case.id, planned.arm, planned.toolset.hash]);
      const isListed = own.every(({ toolset }) => toolset.hash !== neverListed.hash);
      const { name, file, hash } = suite;
      return { name, file, hash, ...(isListed && { tools: hashText(JSON.stringify(lists)) }) };
    }),
    models: models.map(({ id, settings }) => ({ id, settings })),
    ...(judge && { judge: { id: judge.id, settings: judge.settings } }),
  });
}

/** Serializes a plan for storage. Returns the text and its hash. */
export function sealPlan(plan: Plan): { text: string; hash: string } {
  const sealed = canonicalJson(plan as Json);
  return { text: sealed, hash: hashText(sealed) };
}

/** Parses a stored plan. Returns undefined if the hash does not match. Throws if the plan is invalid. */
export function openPlan(sealed: string, hash: string): Plan | undefined {
  if (hashText(sealed) !== hash) return undefined;
  const parsed = planSchema.safeParse(JSON.parse(sealed));
  if (!parsed.success) throw new Error(formatIssues(parsed.error));
  return parsed.data;
}

/** Lists the differences between this checkout and the plan, as clauses. Ignores models that are not opened here. */
export function listPlanDifferences(plan: Plan, here: Plan): string[] {
  const differences = [
    ...(plan.harness === here.harness ? [] : [`tool-evals is ${here.harness} here and ${plan.harness} there`]),
    ...plan.suites.flatMap((suite) => {
      const own = here.suites.find(({ name }) => name === suite.name);
      if (!own) return [`the suite "${suite.name}" (${suite.file}) is missing here`];
      if (own.hash !== suite.hash) return [`${suite.file} differs`];
      if (suite.tools === undefined || own.tools === suite.tools) return [];
      return [
        own.tools === undefined
          ? `the tools of ${suite.file} cannot be listed here`
          : `the tools that the server of ${suite.file} lists differ`,
      ];
    }),
    ...here.models.flatMap(({ id, settings }) => {
      const there = plan.models.find((model) => model.id === id);
      return there ? listSettings(id, there.settings, settings) : [`${id} is not asked there`];
    }),
    ...(plan.judge && here.judge ? listSettings(plan.judge.id, plan.judge.settings, here.judge.settings) : []),
  ];
  // A different commit comes first, because it explains the other differences.
  const isOther = plan.commit !== undefined && here.commit !== undefined && plan.commit !== here.commit;
  return isOther
    ? [`the commit is ${shorten(here.commit)} here and ${shorten(plan.commit)} there`, ...differences]
    : differences;
}

const shorten = (commit = "") => commit.slice(0, 10);

function listSettings(id: string, there: Record<string, Json>, here: Record<string, Json>): string[] {
  const names = [...new Set([...Object.keys(there), ...Object.keys(here)])];
  return names
    .filter((name) => JSON.stringify(there[name]) !== JSON.stringify(here[name]))
    .map((name) => `${name} of ${id} is ${JSON.stringify(here[name])} here and ${JSON.stringify(there[name])} there`);
}

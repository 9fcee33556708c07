import type { Gate } from "../../base/types/check.ts";
import { usageError } from "../../base/types/errors.ts";
import type { CheckOptions } from "../check/ask.ts";
import type { DriftRunOptions } from "../drift/ask.ts";
import type { AskOptions } from "../pipeline/pipeline.ts";
import type { ExposureOptions } from "../workspace/exposures.ts";
import type { RequestOptions } from "../workspace/models.ts";
import type { SuiteOptions } from "../workspace/suites.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The flags of `evals run`, which its help explains. */
export type RunOptions = SuiteOptions &
  RequestOptions &
  ExposureOptions &
  AskOptions &
  CheckOptions &
  DriftRunOptions & {
    model: readonly string[];
    host: Workspace["host"];
    seed?: number | undefined;
    shard?: string | undefined;
    failOn?: Gate[] | undefined;
    blame: boolean;
    dryRun: boolean;
    resume?: string | undefined;
    retryBroken: boolean;
    json: boolean;
    accept?: boolean | undefined;
    surfaces?: boolean | undefined;
    distractors?: string | undefined;
    reporter?: readonly string[] | undefined;
    changed?: boolean | undefined;
    failed?: boolean | undefined;
    watch?: boolean | undefined;
    rate?: number | undefined;
    otlp?: string | undefined;
  };

/** What is compared within a run: the number of further exposures, and of cases in other arms. */
type Compared = { exposures: number; inArms: number };

/** Throws a usage error for options that cannot be combined. */
export function refuseContradictions(options: RunOptions, isResumed: boolean, compared: Compared): void {
  if (options.shard !== undefined) refuseWithShard(options, isResumed);
  if (options.cache) refuseWithCache(options);
  refuseSeveralAxes(options, compared);
  const { check = "off", nightly, given } = options;
  // The setting of a project file is ignored, not refused.
  const asked = nightly ? "--nightly" : check !== "off" && (given?.has("check") ?? true) ? "--check" : undefined;
  if (asked !== undefined && compared.exposures + compared.inArms > 0)
    throw usageError(
      "A run of several arms compares them with each other, not with a baseline.",
      `Omit ${asked}, or compare nothing else.`,
    );
}

/** Throws a usage error for options that ask in this process, or that workers do not support. */
export function refuseWithQueue({ model, blame, userSkills, inline, changed, watch, batch, cache }: RunOptions): void {
  const local = Object.entries({ "--changed": changed, "--watch": watch, "--batch": batch, "--cache": cache }).find(
    ([, given]) => given,
  );
  if (local) throw usageError(`${local[0]} cannot be used with --queue.`, "Omit one of them.");
  if (blame) throw usageError("--blame cannot be used with --queue.", "Run `evals blame` after the run.");
  if (userSkills)
    throw usageError("--user-skills reads skills of this machine, which workers do not have.", "Omit one of them.");
  if (inline) throw usageError("Inline suites cannot be used with --queue.", "Write them to files.");
  if ([model].flat().some((id) => id.startsWith("replay:")))
    throw usageError("-m replay: answers from a record of this machine, which workers cannot read.", "Omit --queue.");
}

function refuseWithShard({ seed, accept, blame, shard }: RunOptions, isResumed: boolean): void {
  if (seed === undefined && !isResumed)
    throw usageError(
      "--shard needs --seed: all shards of a run must have the same plan.",
      "Give all of them the same --seed, for example the number of the CI run.",
    );
  const whole = accept ? "--accept" : blame ? "--blame" : undefined;
  if (whole)
    throw usageError(
      `${whole} needs a whole run, and --shard ${shard} asks a part of it.`,
      accept ? "Give --accept to `evals merge`." : "Run `evals blame` on the merged run.",
    );
}

/** Reused replies are not new evidence and decide nothing. Settings of the project file are ignored, not refused. */
function refuseWithCache({ check = "off", nightly, accept, blame, failOn, shard, batch, given }: RunOptions): void {
  const isGiven = (name: string) => given?.has(name) ?? true;
  const deciding = [
    ...(check !== "off" && isGiven("check") ? ["--check"] : []),
    ...(nightly ? ["--nightly"] : []),
    ...(accept ? ["--accept"] : []),
    ...(blame ? ["--blame"] : []),
    ...(failOn !== undefined && isGiven("failOn") ? ["--fail-on"] : []),
    ...(shard === undefined ? [] : ["--shard"]),
    ...(batch ? ["--batch"] : []),
  ];
  if (deciding.length === 0) return;
  throw usageError(
    `${deciding.join(", ")} cannot be used with --cache, which repeats replies of earlier runs and decides nothing.`,
    "Omit --cache.",
  );
}

function refuseSeveralAxes({ surfaces, distractors }: RunOptions, { exposures, inArms }: Compared): void {
  const axes = [
    ...(exposures > 0 ? ["several exposures"] : []),
    ...(surfaces ? ["--surfaces"] : []),
    ...(distractors === undefined ? [] : ["--distractors"]),
  ];
  if (axes.length > 1)
    throw usageError(`A run compares along one axis, and has ${axes.join(" and ")}.`, "Name one of them.");
  if (surfaces && inArms === 0)
    throw usageError(
      "No suite has `surfaces`.",
      "List other servers of the same cases under `surfaces`, or omit --surfaces.",
    );
}

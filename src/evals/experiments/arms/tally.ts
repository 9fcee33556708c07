import { type Observation, TrialRecord } from "../../asking/trials/design.ts";
import { getOrAdd, sumOf } from "../../base/collections.ts";
import { type Counts, pool, swapArms } from "../../base/stats/counts.ts";
import type { ArmComparison, ArmSummary, ArmsSummary } from "../../base/types/arms.ts";
import { allDefinitions, type Exposure, nameExposure } from "../../base/types/exposure.ts";
import { type ManifestSuite, type RunManifest, withoutArm } from "../../base/types/run.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { addCost, type Cost, type Trial } from "../../base/types/trial.ts";
import { compareRecords } from "../design/compare.ts";
import { type CheckVerdict, readObservation, showsFall } from "../design/observe.ts";
import { defaultMargin } from "../design/statistics.ts";
import { confusedPair, DiscoveryTally, type Pair, readChoice } from "../results/calls.ts";
import { promptTokens, Ranking } from "../results/tally.ts";

/** An arm that is compared. `arm`: the arm of its trials on the record; `name`: what it is called in reports. */
type ComparedArm = { arm: string; name: string; exposure: Exposure };

/** The arms of one axis. The others are compared with the first. */
export type ComparedArms = Pick<ArmsSummary, "axis" | "skill"> & { arms: readonly ComparedArm[] };

/** What a run compares in a suite on a model: its surfaces or numbers of distractors, exposures, a skill. */
export function listComparedArms(
  suite: ManifestSuite,
  { exposures = [] }: RunManifest["models"][number],
): ComparedArms[] {
  const { arms, lift: skill } = suite;
  const [exposure = allDefinitions] = exposures;
  const compared: ComparedArms[] = [];
  if (arms) {
    const others = arms.others.map(({ name }) => ({ arm: name, name, exposure }));
    compared.push({ axis: arms.axis, arms: [{ arm: "head", name: arms.first, exposure }, ...others] });
  }
  if (exposures.length > 1) {
    const name = (one: Exposure, at: number) => ({ arm: at === 0 ? "head" : one.kind, name: nameExposure(one) });
    compared.push({ axis: "exposure", arms: exposures.map((one, at) => ({ ...name(one, at), exposure: one })) });
  }
  if (skill !== undefined) {
    const without = { arm: withoutArm, name: "without the skill", exposure };
    compared.push({ axis: "skill", skill, arms: [without, { arm: "head", name: "with the skill", exposure }] });
  }
  return compared;
}

class Tally implements Counts {
  passed = 0;
  trials = 0;

  add(isPassed: boolean): void {
    this.trials++;
    if (isPassed) this.passed++;
  }

  counts = (): Counts => ({ passed: this.passed, trials: this.trials });
}
const startTally = () => new Tally();

class ArmTally {
  recorded = 0;
  broken = 0;
  notGradable = 0;
  requests = 0;
  tokens = 0;
  ms = 0;
  costUsd: Cost = 0;
  readonly graded = new Tally();
  readonly chosen = new Tally();
  readonly chosenByCase = new Map<string, Tally>();
  readonly foreign = new Ranking<Pair>();
  readonly discovery = new DiscoveryTally();
  readonly observations: { id: string; trial: number; observation: Observation }[] = [];

  add(trial: Trial, isForeign: (trial: Trial) => boolean): void {
    const observation = readObservation(trial);
    if (observation !== undefined && observation !== "copy") {
      const { case: id, trial: number } = trial.cell;
      this.observations.push({ id, trial: number, observation });
    }
    if (trial.copy) return;
    this.recorded++;
    if (trial.outcome.kind === "broken") this.broken++;
    this.requests += trial.turns.length;
    for (const { usage, ms } of trial.turns) {
      this.tokens += promptTokens(usage);
      this.ms += ms;
    }
    this.costUsd = addCost(this.costUsd, costWithoutJudge(trial));
    this.discovery.add(trial);
    const { verdict } = trial;
    if (verdict?.grade === "not-gradable") this.notGradable++;
    if (!verdict || verdict.grade === "not-gradable") return;
    this.graded.add(verdict.grade === "pass");
    if (isForeign(trial)) this.foreign.add(confusedPair(trial));
    const isChosen = readChoice(verdict);
    if (isChosen === undefined) return;
    this.chosen.add(isChosen);
    getOrAdd(this.chosenByCase, trial.cell.case, startTally).add(isChosen);
  }
}

/** The cost of the model in an arm. That of the judge is in the totals of the suite. */
function costWithoutJudge({ costUsd, judging }: Trial): Cost {
  if (costUsd === "unknown" || !judging) return costUsd;
  return judging.costUsd === "unknown" ? "unknown" : costUsd - judging.costUsd;
}

const behavior = "behavior: ";

/** The arms of one suite on one model along one axis, each compared with the first. */
export class ArmsTally {
  readonly #compared: ComparedArms;
  readonly #arms: ReadonlyMap<string, ArmTally>;
  readonly #manifest: RunManifest;
  readonly #isDeterministic: boolean;
  readonly #cases: ReadonlyMap<string, ManifestSuite["cases"][number]>;
  readonly #behaviors = new Map<string, { case: string; text: string; met: Map<string, Tally> }>();

  constructor(compared: ComparedArms, manifest: RunManifest, suite: ManifestSuite, isDeterministic: boolean) {
    this.#compared = compared;
    this.#manifest = manifest;
    this.#isDeterministic = isDeterministic;
    this.#cases = new Map(suite.cases.map((one) => [one.id, one]));
    this.#arms = new Map(compared.arms.map(({ arm }) => [arm, new ArmTally()]));
  }

  add(given: Trial): void {
    const { skill, axis } = this.#compared;
    const trial = skill === undefined ? given : gradeWithoutLoading(given, skill);
    const { case: id, arm } = trial.cell;
    const isForeign = (one: Trial) => axis === "distractors" && this.#callsForeignTool(one);
    this.#arms.get(arm)?.add(trial, isForeign);
    for (const { what, met } of this.#arms.has(arm) ? (trial.verdict?.checks ?? []) : []) {
      if (!what.startsWith(behavior) || met === "unknown") continue;
      const text = what.slice(behavior.length);
      const one = getOrAdd(this.#behaviors, JSON.stringify([id, text]), () => ({ case: id, text, met: new Map() }));
      getOrAdd(one.met, arm, startTally).add(met === "yes");
    }
  }

  /** Whether a trial calls a distractor, or in a whole configuration a tool of a server that its case is not about. */
  #callsForeignTool({ toolset, turns, cell }: Trial): boolean {
    const owner = this.#cases.get(cell.case)?.server;
    const tools = new Map((this.#manifest.toolsets[toolset] ?? []).map((tool) => [tool.name, tool]));
    return turns.some(({ calls }) =>
      calls.some(({ tool: name }) => {
        const tool = tools.get(name);
        return tool && (tool.origin === "distractor" || (owner !== undefined && tool.server !== owner));
      }),
    );
  }

  countOthers(): { recorded: number; broken: number } {
    const others = [...this.#arms].filter(([name]) => name !== "head").map(([, arm]) => arm);
    return { recorded: sumOf(others, (arm) => arm.recorded), broken: sumOf(others, (arm) => arm.broken) };
  }

  summary(): ArmsSummary {
    const { axis, skill, arms: compared } = this.#compared;
    const arms = compared.map(({ arm }) => this.#arms.get(arm) ?? new ArmTally());
    const [first] = arms;
    const behaviors = [...this.#behaviors.values()].sort((a, b) => (a.case < b.case ? -1 : a.case > b.case ? 1 : 0));
    return {
      axis,
      ...(skill !== undefined && { skill }),
      arms: arms.map((arm, at): ArmSummary => {
        const { arm: recorded, name, exposure } = compared[at] as ComparedArm;
        const discovery = arm.discovery.summary();
        const against = first && at > 0 ? this.#compare(first, arm) : undefined;
        const answered = arm.recorded - arm.broken;
        return {
          arm: recorded,
          name,
          exposure,
          ...arm.graded.counts(),
          broken: arm.broken,
          notGradable: arm.notGradable,
          chosen: arm.chosen.counts(),
          ...(axis === "distractors" && { foreign: arm.foreign.ranked() }),
          ...(discovery && { discovery }),
          tokensPerRequest: arm.tokens > 0 ? arm.tokens / arm.requests : null,
          requestsPerTrial: arm.recorded > 0 ? arm.requests / arm.recorded : null,
          msPerTrial: answered > 0 ? arm.ms / answered : null,
          costUsd: arm.costUsd,
          ...(against && { against }),
        };
      }),
      ...(behaviors.length > 0 && {
        behaviors: behaviors.map(({ met, ...one }) => {
          return { ...one, met: compared.map(({ arm }) => (met.get(arm) ?? startTally()).counts()) };
        }),
      }),
    };
  }

  /** Undefined while no case has a graded trial in both. */
  #compare(base: ArmTally, head: ArmTally): ArmComparison | undefined {
    const [inBase, gradedInBase] = [listAsked(base), listAsked(base, "graded")];
    const cases = [...listAsked(head)].filter((id) => inBase.has(id)).sort();
    if (![...listAsked(head, "graded")].some((id) => gradedInBase.has(id))) return undefined;
    const comparisons = 2 * (this.#compared.arms.length - 1);
    const alwaysAlike = this.#isDeterministic;
    // With and without a skill the model is shown other lists, so trials of one number are no pairs.
    const samePairs = this.#compared.axis !== "skill";
    const { seed } = this.#manifest;
    const setup = { cases, samePairs, alwaysAlike, seed, withReach: false, families: comparisons };
    const decide = (one: ArmTally, other: ArmTally) => compareRecords({ ...setup, record: joinRecords(one, other) });
    const [down, up] = [decide(base, head), decide(head, base)];
    const sumChosen = ({ chosenByCase }: ArmTally) => pool(cases.flatMap((id) => chosenByCase.get(id)?.counts() ?? []));
    const notAsked = [...inBase].filter((id) => !cases.includes(id)).sort();
    return {
      verdict: readVerdict(down, up),
      margin: defaultMargin,
      comparisons,
      ...(notAsked.length > 0 && { notAsked }),
      chosen: { own: sumChosen(head), first: sumChosen(base) },
      net: down.net && { change: down.net.change, interval: down.net.interval },
      p: alwaysAlike ? null : { worse: down.suite.p, better: up.suite.p },
      fell: listCases(down),
      rose: listCases(up).map(swapArms),
    };
  }
}

function listAsked({ observations }: ArmTally, which?: "graded"): ReadonlySet<string> {
  const counted = observations.filter(({ observation }) => which === undefined || observation !== "missing");
  return new Set(counted.map(({ id }) => id));
}

/** Without its loading, which the arm without the skill cannot do: only the outcome is compared. */
function gradeWithoutLoading(trial: Trial, skill: string): Trial {
  const { verdict } = trial;
  if (!verdict) return trial;
  const isAvoided = verdict.expected === `(avoid ${skillEntryName(skill)})`;
  const { reason: _, ...score } = { reason: "", ...verdict };
  const checks = verdict.checks.filter(({ what }) => what !== "skill" && !(isAvoided && what === "avoid"));
  if (checks.length === verdict.checks.length) return trial;
  const open = checks.find(({ met }) => met === "unknown");
  if (checks.some(({ met }) => met === "no")) return { ...trial, verdict: { ...score, checks, grade: "fail" } };
  if (checks.length > 0 && !open) return { ...trial, verdict: { ...score, checks, grade: "pass" } };
  const reason = open?.why ?? "nothing but the loading is expected";
  return { ...trial, verdict: { ...score, checks, grade: "not-gradable", reason } };
}

/** The trials of two arms as the arms of a comparison. Trial t of a case has the same order of tools in both. */
function joinRecords(base: ArmTally, head: ArmTally): TrialRecord {
  const record = new TrialRecord();
  for (const [name, arm] of [["base", base] as const, ["head", head] as const])
    for (const { id, trial, observation } of arm.observations) record.add(id, name, trial, observation);
  record.abandon();
  return record;
}

/** The cases with a significant fall; for a deterministic model, those that went from pass to fail. */
function listCases(verdict: CheckVerdict): ArmComparison["fell"] {
  if (verdict.kind === "regressed" && verdict.by === "cases") {
    return verdict.flagged.map(({ case: id, base, head }) => ({ case: id, base, head }));
  }
  if (verdict.kind !== "changed") return [];
  return verdict.flips.flatMap(({ case: id, down, up, pairs }) =>
    down > up ? [{ case: id, base: { passed: down, trials: pairs }, head: { passed: up, trials: pairs } }] : [],
  );
}

function readVerdict(down: CheckVerdict, up: CheckVerdict): ArmComparison["verdict"] {
  if (showsFall(down)) return showsFall(up) ? "mixed" : "worse";
  if (showsFall(up)) return "better";
  return down.kind === "no-regression" && up.kind === "no-regression" ? "equal" : "open";
}

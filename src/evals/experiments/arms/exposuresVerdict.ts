import { type Observation, TrialRecord } from "../../asking/trials/design.ts";
import { getOrAdd } from "../../base/getOrAdd.ts";
import { type Counts, pool, swapArms } from "../../base/stats/counts.ts";
import { sumOf } from "../../base/sum.ts";
import type { ChoiceByExposure, ExposureComparison, ExposureSummary } from "../../base/types/discovery.ts";
import type { Exposure } from "../../base/types/exposure.ts";
import type { Trial } from "../../base/types/trial.ts";
import { compareRecords } from "../design/compare.ts";
import { type CheckVerdict, readObservation, showsFall, summariseAnswer } from "../design/observe.ts";
import { defaultMargin } from "../design/statistics.ts";
import { DiscoveryTally, readChoice } from "../results/discovery.ts";
import { promptTokens } from "../results/tally.ts";

/** What is compared: an exposure, or a surface under one. `arm`: the arm with its trials; the first is `head`. */
export type ComparedArm = { arm: string; exposure: Exposure; surface?: string };

/** The exposures of a model: the first in the arm `head`, a further one in an arm with the name of its kind. */
export function listExposureArms(exposures: readonly Exposure[]): ComparedArm[] {
  return exposures.map((exposure, at) => ({ arm: at === 0 ? "head" : exposure.kind, exposure }));
}

const addTo = (counts: Counts, passed: boolean) => {
  counts.trials++;
  if (passed) counts.passed++;
};
const noCounts = (): Counts => ({ passed: 0, trials: 0 });

class ArmTally {
  recorded = 0;
  broken = 0;
  requests = 0;
  tokens = 0;
  readonly graded: Counts = { passed: 0, trials: 0 };
  readonly chosen: Counts = { passed: 0, trials: 0 };
  readonly chosenByExpectation = new Map<string, Counts>();
  readonly chosenByCase = new Map<string, Counts>();
  readonly discovery = new DiscoveryTally();
  readonly observations: { id: string; trial: number; observation: Observation; answer: string }[] = [];

  /** `expected`: the label of the case in `head`, because its tools may have other names in this arm. */
  add(trial: Trial, expected: string | undefined): void {
    const observation = readObservation(trial);
    if (observation !== undefined && observation !== "copy") {
      const { case: id, trial: number } = trial.cell;
      this.observations.push({ id, trial: number, observation, answer: summariseAnswer(trial) });
    }
    if (trial.copy) return;
    this.recorded++;
    if (trial.outcome.kind === "broken") this.broken++;
    this.requests += trial.turns.length;
    for (const { usage } of trial.turns) this.tokens += promptTokens(usage);
    this.discovery.add(trial);
    const { verdict } = trial;
    if (!verdict || verdict.grade === "not-gradable") return;
    addTo(this.graded, verdict.grade === "pass");
    const isChosen = readChoice(verdict);
    if (isChosen === undefined) return;
    addTo(this.chosen, isChosen);
    addTo(getOrAdd(this.chosenByExpectation, expected ?? verdict.expected, noCounts), isChosen);
    addTo(getOrAdd(this.chosenByCase, trial.cell.case, noCounts), isChosen);
  }
}

/** The exposures or surfaces of one suite on one model, each compared with the first. */
export class ExposureTally {
  readonly #compared: readonly ComparedArm[];
  readonly #arms: ReadonlyMap<string, ArmTally>;
  readonly #facts: { seed: number; isDeterministic: boolean };
  readonly #labels: ReadonlyMap<string, string>;

  /** `compared`: at least two. `labels`: the expectation of each case in the first arm. */
  constructor(
    compared: readonly ComparedArm[],
    facts: { seed: number; isDeterministic: boolean },
    labels: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#compared = compared;
    this.#facts = facts;
    this.#labels = labels;
    this.#arms = new Map(compared.map(({ arm }) => [arm, new ArmTally()]));
  }

  add(trial: Trial): void {
    this.#arms.get(trial.cell.arm)?.add(trial, this.#labels.get(trial.cell.case));
  }

  /** The numbers of recorded trials, and of broken ones among them, in the arms other than `head`. */
  others(): { recorded: number; broken: number } {
    const others = [...this.#arms].filter(([name]) => name !== "head").map(([, arm]) => arm);
    return { recorded: sumOf(others, (arm) => arm.recorded), broken: sumOf(others, (arm) => arm.broken) };
  }

  summary(): ExposureSummary[] {
    const [first] = this.#arms.values();
    return this.#compared.map(({ arm: name, exposure, surface }, at) => {
      const arm = this.#arms.get(name) ?? new ArmTally();
      const discovery = arm.discovery.summary();
      const against = first && at > 0 ? this.#compare(first, arm) : undefined;
      return {
        exposure,
        ...(surface !== undefined && { surface }),
        ...arm.graded,
        broken: arm.broken,
        chosen: { ...arm.chosen },
        ...(discovery && { discovery }),
        tokensPerRequest: arm.tokens > 0 ? arm.tokens / arm.requests : null,
        requestsPerTrial: arm.recorded > 0 ? arm.requests / arm.recorded : null,
        ...(against && { against }),
      };
    });
  }

  /** How often each expectation was chosen, those with the largest difference between exposures first. */
  choices(): ChoiceByExposure[] {
    const arms = [...this.#arms.values()];
    const names = [...new Set(arms.flatMap((arm) => [...arm.chosenByExpectation.keys()]))];
    const spread = ({ chosen }: ChoiceByExposure) => {
      const rates = chosen.flatMap(({ passed, trials }) => (trials === 0 ? [] : [passed / trials]));
      return Math.max(...rates) - Math.min(...rates);
    };
    return names
      .map((expected) => ({
        expected,
        chosen: arms.map((arm) => arm.chosenByExpectation.get(expected) ?? { passed: 0, trials: 0 }),
      }))
      .sort((a, b) => spread(b) - spread(a) || (a.expected < b.expected ? -1 : 1));
  }

  /** Undefined while no case has a trial in both. */
  #compare(base: ArmTally, head: ArmTally): ExposureComparison | undefined {
    const inBase = new Set(base.observations.map(({ id }) => id));
    const cases = [...new Set(head.observations.map(({ id }) => id))].filter((id) => inBase.has(id)).sort();
    if (cases.length === 0) return undefined;
    const comparisons = 2 * (this.#compared.length - 1);
    const { seed, isDeterministic: alwaysAlike } = this.#facts;
    const decide = (one: ArmTally, other: ArmTally) => {
      const setup = { cases, record: joinRecords(one, other), samePairs: true, alwaysAlike, seed, withReach: false };
      return compareRecords({ ...setup, families: comparisons });
    };
    const [down, up] = [decide(base, head), decide(head, base)];
    const sumChosen = ({ chosenByCase }: ArmTally) => pool(cases.flatMap((id) => chosenByCase.get(id) ?? []));
    const left = [...inBase].filter((id) => !cases.includes(id)).sort();
    const fell = listCases(down);
    const rose = listCases(up).map(swapArms);
    return {
      verdict: readVerdict(down, up),
      margin: defaultMargin,
      comparisons,
      ...(left.length > 0 && { left }),
      chosen: { own: sumChosen(head), first: sumChosen(base) },
      net: down.net && { change: down.net.change, interval: down.net.interval },
      p: alwaysAlike ? null : { worse: down.suite.p, better: up.suite.p },
      fell,
      rose,
    };
  }
}

/** The trials of two exposures as the arms of a comparison. Trial t of a case has the same order of tools in both. */
function joinRecords(base: ArmTally, head: ArmTally): TrialRecord {
  const record = new TrialRecord();
  for (const [name, arm] of [["base", base] as const, ["head", head] as const])
    for (const { id, trial, observation, answer } of arm.observations) record.add(id, name, trial, observation, answer);
  record.giveUp();
  return record;
}

/** The cases with a significant fall; for a deterministic model, those that went from pass to fail. */
function listCases(verdict: CheckVerdict): ExposureComparison["fell"] {
  if (verdict.kind === "regressed" && verdict.by === "cases") {
    return verdict.flagged.map(({ case: id, base, head }) => ({ case: id, base, head }));
  }
  if (verdict.kind !== "changed") return [];
  return verdict.flips.flatMap(({ case: id, down, up, pairs }) =>
    down > up ? [{ case: id, base: { passed: down, trials: pairs }, head: { passed: up, trials: pairs } }] : [],
  );
}

function readVerdict(down: CheckVerdict, up: CheckVerdict): ExposureComparison["verdict"] {
  if (showsFall(down)) return showsFall(up) ? "mixed" : "worse";
  if (showsFall(up)) return "better";
  return down.kind === "no-regression" && up.kind === "no-regression" ? "equal" : "open";
}

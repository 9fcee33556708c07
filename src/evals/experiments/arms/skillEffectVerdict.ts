import { getOrAdd } from "../../base/getOrAdd.ts";
import { wilson } from "../../base/stats/intervals.ts";
import { netChange } from "../../base/stats/meanDrop.ts";
import { sumOf } from "../../base/sum.ts";
import { type AboutSkills, type LiftSummary, type SkillsSummary, withoutArm } from "../../base/types/run.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { addCost, type Cost, type Trial } from "../../base/types/trial.ts";
import { CaseTally, promptTokens, Ranking } from "../results/tally.ts";

type Side = "with" | "without";
const sides = ["with", "without"] as const;
const behaviour = "behaviour: ";

/**
 * The arm without the skill cannot load it, so the assertion about loading is not compared, only those about the outcome. An
 * assertion about tools to avoid stays if other tools are avoided too.
 */
function gradedWithoutLoading(trial: Trial, skill: string): Trial {
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

/** The cost and time of the model in an arm. Those of the judge are in the totals of the suite. */
function costWithoutJudge({ costUsd, judging }: Trial): Cost {
  if (costUsd === "unknown" || !judging) return costUsd;
  return judging.costUsd === "unknown" ? "unknown" : costUsd - judging.costUsd;
}

class ArmTally {
  readonly cases = new Map<string, CaseTally>();
  #trials = 0;
  #turns = 0;
  #tokens = 0;
  #ms = 0;
  #costUsd: Cost = 0;
  readonly #skill: string;

  constructor(skill: string) {
    this.#skill = skill;
  }

  add(trial: Trial): void {
    getOrAdd(this.cases, trial.cell.case, () => new CaseTally()).add(gradedWithoutLoading(trial, this.#skill));
    if (trial.outcome.kind === "broken") return;
    this.#trials++;
    this.#turns += trial.turns.length;
    for (const { usage, ms } of trial.turns) {
      this.#tokens += promptTokens(usage) + usage.outputTokens;
      this.#ms += ms;
    }
    this.#costUsd = addCost(this.#costUsd, costWithoutJudge(trial));
  }

  summary(): LiftSummary["arms"][Side] {
    const sum = (count: (one: CaseTally) => number) => sumOf(this.cases.values(), count);
    const mean = (total: number) => (this.#trials === 0 ? null : total / this.#trials);
    const passed = sum((one) => one.passed);
    return {
      passed,
      trials: passed + sum((one) => one.failed),
      broken: sum((one) => one.broken),
      notGradable: sum((one) => one.notGradable),
      meanTurns: mean(this.#turns),
      meanTokens: mean(this.#tokens),
      meanMs: mean(this.#ms),
      costUsd: this.#costUsd,
    };
  }
}

/**
 * The effect of a skill on one model: the same queries with it and without it. The lift is the mean over cases of the
 * difference of pass rates, with the stratified score interval of Miettinen and Nurminen. A trial passes if all its
 * assertions are met, except for the loading of the skill itself. Each sentence is also counted separately.
 */
export class LiftTally {
  readonly #skill: string;
  readonly #arms: Record<Side, ArmTally>;
  readonly #sentences = new Map<string, LiftSummary["behaviours"][number]>();

  constructor(skill: string) {
    this.#skill = skill;
    this.#arms = { with: new ArmTally(skill), without: new ArmTally(skill) };
  }

  add(trial: Trial): void {
    const side = trial.cell.arm === withoutArm ? "without" : "with";
    this.#arms[side].add(trial);
    for (const { what, met } of trial.verdict?.checks ?? []) {
      if (!what.startsWith(behaviour)) continue;
      const counts = this.#sentence(trial.cell.case, what.slice(behaviour.length))[side];
      if (met === "unknown") counts.unknown++;
      else counts.trials++;
      if (met === "yes") counts.passed++;
    }
  }

  /** The number of recorded trials of these cases in the arm without the skill. */
  recorded(): number {
    const cases = this.#arms.without.cases.values();
    return sumOf(cases, ({ passed, failed, broken, notGradable }) => passed + failed + broken + notGradable);
  }

  summary(): LiftSummary {
    const counts = (side: Side, id: string) => {
      const { passed = 0, failed = 0 } = this.#arms[side].cases.get(id) ?? {};
      return { passed, trials: passed + failed };
    };
    const ids = [...this.#arms.with.cases.keys()];
    const net = netChange(ids.map((id) => ({ base: counts("without", id), head: counts("with", id) })));
    const compared = ids.filter((id) => sides.every((side) => counts(side, id).trials > 0)).length;
    return {
      skill: this.#skill,
      net: net ? { ...net, cases: compared } : null,
      arms: { with: this.#arms.with.summary(), without: this.#arms.without.summary() },
      behaviours: [...this.#sentences.values()].sort((a, b) => (a.case < b.case ? -1 : a.case > b.case ? 1 : 0)),
    };
  }

  #sentence(id: string, text: string): LiftSummary["behaviours"][number] {
    const none = () => ({ passed: 0, trials: 0, unknown: 0 });
    const make = () => ({ case: id, text, with: none(), without: none() });
    return getOrAdd(this.#sentences, JSON.stringify([id, text]), make);
  }
}

type Counts = { truePositives: number; falsePositives: number; falseNegatives: number; trueNegatives: number };

/**
 * How well the skills of a run trigger on one model, over all suites. A trial that wants a skill is a positive of it, and a
 * negative of every other offered skill. One that wants no skill is a negative of all. One that names skills to avoid is a
 * negative of those only, because another skill may be right. Broken and ungraded trials do not count.
 */
export class SkillTally {
  readonly #counts = new Map<string, Counts>();
  readonly #named = new Set<string>();
  readonly #loaded = new Ranking<{ expected: string; loaded: string | null }>();

  add({ verdict }: Trial, about: AboutSkills, offered: readonly string[]): void {
    if (!verdict?.skills || verdict.grade === "not-gradable") return;
    const fired = new Set(verdict.skills);
    const wanted = new Set(about.wanted);
    const unwanted = about.unwanted === "others" ? offered.filter((name) => !wanted.has(name)) : about.unwanted;
    for (const name of wanted) this.#of(name)[fired.has(name) ? "truePositives" : "falseNegatives"]++;
    for (const name of unwanted) this.#of(name)[fired.has(name) ? "falsePositives" : "trueNegatives"]++;
    for (const name of [...wanted, ...(about.unwanted === "others" ? [] : unwanted)]) this.#named.add(name);
    for (const loaded of fired.size > 0 ? fired : [null]) this.#loaded.add({ expected: verdict.expected, loaded });
  }

  /** The skills that were wanted or wrongly loaded, by name. */
  summary(model: string): SkillsSummary | undefined {
    const shown = [...this.#counts].filter(([name, counts]) => this.#named.has(name) || counts.falsePositives > 0);
    if (shown.length === 0) return undefined;
    const byExpected = (a: { expected: string }, b: { expected: string }) =>
      a.expected < b.expected ? -1 : Number(a.expected > b.expected);
    const loaded = this.#loaded.ranked().sort(byExpected);
    const skills = shown
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, counts]) => ({
        name,
        ...counts,
        precision: estimateShare(counts.truePositives, counts.falsePositives),
        recall: estimateShare(counts.truePositives, counts.falseNegatives),
      }));
    return { model, skills, loaded };
  }

  #of(name: string): Counts {
    const none = { truePositives: 0, falsePositives: 0, falseNegatives: 0, trueNegatives: 0 };
    return getOrAdd(this.#counts, name, () => none);
  }
}

function estimateShare(right: number, wrong: number) {
  const interval = wilson({ passed: right, trials: right + wrong });
  return interval ? { rate: right / (right + wrong), interval } : null;
}

import { type Design, mostMissing, nextStep, TrialRecord } from "../decisions/design.ts";
import type { DriftOptions } from "../decisions/drift.ts";
import type { NightCounts } from "../decisions/driftScores.ts";
import { addNight, type DriftHistory, nightArm, nightDesign, readNight, replayNights } from "../decisions/nights.ts";
import { addTrial } from "../decisions/observe.ts";
import type { DriftPlan, DriftSummary, DriftVerdict, Night } from "../types/drift.ts";
import type { CaseSummary } from "../types/run.ts";
import type { Trial } from "../types/trial.ts";

/** Follows one suite on one model from night to night, and summarises it at any time. */
export class DriftWatch {
  readonly record = new TrialRecord();
  /** Of a nightly run, which asks what it needs; the trials of another run are those of its night. */
  readonly design: Design<DriftVerdict> | undefined;
  readonly #plan: DriftPlan;
  readonly #night: string;
  readonly #cases: readonly { id: string; name: string }[];
  readonly #history: DriftHistory;
  readonly #options: DriftOptions;

  /** `night`: the run. `cases`: the ids of the suite's cases. */
  constructor(plan: DriftPlan, night: string, cases: readonly string[]) {
    this.#plan = plan;
    this.#night = night;
    this.#cases = cases.map((id) => ({ id, name: plan.renamed?.[id] ?? id }));
    this.#history = toHistory(plan, night);
    const { margin, families, trials, correlation } = plan;
    this.#options = { margin, families, trials, ...(correlation !== undefined && { correlation }) };
    if (plan.nightly) this.design = nightDesign(this.#setup());
  }

  add(trial: Trial): void {
    if (!this.design || trial.cell.arm !== nightArm) return;
    const { case: id } = trial.cell;
    const name = this.#plan.renamed?.[id] ?? id;
    addTrial(this.record, { ...trial, cell: { ...trial.cell, case: name } });
  }

  /** The name of a case among the nights, and the case of a name. */
  readonly nameOf = (id: string): string => this.#plan.renamed?.[id] ?? id;
  readonly caseOf = (name: string): string => this.#cases.find((one) => one.name === name)?.id ?? name;

  /** `cases`: how the cases of the run did. */
  summary(cases: readonly CaseSummary[]): DriftSummary {
    const { nightly, baseline } = this.#plan;
    const found = this.design ? this.#readNightly(this.design) : this.#readRun(cases);
    const passes = found instanceof Map ? found : undefined;
    const history = addNight(this.#history, this.#night, passes);
    const monitor = replayNights(history, this.#options);
    return {
      nightly,
      baseline,
      uncounted: typeof found === "string" ? found : null,
      tonight: passes ? formatNight(this.#night, passes) : null,
      verdict: this.#nameCases(monitor.verdict()),
    };
  }

  #setup() {
    const cases = this.#cases.map(({ name }) => name);
    return { night: this.#night, cases, history: this.#history, options: this.#options };
  }

  #readNightly(design: Design<DriftVerdict>): Map<string, NightCounts> | "missing" | "stopped" {
    if (nextStep(design, this.record).kind === "ask") return "stopped";
    const passes = readNight(this.#setup(), this.record);
    return passes ? new Map(passes) : "missing";
  }

  #readRun(cases: readonly CaseSummary[]): Map<string, NightCounts> | "missing" | "stopped" {
    const planned = cases.reduce((sum, one) => sum + one.planned, 0);
    const broken = cases.reduce((sum, one) => sum + one.broken + one.notGradable, 0);
    const graded = cases.reduce((sum, one) => sum + one.trials, 0);
    if (graded + broken < planned) return "stopped";
    if (planned === 0 || broken > mostMissing * planned) return "missing";
    return new Map(
      cases.map(({ id, passed, trials }) => [
        this.nameOf(id),
        { passed, trials, followUpPassed: 0, followUpTrials: 0 },
      ]),
    );
  }

  /** The verdict with the cases by the ids of the suite. */
  #nameCases(verdict: DriftVerdict): DriftVerdict {
    const name = <T extends { case: string }>(all: readonly T[]): T[] =>
      all.map((one) => ({ ...one, case: this.caseOf(one.case) }));
    const alarms = verdict.alarms.map((alarm) => ({ ...alarm, cases: name(alarm.cases) }));
    if ("alarm" in verdict)
      return { ...verdict, alarms, alarm: { ...verdict.alarm, cases: name(verdict.alarm.cases) } };
    if ("suspects" in verdict) return { ...verdict, alarms, suspects: name(verdict.suspects) };
    return { ...verdict, alarms };
  }
}

/** All that came before this night. */
function toHistory({ baseline, bank, nights }: DriftPlan, night: string): DriftHistory {
  type Known = { bank: [string, number, number][]; nights: [string, number, number, number, number][] };
  const cases = new Map<string, Known>();
  const find = (name: string): Known => {
    const known = cases.get(name) ?? { bank: [], nights: [] };
    cases.set(name, known);
    return known;
  };
  for (const [name, text] of Object.entries(bank)) {
    const { passed, trials } = parsePasses(text);
    if (trials > 0) find(name).bank.push([baseline.run, passed, trials]);
  }
  const before = nights.filter((one) => one.night !== night);
  for (const one of before)
    for (const [name, text] of Object.entries(one.cases)) {
      const { passed, trials, followUpPassed, followUpTrials } = parsePasses(text);
      find(name).nights.push([one.night, passed, trials, followUpPassed, followUpTrials]);
    }
  return { baseline: baseline.run, nights: before.map((one) => one.night), cases: Object.fromEntries(cases) };
}

function parsePasses(text: string): NightCounts {
  const [regular = "", later = "0/0"] = text.split("+");
  const [passed = 0, trials = 0] = regular.split("/").map(Number);
  const [followUpPassed = 0, followUpTrials = 0] = later.split("/").map(Number);
  return { passed, trials, followUpPassed, followUpTrials };
}

function formatNight(night: string, passes: ReadonlyMap<string, NightCounts>): Night {
  const format = ({ passed, trials, followUpPassed, followUpTrials }: NightCounts) =>
    `${passed}/${trials}${followUpTrials > 0 ? `+${followUpPassed}/${followUpTrials}` : ""}`;
  return { night, cases: Object.fromEntries([...passes].map(([name, counts]) => [name, format(counts)])) };
}

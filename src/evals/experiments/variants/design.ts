import {
  countPasses,
  type Design,
  lacksAnswers,
  mapVerdict,
  type Play,
  type TrialRecord,
} from "../../asking/trials/design.ts";
import { sumOf } from "../../base/collections.ts";
import {
  type CaseCounts,
  type Counts,
  comparable,
  meanChange,
  noTrials,
  rate,
  swapArms,
} from "../../base/stats/counts.ts";
import { fisherP, globalTest, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { upperDrop } from "../../base/stats/intervals.ts";
import type { NamedCase } from "../../base/types/check.ts";
import type { Rate } from "../design/grades.ts";
import { countAnswered, pickTrials, readArm, readGrade, tallyCase } from "../design/observe.ts";
import { askOnce, OrderSchedule, type ScheduleSetup } from "../design/schedule.ts";
import { defaultMargin } from "../design/statistics.ts";
import {
  type CertainVariantVerdict,
  type Comparison,
  type Gain,
  incumbentArm,
  type Outcome,
  startFigures,
  type VariantFigures,
  type VariantVerdict,
} from "./verdict.ts";

/**
 * `bank`: passes of the wording in use from its baseline; a case that is not in it is measured first. `harmUnsteady`:
 * the loss of a single case that an adoption must rule out where the incumbent passes it in less than 85 %, in place of
 * .15; that costs a third fewer calls. `harmCases`: the only cases that the certificate is for, and `gainCases` those
 * that can show a gain (all by default). `from`: the first trial that nothing was decided by (1 by default).
 */
export type VariantSetup = Pick<ScheduleSetup, "cases" | "seed" | "requests" | "wordings"> & {
  challengers: readonly string[];
  bank?: ReadonlyMap<string, Counts>;
  margin?: number;
  harmUnsteady?: number;
  harmCases?: readonly string[];
  gainCases?: readonly string[];
  from?: number;
};

/** The trials of the incumbent that show whether a case has room. */
export const roomTrials = 20;
/** A case has room if the incumbent passes less than this share of its bank. */
const roomShare = 0.95;

/** Looks of the gain test, in new trials per case and arm. Their shares add up to 5 %. */
const gainLooks = [
  { trials: 8, share: 0.005, futile: 0.8 },
  { trials: 16, share: 0.005, futile: 0.6 },
  { trials: 32, share: 0.008, futile: 0.4 },
  { trials: 56, share: 0.008, futile: 0.3 },
  { trials: 80, share: 0.008, futile: 0.2 },
  { trials: 120, share: 0.008, futile: 0.15 },
  { trials: 200, share: 0.008, futile: 0 },
] as const;

/** The certificate: the trials at which it is given, the z of its bound, and the level of a drop that refuses it. */
export const certificates = {
  strict: { looks: [34, 68, 136, 272, 400], z: 2.4 },
  cheap: { looks: [29, 58, 116, 200], z: 2.24 },
} as const;
/** The loss of a single case that an adoption must rule out. */
const mostHarm = 0.15;
const steadyShare = 0.85;
const breakError = 0.025;
const z95 = 1.6448536269514722;

/**
 * One design for any number of challengers. Cases with room, screening, a gain test of the one left on fresh
 * interleaved trials, and a certificate for every case that it is not harmed, and for all cases that selections do not
 * fall.
 *
 * Screening data never enter a test and only one wording is tested, so a false adoption has chance <= .05 however many
 * challengers there are. Adopting a harmful one takes a false certificate of that very case (one-sided .8 % a look, at
 * most five looks). A stale bank can hide a gain, never fake one.
 */
export function variants(setup: VariantSetup): Design<VariantVerdict> {
  const { cases, challengers } = setup;
  const most = certificateOf(setup).looks.at(-1) ?? 0;
  const screening = sumOf(screeningTrials(challengers.length, 1), (trials) => trials);
  const cap = cases.length * (roomTrials + challengers.length * screening + 2 * most);
  return { cap, play: (record) => new PlayedVariants(setup, record).play() };
}

/** The design for deterministic or sampled models. */
export function chooseDesign(setup: VariantSetup, isDeterministic: boolean): Design<Outcome> {
  if (isDeterministic) return mapVerdict(variantsCertain(setup), (verdict) => ({ method: "deterministic", verdict }));
  return mapVerdict(variants(setup), (verdict) => ({ method: "sampled", verdict }));
}

const certificateOf = ({ harmUnsteady }: VariantSetup) =>
  harmUnsteady === undefined ? certificates.strict : certificates.cheap;

/** Trials per case in each round, which halve the field until one is left. `room`: cases with room. */
export function screeningTrials(challengers: number, room: number): number[] {
  const rounds: number[] = [];
  for (let left = challengers; left > 1; left = Math.ceil(left / 2)) {
    const least = [6, 9][rounds.length] ?? 12;
    rounds.push(Math.max(least, Math.min(30, Math.ceil(48 / room))));
  }
  return rounds;
}

/** Asks the incumbent about cases that are not in its bank. Returns those with room: it passes less than 95 %. */
export function* findRoom(
  record: TrialRecord,
  { cases, bank, from = 1 }: Pick<VariantSetup, "cases" | "bank" | "from">,
  schedule: OrderSchedule,
): Play<string[]> {
  const to = from + roomTrials - 1;
  const unknown = cases.filter((id) => (bank?.get(id)?.trials ?? 0) === 0);
  const spans = unknown.map((id) => ({ case: id, arms: [incumbentArm], from, to }));
  if (unknown.length > 0) yield* schedule.bring(record, spans, 1);
  return cases.filter((id) => {
    const known = bank?.get(id);
    const { passed, trials } = known?.trials ? known : countPasses(record, id, incumbentArm, from, to);
    return trials > 0 && passed < roomShare * trials;
  });
}

/**
 * Halves wordings by their passes over all rounds until one is left; ties go to the order given. Trials count from 1,
 * so what a wording was asked before counts too. `trials`: how many each of the one left was asked per case.
 */
export function* screenWordings(
  record: TrialRecord,
  { room, wordings }: { room: readonly string[]; wordings: readonly string[] },
  schedule: OrderSchedule,
): Play<{ best: string; trials: number; rounds: VariantFigures["screening"] }> {
  let left = [...wordings];
  let asked = 0;
  const rounds: VariantFigures["screening"] = [];
  for (const trials of screeningTrials(wordings.length, room.length)) {
    asked += trials;
    const spans = room.map((id) => ({ case: id, arms: left, from: 1, to: asked }));
    yield* schedule.bring(record, spans, 1);
    const ranked = left.map((challenger) => ({ challenger, rate: meanRate(record, room, challenger, asked) }));
    ranked.sort((a, b) => b.rate - a.rate);
    rounds.push(ranked);
    left = ranked.slice(0, Math.ceil(left.length / 2)).map(({ challenger }) => challenger);
  }
  return { best: left[0] ?? "", trials: asked, rounds };
}

function meanRate(record: TrialRecord, room: readonly string[], arm: string, trials: number): number {
  const scored = room.map((id) => countPasses(record, id, arm, 1, trials)).filter((one) => one.trials > 0);
  return sumOf(scored, ({ passed, trials: k }) => passed / k) / Math.max(1, scored.length);
}

class PlayedVariants {
  readonly #setup: VariantSetup;
  readonly #record: TrialRecord;
  readonly #schedule: OrderSchedule;
  readonly #figures: VariantFigures;
  /** Trials of the tests are numbered from here, in both arms alike: they share their orders. */
  #from: number;

  constructor(setup: VariantSetup, record: TrialRecord) {
    this.#setup = setup;
    this.#record = record;
    this.#from = setup.from ?? 1;
    this.#schedule = new OrderSchedule(setup);
    this.#figures = startFigures(setup.cases.length, setup.margin);
  }

  *play(): Play<VariantVerdict> {
    const { cases, gainCases = cases, bank, challengers } = this.#setup;
    const room = yield* findRoom(this.#record, { ...this.#setup, cases: gainCases }, this.#schedule);
    if (gainCases.some((id) => !bank?.get(id)?.trials)) this.#from += roomTrials;
    this.#figures.room = room;
    if (this.#lacksAnswers([incumbentArm])) return this.#missing();
    if (room.length === 0 || challengers.length === 0) return this.#keep("no-room");
    const screened = yield* screenWordings(this.#record, { room, wordings: challengers }, this.#schedule);
    const challenger = screened.best;
    this.#figures.screening = screened.rounds;
    this.#from = Math.max(this.#from, screened.trials + 1);
    if (this.#lacksAnswers(this.#setup.challengers)) return this.#missing();
    const arms = [incumbentArm, challenger];
    for (const [j, { trials, share, futile }] of gainLooks.entries()) {
      yield* this.#bring(room, challenger, () => trials);
      const seen = room.map((id) => this.#fresh(id, challenger, trials));
      const gain = testGain(challenger, seen, { look: j + 1, trials, level: share });
      this.#figures.gain = gain;
      if (this.#lacksAnswers(arms)) return this.#missing();
      if (isSignificant(gain.p, share)) return yield* this.#certify(challenger, trials);
      if (isSignificant(globalTest(seen).p, share)) return this.#keep("breaks", listDropped(seen));
      if (gain.p > futile && gain.upper < this.#figures.margin) return this.#keep("no-gain");
    }
    return { kind: "inconclusive", because: "gain", settle: this.#settleGain(), ...this.#figures };
  }

  #lacksAnswers(arms: readonly string[]): boolean {
    return arms.some((arm) => lacksAnswers(this.#record, this.#setup.cases, [arm]));
  }

  #missing(): VariantVerdict {
    return { kind: "inconclusive", because: "missing", ...this.#figures };
  }

  /** The trials per wording at which the gain would be shown or ruled out, the rates staying as they are. */
  #settleGain(): { cases: string[]; trials: number } | null {
    const { gain, margin } = this.#figures;
    const last = gainLooks.at(-1);
    if (!gain || !last) return null;
    const likely = gain.cases.filter(({ p }) => p <= likelyGain);
    const cases = (likely.length > 0 ? likely : gain.cases).map((one) => one.case);
    for (const factor of furtherFactors) {
      const swapped = gain.cases.map(({ base, head }) => ({ base: scale(head, factor), head: scale(base, factor) }));
      const isSettled = isSignificant(globalTest(swapped).p, last.share) || (upperDrop(swapped, z95) ?? 1) < margin;
      if (isSettled) return { cases, trials: Math.round(gain.trials * factor) };
    }
    return null;
  }

  *#bring(cases: readonly string[], challenger: string, trials: (id: string) => number, look = 2): Play<void> {
    const from = this.#from;
    const arms = [incumbentArm, challenger];
    const spans = cases.map((id) => ({ case: id, arms, from, to: from + trials(id) - 1 }));
    yield* this.#schedule.bring(this.#record, spans, look);
  }

  /** Incumbent (base) and challenger (head) on the first new trials. */
  #fresh(id: string, challenger: string, trials: number, rate: Rate = "pass"): SeenCase {
    const span = Array.from({ length: trials }, (_, at) => this.#from - 1 + at);
    const read = (arm: string) => pickTrials(readArm(this.#record, id, arm), span);
    return { case: id, ...countAnswered(tallyCase(id, read(incumbentArm), read(challenger)), rate) };
  }

  /**
   * Case by case: the loss of passes that is left possible is below the harm; and over all cases, that of selections is
   * below the margin. A case that dropped refuses the adoption, and so does such a fall.
   */
  *#certify(challenger: string, tested: number): Play<VariantVerdict> {
    const { cases, harmCases = cases, harmUnsteady = mostHarm } = this.#setup;
    const { margin } = this.#figures;
    const { looks, z: width } = certificateOf(this.#setup);
    const trials = new Map(cases.map((id) => [id, this.#figures.room.includes(id) ? tested : 0]));
    const later = (id: string) => looks.find((look) => look > (trials.get(id) ?? 0));
    let pending = [...harmCases];
    for (const id of harmCases) trials.set(id, Math.max(trials.get(id) ?? 0, looks[0]));
    for (;;) {
      yield* this.#bring(pending, challenger, (id) => trials.get(id) ?? 0, 3);
      const count = (rate: Rate) => cases.map((id) => this.#fresh(id, challenger, trials.get(id) ?? 0, rate));
      const [passes, selections] = [count("pass"), count("selection")];
      const seen = new Map(passes.map((one) => [one.case, one]));
      const selection = meanRates(selections);
      this.#figures.rates = { pass: meanRates(passes), selection };
      if (this.#lacksAnswers([incumbentArm, challenger])) return this.#missing();
      if ((meanChange(passes) ?? 0) <= 0) return this.#keep("no-net-gain");
      if ((meanChange(selections) ?? 0) <= -margin) return this.#keep("selection");
      const certified = harmCases.map((id) => {
        const { base = noTrials, head = noTrials } = seen.get(id) ?? {};
        const isSteady = base.passed >= steadyShare * base.trials;
        const bound = upperDrop([{ base, head }], width) ?? 1;
        return { case: id, incumbent: base, challenger: head, bound, harm: isSteady ? mostHarm : harmUnsteady };
      });
      this.#figures.certificates = certified.toSorted((a, b) => b.bound - a.bound);
      const open = certified.filter(({ bound, harm: limit }) => bound >= limit);
      if (open.length === 0 && selection.fall < margin) return { kind: "adopt", winner: challenger, ...this.#figures };
      const broken = open
        .map((one) => testFall({ case: one.case, base: one.incumbent, head: one.challenger }))
        .filter(({ p }) => isSignificant(p, breakError / cases.length));
      if (broken.length > 0) return this.#keep("breaks", broken);
      pending = open.length > 0 ? open.map((one) => one.case) : [...harmCases];
      if (pending.some((id) => later(id) === undefined))
        return { kind: "inconclusive", because: "harm", settle: settleHarm(open, width), ...this.#figures };
      for (const id of pending) trials.set(id, later(id) ?? 0);
    }
  }

  #keep(because: Extract<VariantVerdict, { kind: "keep" }>["because"], broken: NamedCase[] = []): VariantVerdict {
    return { kind: "keep", because, broken, ...this.#figures };
  }
}

const likelyGain = 0.2;
/** How many times as many trials are considered when asking what would settle a verdict. */
const furtherFactors = [1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

const scale = ({ passed, trials }: Counts, factor: number): Counts => {
  const all = Math.round(trials * factor);
  return { passed: Math.min(all, Math.round(passed * factor)), trials: all };
};

/** The trials per wording at which a loss of the harm would be ruled out on all of these at these rates. */
function settleHarm(open: VariantFigures["certificates"], width: number): { cases: string[]; trials: number } | null {
  const needed = open.map(({ incumbent, challenger, harm }) => {
    const factor = furtherFactors.find((times) => {
      const pair = { base: scale(incumbent, times), head: scale(challenger, times) };
      return (upperDrop([pair], width) ?? 1) < harm;
    });
    return factor === undefined ? Number.POSITIVE_INFINITY : Math.round(incumbent.trials * factor);
  });
  const trials = Math.max(...needed);
  return Number.isFinite(trials) ? { cases: open.map((one) => one.case), trials } : null;
}

type SeenCase = CaseCounts & { case: string };

function meanRates(seen: readonly SeenCase[]): NonNullable<VariantFigures["rates"]>["pass"] {
  const both = comparable(seen);
  const mean = (arm: keyof CaseCounts) => sumOf(both, (one) => rate(one[arm])) / Math.max(1, both.length);
  return { incumbent: mean("base"), challenger: mean("head"), fall: upperDrop(seen, z95) ?? 1 };
}

/** "Some case gains": the global test with the arms exchanged, and the most that the mean gain may be. */
function testGain(
  challenger: string,
  seen: readonly SeenCase[],
  { look, trials, level }: Pick<Gain, "look" | "trials" | "level">,
): Gain {
  const swapped = seen.map(swapArms);
  return {
    challenger,
    look,
    trials,
    p: globalTest(swapped).p,
    level,
    mean: meanChange(seen) ?? 0,
    upper: upperDrop(swapped, z95) ?? 1,
    cases: seen.map((one) => ({ ...one, p: testFall(swapArms(one)).p })).toSorted((a, b) => a.p - b.p),
  };
}

function listDropped(seen: readonly SeenCase[]): NamedCase[] {
  return seen
    .map(testFall)
    .filter(({ p }) => p <= 0.05)
    .toSorted((a, b) => a.p - b.p);
}

const testFall = (one: SeenCase): NamedCase => ({ ...one, p: fisherP(one.base, one.head) });

/**
 * The design for a deterministic model: one trial per case and wording, and any difference is real. Adopts the
 * challenger that passes most, of those that pass more cases than the incumbent, break none and do not lose selections
 * by the margin; of equals the first.
 */
export function variantsCertain(
  setup: Pick<VariantSetup, "cases" | "challengers" | "seed" | "margin">,
): Design<CertainVariantVerdict> {
  const { cases, challengers, seed, margin = defaultMargin } = setup;
  return askOnce(cases, [incumbentArm, ...challengers], seed, (record) => {
    const compared = challengers.map((challenger) => compare(record, cases, challenger));
    return decideCertain(compared, margin * cases.length);
  });
}

function compare(record: TrialRecord, cases: readonly string[], challenger: string): Comparison {
  const selected = { incumbent: 0, challenger: 0 };
  const found: Comparison = { challenger, repaired: [], broken: [], selected, unanswered: [] };
  for (const id of cases) {
    const [before] = record.answers(id, incumbentArm);
    const [after] = record.answers(id, challenger);
    if (before === "missing" || after === "missing") {
      found.unanswered.push(id);
      continue;
    }
    if (readGrade(before) > 0) selected.incumbent++;
    if (readGrade(after) > 0) selected.challenger++;
    if (before !== "pass" && after === "pass") found.repaired.push(id);
    else if (before === "pass" && after !== "pass") found.broken.push(id);
  }
  return found;
}

const countGain = ({ repaired, broken }: Comparison) => repaired.length - broken.length;

/** `mostLost`: so many selections less refuse an adoption. */
function decideCertain(found: readonly Comparison[], mostLost: number): CertainVariantVerdict {
  const ranked = found.toSorted((a, b) => countGain(b) - countGain(a));
  const better = ranked.filter((one) => countGain(one) > 0);
  const harmless = better.filter(({ broken, unanswered }) => broken.length === 0 && unanswered.length === 0);
  const chosen = harmless.find(({ selected }) => selected.incumbent - selected.challenger < mostLost);
  if (chosen) {
    const tests = [chosen, ...ranked.filter((one) => one !== chosen)];
    return { kind: "adopt", winner: chosen.challenger, tests };
  }
  if (ranked.some(({ unanswered }) => unanswered.length > 0))
    return { kind: "inconclusive", because: "missing", tests: ranked };
  if (harmless.length > 0) return { kind: "keep", because: "selection", tests: harmless };
  return { kind: "keep", because: better.length > 0 ? "breaks" : "no-gain", tests: ranked };
}

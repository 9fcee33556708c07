import {
  countPasses,
  type Design,
  isGraded,
  lacksAnswers,
  type Play,
  type TrialRecord,
} from "../../asking/trials/design.ts";
import { getOrAdd, sumOf } from "../../base/collections.ts";
import { fisherP, globalTest, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { deriveSeed, seededRandom } from "../../base/stats/random.ts";
import { OrderSchedule, type Span } from "../design/schedule.ts";
import {
  Belief,
  chooseMask,
  type Known,
  listHypotheses,
  type Mask,
  rankSets,
  type SetChance,
  shareEvidence,
} from "./hypotheses.ts";
import type { BlameTest, BlameVerdict } from "./verdict.ts";

/**
 * `changed`: the names of the descriptions that changed. `cases`: those that fell, with what the check saw of them.
 * `families`: searches of the same run that may blame the same description. `schedule`: of the orders of its trials.
 */
export type BlameSetup = {
  changed: readonly string[];
  cases: readonly { case: string; known: Known }[];
  seed: number;
  families?: number;
  schedule?: OrderSchedule;
};

/** A case is settled when its likeliest set of descriptions has this probability. */
const settled = 0.95;
/** Trials of a search, at most: this and four a description; half as many again in the second round. */
const leastSearch = 60;
const searchPerDescription = 4;
const secondRoundShare = 1.5;
/** Trials of a mask that are requested at once: two cost no more in total than one by one, and halve the rounds. */
const trialsAtOnce = 2;
/** The likeliest set is accused from this probability on. */
const accusable = 0.3;

/** Looks of a confirmation, per arm: shares of the level, and the p above which it is given up. */
const confirmationLooks = [
  { trials: 6, share: 0.01, futility: 0.6 },
  { trials: 12, share: 0.01, futility: 0.5 },
  { trials: 24, share: 0.015, futility: 0.3 },
  { trials: 60, share: 0.015, futility: 0 },
] as const;
/** How the two rounds share the 5 % chance of blaming a harmless description. */
const roundShares = [0.6, 0.4] as const;
/** A description that is confirmed for several cases is listed for one of them if its own p is at most this. */
const ownP = 0.3;
/** The total probability of the sets of descriptions that are printed. */
const printedShare = 0.9;

/** An arm of blame: the purpose of its trials, and a digit per description, 1 for its new wording. */
export function blameArm(stage: "search" | "confirm1" | "confirm2", mask: Mask): string {
  return `${stage}:${mask.map(Number).join("")}`;
}

/** Which descriptions have their new wording in an arm. */
export function maskOfArm(arm: string): Mask {
  return [...arm.slice(arm.indexOf(":") + 1)].map((digit) => digit === "1");
}

/** The paid trials of cases: those that confirmed, and all others, which searched. */
export function countCalls(record: TrialRecord, ids: readonly string[]): { search: number; confirmation: number } {
  const calls = { search: 0, confirmation: 0 };
  for (const id of ids)
    for (const arm of record.arms(id))
      calls[arm.startsWith("confirm") ? "confirmation" : "search"] += record.paid(id, arm).calls;
  return calls;
}

/**
 * Finds which changed descriptions made cases fall. The search believes hypotheses (no description, one, or two that
 * are each enough, needed together, or add up), asks the most informative trials, and shares evidence between the
 * cases. Whatever it accuses is then confirmed by itself, on fresh trials of two arms that differ in this description
 * alone, pooled over the cases that accuse it.
 *
 * A harmless description is blamed with chance <= 5 % in the whole procedure, however it was chosen: its tests spend
 * .05 x .6 in the first round and .05 x .4 in the second, over all looks (Bonferroni). Measured: 0-.9 % of cases.
 */
export function blame(setup: BlameSetup): Design<BlameVerdict> {
  const { changed, cases } = setup;
  const search = secondRoundShare * (leastSearch + searchPerDescription * changed.length) + trialsAtOnce;
  const confirm = 2 * roundShares.length * (confirmationLooks.at(-1)?.trials ?? 0) * Math.min(4, changed.length);
  const cap = Math.ceil(cases.length * (search + confirm));
  return { cap, play: (record) => new PlayedBlame(setup, record, cap).play() };
}

/** `last`: the last trial of the case in whichever arm, as each trial of the search gets its own tool order. */
const startSuspect = (id: string, belief: Belief) => {
  return { id, belief, last: 0, searched: 0, confirmed: new Set<number>() };
};
type Suspect = ReturnType<typeof startSuspect>;

type Pair = { suspect: Suspect; arms: readonly [reverted: string, served: string] };

class PlayedBlame {
  readonly #setup: BlameSetup;
  readonly #record: TrialRecord;
  readonly #schedule: OrderSchedule;
  readonly #suspects: readonly Suspect[];
  readonly #tests: BlameTest[] = [];
  readonly #cap: number;

  constructor(setup: BlameSetup, record: TrialRecord, cap: number) {
    this.#setup = setup;
    this.#record = record;
    this.#schedule =
      setup.schedule ?? new OrderSchedule({ cases: setup.cases.map((one) => one.case), seed: setup.seed });
    this.#cap = cap;
    const hypotheses = listHypotheses(setup.changed.length);
    this.#suspects = setup.cases.map(({ case: id, known }) => startSuspect(id, new Belief(hypotheses, known)));
  }

  *play(): Play<BlameVerdict> {
    const most = leastSearch + searchPerDescription * this.#setup.changed.length;
    for (const round of [1, 2] as const) {
      const open = this.#suspects.filter((suspect) => !this.#isSettledBy(suspect));
      yield* this.#search(open, round === 1 ? most : secondRoundShare * most);
      yield* this.#confirm(open, round);
    }
    return this.#verdict();
  }

  #isSettledBy(suspect: Suspect): boolean {
    const [top] = this.#rank(suspect);
    if (!top || this.#lacksAnswers(suspect)) return true;
    if (top.members.length === 0) return top.chance >= settled;
    return top.chance >= accusable && top.members.every((i) => suspect.confirmed.has(i));
  }

  #lacksAnswers({ id }: Suspect): boolean {
    return lacksAnswers(this.#record, [id], this.#record.arms(id));
  }

  #chances(suspect: Suspect): Float64Array {
    const others = this.#suspects.filter((one) => one !== suspect).map(({ belief }) => belief);
    return shareEvidence(suspect.belief, others);
  }

  #rank(suspect: Suspect): SetChance[] {
    return rankSets(suspect.belief.hypotheses, this.#chances(suspect));
  }

  /** Two trials at a time of every unsettled case, until all are settled or have had `most` trials. */
  *#search(suspects: readonly Suspect[], most: number): Play<void> {
    const { seed, changed } = this.#setup;
    for (;;) {
      const open = suspects.filter(
        (one) => one.searched < most && (this.#rank(one)[0]?.chance ?? 1) < settled && !this.#lacksAnswers(one),
      );
      if (open.length === 0) return;
      const asked = open.map((suspect) => {
        const random = seededRandom(deriveSeed(seed, "mask", suspect.id, suspect.searched));
        const mask = chooseMask(suspect.belief, this.#chances(suspect), changed.length, random);
        const arm = blameArm("search", mask);
        const from = suspect.last + 1;
        const to = suspect.last + trialsAtOnce;
        suspect.last = to;
        suspect.searched += trialsAtOnce;
        return { suspect, mask, span: { case: suspect.id, arms: [arm], from, to } };
      });
      const spans = asked.map(({ span }) => span);
      yield* this.#schedule.bring(this.#record, spans, 1);
      for (const { suspect, mask, span } of asked) this.#observe(suspect, mask, span);
    }
  }

  #observe(suspect: Suspect, mask: Mask, { arms: [arm = ""], from, to }: Span): void {
    const answers = this.#record.answers(suspect.id, arm);
    for (let t = from; t <= to; t++) {
      const answer = answers[t - 1];
      if (isGraded(answer)) suspect.belief.observe(mask, answer === "pass");
    }
  }

  /** Tests every description that these cases accuse, each pooled over the cases that accuse it. */
  *#confirm(suspects: readonly Suspect[], round: 1 | 2): Play<void> {
    const pairs = new Map<number, Pair[]>();
    for (const suspect of suspects) {
      const accused = this.#lacksAnswers(suspect) ? undefined : this.#accusedBy(suspect);
      for (const i of accused?.members ?? [])
        if (accused && !suspect.confirmed.has(i))
          getOrAdd(pairs, i, (): Pair[] => []).push(this.#pairOf(suspect, accused, i, round));
    }
    let open = [...pairs];
    for (const [j, { trials, share, futility }] of confirmationLooks.entries()) {
      const spans = open.flatMap(([, own]) =>
        own.map(({ suspect: { id, last }, arms }) => ({ case: id, arms, from: last + 1, to: last + trials })),
      );
      if (spans.length > 0) yield* this.#schedule.bring(this.#record, spans, round * 2);
      open = open.filter(([i, own]) => {
        const level = (share * roundShares[round === 1 ? 0 : 1]) / (this.#setup.families ?? 1);
        const test = this.#test(i, own, trials, { round, look: j + 1, level });
        if (!test.isConfirmed && test.p <= futility) return true;
        this.#tests.push(test);
        for (const [k, { suspect }] of own.entries())
          if (test.isConfirmed && (test.cases[k]?.p ?? 1) <= ownP) suspect.confirmed.add(i);
        return false;
      });
    }
    this.#takeIn([...pairs.values()].flat());
  }

  #accusedBy(suspect: Suspect): SetChance | undefined {
    const [top] = this.#rank(suspect);
    return top && top.chance >= accusable ? top : undefined;
  }

  /** Two arms that differ in this description alone. Others of its set are new if needed too, else reverted. */
  #pairOf(suspect: Suspect, { members, likeliest }: SetChance, i: number, round: 1 | 2): Pair {
    const { belief } = suspect;
    const h = belief.hypotheses.indexOf(likeliest);
    const isOtherNew = likeliest.kind === "and" || (likeliest.kind === "add" && belief.isLargerStepWithOtherNew(h));
    const served = this.#setup.changed.map((_, k) => isOtherNew || k === i || !members.includes(k));
    const stage = round === 1 ? "confirm1" : "confirm2";
    const reverted = served.map((isNew, k) => isNew && k !== i);
    return { suspect, arms: [blameArm(stage, reverted), blameArm(stage, served)] };
  }

  #test(
    i: number,
    pairs: readonly Pair[],
    trials: number,
    at: { round: number; look: number; level: number },
  ): BlameTest {
    const seen = pairs.map(({ suspect: { id, last }, arms: [reverted, served] }) => {
      const count = (arm: string) => countPasses(this.#record, id, arm, last + 1, last + trials);
      return { case: id, base: count(reverted), head: count(served) };
    });
    const { p } = globalTest(seen);
    return {
      description: this.#setup.changed[i] ?? "",
      ...at,
      p,
      isConfirmed: isSignificant(p, at.level),
      cases: seen.map(({ case: id, base, head }) => ({ case: id, reverted: base, new: head, p: fisherP(base, head) })),
    };
  }

  /** The trials of a confirmation count as evidence, each once: the arms of a case may be those of several tests. */
  #takeIn(pairs: readonly Pair[]): void {
    for (const suspect of new Set(pairs.map((pair) => pair.suspect))) {
      const arms = new Set(pairs.flatMap((pair) => (pair.suspect === suspect ? pair.arms : [])));
      const from = suspect.last + 1;
      for (const arm of arms) {
        const to = this.#record.answers(suspect.id, arm).length;
        this.#observe(suspect, maskOfArm(arm), { case: suspect.id, arms: [arm], from, to });
        suspect.last = Math.max(suspect.last, to);
      }
    }
  }

  #verdict(): BlameVerdict {
    const ids = this.#suspects.map(({ id }) => id);
    return {
      cases: this.#suspects.map((suspect) => this.#caseVerdict(suspect)),
      tests: [...this.#tests],
      calls: { ...countCalls(this.#record, ids), most: this.#cap },
    };
  }

  #caseVerdict(suspect: Suspect): BlameVerdict["cases"][number] {
    const name = (members: readonly number[]) => members.map((i) => this.#setup.changed[i] ?? "");
    const sets = this.#rank(suspect);
    const accused = this.#accusedBy(suspect)?.members ?? [];
    const isWhole = accused.length > 0 && accused.every((i) => suspect.confirmed.has(i));
    const isChance = sets[0]?.members.length === 0 && sets[0].chance >= settled;
    const lacks = this.#lacksAnswers(suspect);
    const open = isChance && !lacks ? "chance" : "undecided";
    // The fewest sets with a total probability of 90 %: those before which the total is lower.
    const printed = sets.filter((_, i) => sumOf(sets.slice(0, i), ({ chance }) => chance) < printedShare);
    return {
      case: suspect.id,
      kind: isWhole ? "blamed" : suspect.confirmed.size > 0 ? "in-part" : open,
      because: lacks && suspect.confirmed.size === 0 ? "missing" : null,
      descriptions: name([...suspect.confirmed].sort((a, b) => a - b)),
      relation: sets[0]?.likeliest.kind ?? "none",
      sets: printed.map(({ members, likeliest, chance }) => ({
        descriptions: name(members),
        relation: likeliest.kind,
        chance,
      })),
      seen: null,
    };
  }
}

import type { Design } from "../../asking/trials/design.ts";
import { sumOf } from "../../base/collections.ts";
import { askOnce, OrderSchedule } from "../design/schedule.ts";
import {
  certificates,
  chooseDesign,
  findRoom,
  roomTrials,
  screeningTrials,
  screenWordings,
  type VariantSetup,
} from "../variants/design.ts";
import { incumbentArm, type Outcome, type VariantFigures } from "../variants/verdict.ts";

/**
 * `train`: the cases that wordings are searched on. `heldOut`: those that one is proved on, which nothing else asks.
 * `guards`: the train cases that expect no call and no load, of which the search asks some, so that a wording that is
 * picked for everything does not win it. `siblings`: lists the train cases whose expected tools a wording leaves as
 * they are, which it must not harm. `rounds`: how often proposals are asked for. The other fields are as in
 * `VariantSetup`.
 */
export type LoopSetup = Pick<VariantSetup, "seed" | "bank" | "margin" | "harmUnsteady"> & {
  train: readonly string[];
  heldOut: readonly string[];
  guards?: readonly string[];
  siblings(wording: string): readonly string[];
  rounds: number;
  isDeterministic: boolean;
};

/**
 * `room`: the train cases that can be better. `rounds`: of the search, in each the wordings after every halving, best
 * first; the first has today's wording, too. `best`: what the search ends with, tested by `proof`; null: today's
 * wording.
 */
export type LoopVerdict = {
  room: readonly string[];
  rounds: readonly VariantFigures["screening"][];
  best: string | null;
  proof: Outcome | null;
};

/** Plays a design; undefined if it was stopped before its verdict. */
type Play = <W>(design: Design<W>) => Promise<W | undefined>;
/** The names of the proposals of a round that may be asked, from what is known before; undefined if stopped. */
export type Propose = (
  round: number,
  known: Pick<LoopVerdict, "room" | "rounds">,
) => Promise<readonly string[] | undefined>;

/** A wording that passes this share of the train cases with room leaves nothing to search for. */
const foundShare = 0.95;

/**
 * The loop: finds the train cases with room, halves the proposals of each round together with the best wording so far,
 * and proves one on fresh trials of held-out cases. Search spends no error, since nothing of it enters the proof: only
 * one wording is tested, by the adoption test of variants, so one that is no better is adopted in at most 5 % of loops.
 * Undefined if it was stopped.
 */
export async function improveLoop(setup: LoopSetup, play: Play, propose: Propose): Promise<LoopVerdict | undefined> {
  const room = await play(designRoom(setup));
  if (!room) return undefined;
  const rounds: VariantFigures["screening"][] = [];
  let best = incumbentArm;
  let trials = setup.isDeterministic ? 1 : roomTrials;
  for (let round = 1; room.length > 0 && round <= setup.rounds; round++) {
    const proposals = await propose(round, { room, rounds });
    if (!proposals) return undefined;
    if (proposals.length === 0) {
      rounds.push([]);
      continue;
    }
    const found = await play(designSearch(setup, room, [best, ...proposals]));
    if (!found) return undefined;
    rounds.push(found.rounds);
    best = found.best;
    trials = Math.max(trials, found.trials);
    if ((found.rounds.at(-1)?.[0]?.rate ?? 0) >= foundShare) break;
  }
  if (best === incumbentArm) return { room, rounds, best: null, proof: null };
  const proof = await play(designProof(setup, best, trials + 1));
  return proof && { room, rounds, best, proof };
}

function designRoom({ train, seed, bank, isDeterministic }: LoopSetup): Design<string[]> {
  if (isDeterministic)
    return askOnce(train, [incumbentArm], seed, (record) =>
      train.filter((id) => record.answers(id, incumbentArm)[0] === "fail"),
    );
  const setup = { cases: train, seed, ...(bank && { bank }) };
  return { cap: train.length * roomTrials, play: (record) => findRoom(record, setup, new OrderSchedule(setup)) };
}

/** At least so many guards are asked if there are as many, and no more than cases with room: more would hide a gain. */
const leastGuards = 4;

/** Halving; on a deterministic model, each case once is all that there is to know. */
function designSearch(
  { train, guards = [], seed, isDeterministic }: LoopSetup,
  room: readonly string[],
  wordings: readonly string[],
): Design<{ best: string; trials: number; rounds: VariantFigures["screening"] }> {
  const asked = [...new Set([...room, ...guards.slice(0, Math.max(leastGuards, room.length))])];
  const setup = { cases: asked, seed };
  if (!isDeterministic)
    return { cap: 0, play: (record) => screenWordings(record, { room: asked, wordings }, new OrderSchedule(setup)) };
  return askOnce(train, wordings, seed, (record) => {
    const passes = (arm: string) => train.filter((id) => record.answers(id, arm)[0] === "pass").length;
    const ranked = wordings.map((challenger) => ({ challenger, rate: passes(challenger) / train.length }));
    ranked.sort((a, b) => b.rate - a.rate);
    return { best: ranked[0]?.challenger ?? incumbentArm, trials: 1, rounds: [ranked] };
  });
}

function designProof(setup: LoopSetup, winner: string, from: number): Design<Outcome> {
  const { train: _, heldOut, siblings, isDeterministic, ...shared } = setup;
  const cases = [...heldOut, ...siblings(winner)];
  return chooseDesign({ ...shared, cases, gainCases: heldOut, challengers: [winner], from }, isDeterministic);
}

/** Trials of a round of the search: its proposals and the best wording so far, on cases with room and guards. */
function countSearch(proposals: number, room: number): number {
  let left = proposals + 1;
  return sumOf(screeningTrials(left, room), (trials) => {
    const asked = left * trials * room;
    left = Math.ceil(left / 2);
    return asked;
  });
}

/**
 * The trials of a loop: at most; typically (half of the cases have room, and a wording is proved at the first looks);
 * and of the smallest proof that adopts, which a budget must pay for.
 */
export function forecastLoop({ train, guards = [], heldOut, rounds, isDeterministic }: LoopSetup, proposals: number) {
  const proved = heldOut.length + train.length;
  if (isDeterministic) {
    const all = train.length * (1 + rounds * (proposals + 1)) + 2 * proved;
    return { least: 2 * proved, typical: all, most: all };
  }
  const proof = (looks: number) => heldOut.length * roomTrials + 2 * looks * proved;
  const search = (room: number) => {
    const asked = room + Math.min(guards.length, train.length - room, Math.max(leastGuards, room));
    return train.length * roomTrials + rounds * countSearch(proposals, asked);
  };
  const { looks } = certificates.strict;
  return {
    least: heldOut.length * (roomTrials + 2 * looks[0]),
    typical: search(Math.ceil(train.length / 2)) + proof(looks[0]),
    most: search(train.length) + proof(looks[looks.length - 1] ?? 0),
  };
}

// The improve loop: is a wording adopted that is no better, or harms? Beside it, rules of other tools on the same models.
import { improveLoop, incumbentArm, simulate, TrialRecord } from "../product.mjs";

/**
 * Pass rates of the train cases and of the held-out ones: ten that expect a tool, at odd places the one that is reworded, and
 * three that expect none.
 */
const base = [1, 0.5, 0.95, 0.9, 0.99, 0.5, 1, 0.1, 0.9, 0.7, 1, 0.9, 0.8];
const isGuard = (at) => at >= 10;
const isOwn = (at) => at % 2 === 1 && !isGuard(at);
const train = base.map((_, at) => `train-${at}`);
const heldOut = base.map((_, at) => `held-out-${at}`);
const all = [...train, ...heldOut];
const siblings = train.filter((_, at) => !isOwn(at));
const guards = train.filter((_, at) => isGuard(at));
const within = (rate) => Math.min(1, Math.max(0, rate));
const raised = (rate) => (rate < 0.95 ? within(rate + 0.2) : rate);

/**
 * What one of the proposals does to a case, by its place; the others change nothing. `otherwise`: what an answer that does
 * not pass is, by whether the wording is that one.
 */
const effects = {
  "no wording is better": { isGood: false, limit: 0.05, change: (rate) => rate },
  "one of 6 is 20 points better": { isGood: true, change: (rate, at) => (isGuard(at) ? rate : raised(rate)) },
  "better on train, 10 points worse on held-out": {
    isGood: false,
    limit: 0.02,
    change: (rate, at, isTrain) => (isGuard(at) ? rate : isTrain ? raised(rate) : within(rate - 0.1)),
  },
  "better for its tool, takes 15 points of a sibling": {
    isGood: false,
    limit: 0.05,
    change: (rate, at) => (isOwn(at) ? raised(rate) : at === 8 ? rate - 0.15 : rate),
  },
  "better for its tool, called where none is needed": {
    isGood: false,
    limit: 0.05,
    change: (rate, at) => (isGuard(at) ? rate - 0.3 : isOwn(at) ? raised(rate) : rate),
  },
  "passes more, selects the right tool 13 points less": {
    isGood: false,
    limit: 0.05,
    change: (rate) => (rate < 0.6 ? rate + 0.2 : rate),
    otherwise: (isChanged) => (isChanged ? "fail" : "selected"),
  },
};

const rounds = 3;
const proposals = Array.from({ length: 6 }, (_, i) => `wording ${i + 1}`);
const changed = proposals[3];
const measures = { adopted: "share", false: "share", calls: "mean", "of a fixed design": "mean" };

/** Chances of a pass by case and wording. */
function rateIn({ change }) {
  const rates = new Map(
    [train, heldOut].flatMap((half, which) =>
      half.map((id, at) => [id, { own: base[at], other: change(base[at], at, which === 0) }]),
    ),
  );
  return (id, arm) => (arm === changed ? rates.get(id).other : rates.get(id).own);
}

const fixedTrials = 20;

function loopRow(name, effect) {
  const rateOf = rateIn(effect);
  return {
    group: "improve",
    name: `${name}: evals improve`,
    cost: 20,
    fewer: 4,
    measures,
    targets: {
      ...(effect.isGood ? { adopted: { atLeast: 0.9 } } : { false: { atMost: effect.limit } }),
      "of a fixed design": { atMost: 0.5 },
    },
    async once(random, seed) {
      const record = new TrialRecord();
      let calls = 0;
      const { otherwise = () => "fail" } = effect;
      const play = async (design) => {
        const answer = (id, arm) => (random.next() < rateOf(id, arm) ? "pass" : otherwise(arm === changed));
        const played = simulate(design, answer, record);
        calls += played.calls;
        return played.verdict;
      };
      let proposed = 0;
      const setup = { train, heldOut, guards, siblings: () => siblings, rounds, seed, isDeterministic: false };
      const { best, proof } = await improveLoop(setup, play, async (round) => {
        proposed += proposals.length;
        return proposals.map((one) => (round === 1 ? one : `${one}, round ${round}`));
      });
      const isAdopted = proof?.verdict.kind === "adopt";
      return {
        adopted: isAdopted,
        false: isAdopted && !(effect.isGood && best === changed),
        calls,
        "of a fixed design": calls / (all.length * fixedTrials * (proposed + 1)),
      };
    },
  };
}

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
const choose = (n, k) => (k === 0 ? 1 : (choose(n - 1, k - 1) * n) / k);
/** One-sided sign test on pairs that differ. */
const signTest = (gained, lost) =>
  sum(Array.from({ length: lost + 1 }, (_, k) => choose(gained + lost, k))) / 2 ** (gained + lost);

/** How other tools accept a rewording, on the queries that it was made for. Each gets draws of passes by case and wording. */
const rules = {
  "first whose re-run of all queries is better, 3 runs": (draw) => {
    const score = (arm) => sum(all.flatMap((id) => draw(id, arm, 3)));
    return proposals.find((one) => score(one) > score(incumbentArm));
  },
  "best on the training queries, 3 runs": (draw) => {
    const score = (arm) => sum(train.flatMap((id) => draw(id, arm, 3)));
    const ranked = [incumbentArm, ...proposals].map((arm) => ({ arm, passes: score(arm) }));
    const best = ranked.reduce((first, one) => (one.passes > first.passes ? one : first));
    return best.arm === incumbentArm ? undefined : best.arm;
  },
  "sign test on the queries of its tool, 10 runs, .05/6": (draw) => {
    const own = all.filter((id) => isOwn(Number(id.split("-").at(-1))));
    const before = own.flatMap((id) => draw(id, incumbentArm, 10));
    return proposals.find((one) => {
      const after = own.flatMap((id) => draw(id, one, 10));
      const gained = sum(after.map((pass, at) => Number(pass > before[at])));
      const lost = sum(after.map((pass, at) => Number(pass < before[at])));
      return gained > lost && signTest(gained, lost) <= 0.05 / proposals.length;
    });
  },
};

function ruleRow(rule, name, effect) {
  const rateOf = rateIn(effect);
  return {
    group: "improve",
    name: `${name}: ${rule}`,
    fewer: 4,
    measures,
    targets: {},
    once(random) {
      let calls = 0;
      const draw = (id, arm, runs) =>
        Array.from({ length: runs }, () => {
          calls++;
          return Number(random.next() < rateOf(id, arm));
        });
      const accepted = rules[rule](draw);
      const isAdopted = accepted !== undefined;
      return { adopted: isAdopted, false: isAdopted && !(effect.isGood && accepted === changed), calls };
    },
  };
}

export const improveRows = Object.entries(effects).flatMap(([name, effect]) => [
  loopRow(name, effect),
  ...Object.keys(rules).map((rule) => ruleRow(rule, name, effect)),
]);

// Every scenario: a name, a target, and `once(random)`, which runs it once and returns whether it hit and its calls.

import { peers } from "./peers.mjs";
import { anytime, blame, correlated, independent, parseArm, screen, simulate, thorough, variants } from "./product.mjs";
import { changes, drifts, idsOf, suites } from "./suites.mjs";

const binomial = (random, n, rate) =>
  Array.from({ length: n }, () => Number(random.next() < rate)).reduce((a, b) => a + b, 0);
const bankOf = (random, rates) =>
  new Map(idsOf(rates).map((id, i) => [id, { passed: binomial(random, 20, rates[i]), trials: 20 }]));

const designs = {
  thorough: (rates) => thorough(idsOf(rates)),
  screen: (rates, random) => screen(idsOf(rates), bankOf(random, rates)),
  anytime: (rates) => anytime(idsOf(rates)),
};

/** Hit: the verdict is `expected`. `icc` is the correlation of trials within a case and arm. */
function regression({
  design,
  suite,
  change = "nothing",
  drift,
  icc,
  target,
  callsTarget,
  slow,
  expected = "regressed",
}) {
  const rates = suites[suite];
  const now = drift ? drifts[drift](rates) : rates;
  const head = changes[change](now);
  const index = new Map(idsOf(rates).map((id, i) => [id, i]));
  const rateOf = (id, arm) => (arm === "head" ? head : now)[index.get(id)];
  const notes = [drift && `bank before ${drift}`, icc && `correlation ${icc}`].filter(Boolean);
  return {
    group: `${change === "nothing" ? "nothing changed" : change}: ${expected.toUpperCase().replace("-", " ")}`,
    name: [design, suite, ...notes].join(", "),
    target,
    callsTarget,
    fixed: rates.length * 40,
    slow,
    once(random) {
      const model = icc ? correlated(rateOf, icc, random) : independent(rateOf, random);
      const { verdict, calls } = simulate(designs[design](rates, random), model);
      return { hit: verdict.kind === expected, kind: verdict.kind, calls };
    },
  };
}

function peer(rule, suite, change, trials) {
  const rates = suites[suite];
  const head = changes[change](rates);
  return {
    group: change === "nothing" ? "nothing changed: REGRESSED" : `${change}: REGRESSED`,
    name: `${suite}, others: ${rule}, ${trials} trials`,
    fixed: rates.length * 40,
    once(random) {
      const arms = [rates, head].map((arm) => arm.map((rate) => binomial(random, trials, rate)));
      return { hit: peers[rule](...arms, trials), calls: 2 * trials * rates.length };
    },
  };
}

/** One affected case, .95 with the old wordings and .3 broken; ten trials of each are known. Hit: the right changes. */
function culprit(kind, members, confirmed, target, callsTarget) {
  const changed = Array.from({ length: 8 }, (_, i) => `description ${i + 1}`);
  const broken = (mask) => (kind === "OR" ? members.some((i) => mask[i]) : members.every((i) => mask[i]));
  return {
    group: `blame, 8 descriptions: ${confirmed ? "right and confirmed" : "right before confirmation"}`,
    name: kind,
    target,
    callsTarget,
    fixed: 80,
    once(random) {
      let known;
      do
        known = {
          old: { passed: binomial(random, 10, 0.95), trials: 10 },
          new: { passed: binomial(random, 10, 0.3), trials: 10 },
        };
      while (known.new.passed >= known.old.passed);
      const rateOf = (_, arm) => (broken(parseArm(arm)) ? 0.3 : 0.95);
      const { verdict } = simulate(blame({ case: "c", changed, known }), independent(rateOf, random));
      const found = confirmed ? verdict.culprits : verdict.ranking[0].changes;
      const right = found.length === members.length && members.every((i) => found.includes(changed[i]));
      const { search, confirmation } = verdict.calls;
      return { hit: right, calls: confirmed ? search + confirmation : search, kind: verdict.kind };
    },
  };
}

/** No change is to blame: the case fails with every list. Hit: one is blamed anyway. */
function blameless(target) {
  const changed = Array.from({ length: 8 }, (_, i) => `description ${i + 1}`);
  return {
    group: "blame, 8 descriptions: one is blamed although none is",
    name: "the case passes at .3 with every list",
    target,
    fixed: 80,
    once(random) {
      const known = { old: { passed: 10, trials: 10 }, new: { passed: 3, trials: 10 } };
      const { verdict, calls } = simulate(
        blame({ case: "c", changed, known }),
        independent(() => 0.3, random),
      );
      return { hit: verdict.kind === "blamed", calls, kind: verdict.kind };
    },
  };
}

/** Hit: the better wording is adopted, or any wording when none is better. */
function wordings(suite, challengers, better, target) {
  const rates = suites[suite];
  const names = Array.from({ length: challengers }, (_, i) => `wording ${i + 1}`);
  const winner = names[Math.floor(challengers / 2)];
  const raised = changes["all cases +20 points"](rates);
  const index = new Map(idsOf(rates).map((id, i) => [id, i]));
  const rateOf = (id, arm) => (better && arm === winner ? raised : rates)[index.get(id)];
  return {
    group: better ? "variants, one +20 points: ADOPT it" : "variants, none better: ADOPT",
    name: `${challengers} challengers, ${suite}`,
    target,
    fixed: rates.length * (challengers + 1) * 20,
    once(random) {
      const { verdict, calls } = simulate(
        variants({ cases: idsOf(rates), challengers: names }),
        independent(rateOf, random),
      );
      return { hit: verdict.kind === "adopt" && (!better || verdict.winner === winner), calls, kind: verdict.kind };
    },
  };
}

const atMost = (rate) => ({ atMost: rate });
const atLeast = (rate) => ({ atLeast: rate });
const every = Object.keys(suites);

export const scenarios = [
  ...["thorough", "screen", "anytime"].flatMap((design) =>
    every.map((suite) =>
      regression({
        design,
        suite,
        target: atMost(0.05),
        slow: design === "anytime",
        ...(design === "screen" && { callsTarget: 0.35 }),
      }),
    ),
  ),
  ...every.flatMap((suite) =>
    Object.keys(drifts).map((drift) => regression({ design: "screen", suite, drift, target: atMost(0.06) })),
  ),
  ...["thorough", "screen"].flatMap((design) =>
    every.flatMap((suite) => [0.05, 0.1].map((icc) => regression({ design, suite, icc }))),
  ),
  ...every.flatMap((suite) =>
    Object.keys(peers).flatMap((rule) => [5, 20].map((trials) => peer(rule, suite, "nothing", trials))),
  ),
  ...["thorough", "screen", "anytime"].flatMap((design) =>
    every.map((suite) => {
      const target = design === "anytime" ? undefined : atLeast(0.95);
      return regression({ design, suite, change: "one case .95 -> .3", target, slow: design === "anytime" });
    }),
  ),
  ...["thorough", "screen", "anytime"].flatMap((design) =>
    every.map((suite) => {
      const target = design === "thorough" ? atLeast(0.95) : undefined;
      return regression({ design, suite, change: "all cases -20 points", target, slow: design === "anytime" });
    }),
  ),
  ...["thorough", "screen"].flatMap((design) =>
    every.map((suite) => regression({ design, suite, change: "all cases -10 points" })),
  ),
  ...["thorough", "screen"].flatMap((design) => [
    ...every.map((suite) => regression({ design, suite, expected: "no-regression" })),
    // FLAKY8 is the suite whose mean drops by the margin of 10 points exactly, where "no regression" is just wrong.
    regression({ design, suite: "FLAKY8", change: "all cases -10 points", expected: "no-regression" }),
  ]),
  ...[false, true].flatMap((confirmed) => [
    culprit("single", [3], confirmed, confirmed ? undefined : atLeast(0.98), confirmed ? undefined : 20 / 80),
    culprit("OR", [2, 6], confirmed, confirmed ? undefined : atLeast(0.9)),
    culprit("AND", [2, 6], confirmed, confirmed ? undefined : atLeast(0.9)),
  ]),
  blameless(atMost(0.05)),
  ...every.map((suite) => wordings(suite, 8, false, atMost(0.05))),
  ...["MIX10", "FLAKY8"].map((suite) => wordings(suite, 3, false, atMost(0.05))),
  // Only FLAKY8 has room for 20 points in (nearly) every case.
  ...every.map((suite) => wordings(suite, 8, true, suite === "FLAKY8" ? atLeast(0.8) : undefined)),
  ...["MIX10", "FLAKY8"].map((suite) => wordings(suite, 3, true)),
];

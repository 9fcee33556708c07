// Every scenario: a name, a target, and `once(random)`, which runs it once and returns whether it hit and its calls.

import { peers } from "./peers.mjs";
import { anytime, correlated, independent, screen, simulate, thorough } from "./product.mjs";
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
];

// Variants: is one of several wordings better than the one in use, and harmless?
import { orderMoves } from "../models.mjs";
import { incumbentArm, simulate, variants } from "../product.mjs";
import { idsOf, suites } from "../suites.mjs";

const capped = (by) => (rates) => rates.map((rate) => Math.min(1, Math.max(0, rate + by)));
const weakest = (rates) => rates.indexOf(Math.min(...rates));
/** The first case at .9 or .95, which pays for the repair of another. */
const payer = (rates) => rates.findIndex((rate) => rate === 0.9 || rate === 0.95);
const flaky = (rates) => {
  const i = rates.findIndex((rate, at) => rate >= 0.5 && rate <= 0.8 && at !== weakest(rates));
  return i;
};
const lowered = (rates, i, by) => (i < 0 ? rates : rates.with(i, Math.max(0, rates[i] - by)));
const repaired = (rates) => rates.with(weakest(rates), 0.95);

/** What the better wording (the last challenger) does, and whether it should be adopted. */
const effects = {
  null: { head: (rates) => rates, isGood: false },
  "-10, all challengers": { head: capped(-0.1), isGood: false, all: true },
  "+10": { head: capped(0.1), isGood: true },
  "+20": { head: capped(0.2), isGood: true },
  fix: { head: repaired, isGood: true },
  "fix +40": { head: (rates) => rates.with(weakest(rates), rates[weakest(rates)] + 0.4), isGood: true },
  "fix, takes 15": { head: (rates) => lowered(repaired(rates), payer(rates), 0.15), isGood: false },
  "fix, takes 30": { head: (rates) => lowered(repaired(rates), payer(rates), 0.3), isGood: false },
  "fix, takes 15 of a flaky one": { head: (rates) => lowered(repaired(rates), flaky(rates), 0.15), isGood: false },
};

const measures = { right: "share", false: "share", keep: "share", inconclusive: "share", calls: "mean" };
const count = (random, rate, k) =>
  Array.from({ length: k }, () => Number(random.next() < rate)).reduce((a, b) => a + b, 0);

function setting(suite, effect, challengers) {
  const rates = suites[suite];
  const { head, isGood, all = false } = effects[effect];
  const changed = head(rates);
  const names = Array.from({ length: challengers }, (_, i) => `wording ${i + 1}`);
  const rateOf = (id, arm) => ((all ? arm !== incumbentArm : arm === names.at(-1)) ? changed[+id] : rates[+id]);
  return { rates, names, isGood, rateOf };
}

function variantRow(suite, effect, challengers, { figure, quick, orders, ...options } = {}) {
  const { rates, names, isGood, rateOf } = setting(suite, effect, challengers);
  const isCheap = options.harmUnsteady !== undefined;
  return {
    group: `variants${isCheap ? ", the cheaper certificate" : ""}`,
    name: `${suite}: ${effect}, ${challengers} challenger${challengers > 1 ? "s" : ""}${orders ? `, ${orders.name}` : ""}`,
    quick,
    cost: 10 * Math.ceil(rates.length / 10),
    fewer: rates.length >= 50 ? 20 : 4,
    measures,
    targets: {
      false: { atMost: 0.05 },
      ...(figure && { right: { near: figure / 100, repetitions: 1000, orMore: true } }),
    },
    once(random, r) {
      const bank = new Map(rates.map((rate, i) => [String(i), { passed: count(random, rate, 20), trials: 20 }]));
      const design = variants({ cases: idsOf(rates), challengers: names, seed: r, bank, ...options });
      const { verdict, calls } = simulate(design, (id, arm, _, order) => {
        const rate = rateOf(id, arm);
        return random.next() < (orders ? orders.move(rate, r, order, arm) : rate) ? "pass" : "fail";
      });
      const isBest = verdict.kind === "adopt" && isGood && verdict.winner === names.at(-1);
      return {
        right: isBest,
        false: verdict.kind === "adopt" && !isBest,
        keep: verdict.kind === "keep",
        inconclusive: verdict.kind === "inconclusive",
        calls,
      };
    },
  };
}

/** Adopted %, as simulated elsewhere: [suite, challengers, effect, right]. */
const figures = [
  ["V8", 1, "+20", 99.8],
  ["V8", 1, "fix", 89.9],
  ["V8", 3, "+10", 83.9],
  ["V8", 3, "fix", 84.5],
  ["V8", 7, "+20", 99.6],
  ["V_MIX10", 1, "fix", 92],
  ["V_MIX10", 1, "+20", 99.5],
  ["V_MIX10", 3, "fix +40", 74.9],
  ["V_MIX10", 7, "fix", 93],
  ["V_GOOD8", 1, "fix", 99.3],
  ["V_GOOD8", 3, "+20", 92.1],
  ["V_THREE", 3, "fix +40", 98.7],
  ["V_ONE", 1, "+20", 93.1],
];
const harmless = ["V8", "V_MIX10", "V_GOOD8", "V_THREE"].flatMap((suite) =>
  [1, 3, 7].flatMap((challengers) =>
    ["null", "-10, all challengers", "fix, takes 15", "fix, takes 30"].map((effect) => [suite, challengers, effect]),
  ),
);

export const variantRows = [
  ...figures.map(([suite, challengers, effect, figure]) =>
    variantRow(suite, effect, challengers, { figure, quick: suite === "V_GOOD8" && challengers === 1 }),
  ),
  ...harmless.map(([suite, challengers, effect]) =>
    variantRow(suite, effect, challengers, {
      quick: suite === "V_MIX10" && challengers === 3 && effect === "fix, takes 15",
    }),
  ),
  ...["V8", "V_MIX10"].flatMap((suite) => [1, 7].map((n) => variantRow(suite, "fix, takes 15 of a flaky one", n))),
  ...Object.values(orderMoves).flatMap((orders) =>
    ["V8", "V_MIX10"].flatMap((suite) =>
      ["null", "fix", "fix, takes 30"].map((effect) => variantRow(suite, effect, 3, { orders })),
    ),
  ),
  ...["null", "fix", "+10", "fix, takes 15"].map((effect) => variantRow("FIFTY", effect, 3)),
  ...["null", "fix", "fix +40", "fix, takes 30"].flatMap((effect) =>
    ["V8", "V_MIX10"].map((suite) => variantRow(suite, effect, 1, { harmUnsteady: 0.25 })),
  ),
];

// Blame: which of the changed descriptions made a case fall.
import { orderMoves } from "../models.mjs";
import { blame, maskOfArm, simulate } from "../product.mjs";

const count = (random, rate, k) =>
  Array.from({ length: k }, () => Number(random.next() < rate)).reduce((a, b) => a + b, 0);

/** What the check saw of a case that it named: 5, 10 or 20 trials an arm, chosen for being lower now. */
function drawKnown(random, old, now) {
  const trials = [5, 10, 20][random.below(3)];
  for (;;) {
    const [before, after] = [count(random, old, trials), count(random, now, trials)];
    if (after < before && before - after >= 0.3 * trials)
      return { old: { passed: before, trials }, new: { passed: after, trials } };
  }
}

/** The share of the fall that a mask brings about. */
const parts = {
  single: ([a], mask) => Number(mask[a]),
  or: ([a, b], mask) => Number(mask[a] || mask[b]),
  and: ([a, b], mask) => Number(mask[a] && mask[b]),
  add: ([a, b], mask) => (Number(mask[a]) + Number(mask[b])) / 2,
  nothing: () => 0,
};

const names = (n) => Array.from({ length: n }, (_, i) => `description ${i + 1}`);

/** What was blamed, against what is true: all of it, a part of it, nothing, or something wrong. */
function judge(descriptions, truth) {
  const isWrong = descriptions.some((name) => !truth.includes(name));
  const isRight = !isWrong && truth.length > 0 && truth.every((name) => descriptions.includes(name));
  const isPart = !isWrong && !isRight && descriptions.length > 0;
  return { right: isRight, "in part": isPart, undecided: descriptions.length === 0, wrong: isWrong };
}

const measures = { right: "share", "in part": "share", undecided: "share", wrong: "share", calls: "mean" };

/** One case. `figure`: [right, calls] as simulated. */
function oneCase(kind, changed, old, now, { right, calls, quick, orders } = {}) {
  return {
    group: "blame: one case",
    name: `${kind}, ${changed} descriptions, ${old} -> ${now}${orders ? `, ${orders.name}` : ""}`,
    quick,
    cost: changed >= 20 ? 20 : 4,
    fewer: changed >= 20 ? 10 : 4,
    measures,
    targets: {
      wrong: { atMost: 0.05 },
      ...(right !== undefined && { right: { near: right, repetitions: 1000, orMore: true } }),
      ...(calls !== undefined && { calls: { near: calls } }),
    },
    once(random, r) {
      const members = pickTwo(random, changed).slice(0, kind === "single" ? 1 : 2);
      const names_ = names(changed);
      const known = drawKnown(random, old, kind === "nothing" ? old : now);
      const design = blame({ changed: names_, cases: [{ case: "c", known }], seed: r });
      const { verdict, calls: asked } = simulate(design, (_, arm, __, order) => {
        const rate = old - (old - now) * parts[kind](members, maskOfArm(arm));
        return random.next() < (orders ? orders.move(rate, r, order, arm) : rate) ? "pass" : "fail";
      });
      const truth = kind === "nothing" ? [] : members.map((i) => names_[i]);
      return { ...judge(verdict.cases[0].descriptions, truth), calls: asked };
    },
  };
}

function pickTwo(random, n) {
  const a = random.below(n);
  const b = n > 1 ? (a + 1 + random.below(n - 1)) % n : a;
  return [a, b].sort((x, y) => x - y);
}

/** Several cases with the same culprit, or each with its own. */
function severalCases(cases, isSame, changed, old, now, { right, calls } = {}) {
  return {
    group: "blame: several cases, single culprits",
    name: `${cases} cases, ${isSame ? "the same" : "different"}, ${changed} descriptions, ${old} -> ${now}`,
    cost: 10,
    fewer: 10,
    measures: { ...measures, "runs with a wrong blame": "share" },
    targets: {
      "runs with a wrong blame": { atMost: 0.05 },
      ...(right !== undefined && { right: { near: right, repetitions: 300 * cases, orMore: true } }),
      ...(calls !== undefined && { calls: { near: calls } }),
    },
    once(random, r) {
      const all = names(changed);
      const first = random.below(changed);
      const culprits = Array.from({ length: cases }, (_, i) => (isSame ? first : (first + i) % changed));
      const setup = culprits.map((_, i) => ({ case: String(i), known: drawKnown(random, old, now) }));
      const { verdict, calls: asked } = simulate(blame({ changed: all, cases: setup, seed: r }), (id, arm) =>
        random.next() < (maskOfArm(arm)[culprits[+id]] ? now : old) ? "pass" : "fail",
      );
      const judged = verdict.cases.map((one, i) => judge(one.descriptions, [all[culprits[i]]]));
      const share = (key) => judged.filter((one) => one[key]).length / cases;
      return {
        right: share("right"),
        "in part": share("in part"),
        undecided: share("undecided"),
        wrong: share("wrong"),
        "runs with a wrong blame": judged.some((one) => one.wrong),
        calls: asked,
      };
    },
  };
}

/** Simulated elsewhere: right % and calls, by relation, descriptions and rates. */
const figures = {
  "2 0.95 0.3": { single: [100, 40], or: [99.9, 73], and: [99.3, 70], add: [73.6, 158] },
  "8 0.95 0.3": { single: [100, 46], or: [99.7, 87], and: [98, 87], add: [65.1, 182] },
  "8 0.95 0.7": { single: [88.6, 163], or: [51.4, 243], and: [41.2, 223], add: [1.9, 212] },
  "8 0.6 0.2": { single: [97.6, 121], or: [80.6, 213], and: [68, 199], add: [4.9, 229] },
  "8 0.4 0.1": { single: [92.3, 154], or: [55.3, 227], and: [48.1, 218], add: [1.9, 204] },
  "20 0.95 0.3": { single: [100, 51], or: [99.8, 95], and: [96.8, 95], add: [72.6, 212] },
};
const several = {
  "2 same 0.95 0.3": [100, 56],
  "4 same 0.95 0.3": [99.9, 103],
  "2 diff 0.95 0.3": [99.8, 93],
  "4 diff 0.95 0.3": [100, 170],
  "4 same 0.95 0.7": [95.5, 343],
  "4 diff 0.95 0.7": [91.5, 610],
  "4 same 0.6 0.2": [99, 262],
  "4 diff 0.4 0.1": [93.3, 568],
};

export const blameRows = [
  ...Object.entries(figures).flatMap(([setting, byKind]) => {
    const [changed, old, now] = setting.split(" ").map(Number);
    return Object.entries(byKind).map(([kind, [right]]) =>
      oneCase(kind, changed, old, now, { right: right / 100, quick: changed === 2 && kind === "single" }),
    );
  }),
  ...[2, 8, 20].flatMap((changed) => [0.9, 0.6, 0.4].map((rate) => oneCase("nothing", changed, rate, rate))),
  ...Object.values(orderMoves).flatMap((orders) => [
    oneCase("single", 8, 0.95, 0.3, { orders, right: 0.95 }),
    ...[0.9, 0.6].map((rate) => oneCase("nothing", 8, rate, rate, { orders })),
  ]),
  ...Object.entries(several).map(([setting, [right]]) => {
    const [cases, same, old, now] = setting.split(" ");
    return severalCases(+cases, same === "same", 8, +old, +now, { right: right / 100 });
  }),
];

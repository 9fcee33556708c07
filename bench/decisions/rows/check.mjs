// The check of base against head.
import { models } from "../models.mjs";
import { peers } from "../peers.mjs";
import { check, simulate } from "../product.mjs";
import { dropOf, idsOf, suites, truths } from "../suites.mjs";

const atMost = (limit) => ({ atMost: limit });
const atLeast = (limit) => ({ atLeast: limit });

const mustReachGroup = "what the check must reach";

/**
 * Plays one check of `suite`, or of the rates `base`. `head`: the rates of head, or what `truth` makes of those of base.
 * `fell`, `rose`: cases to be named; the share of them is measured. `options`: of the setup; `targets`: by measure.
 * `setup` is what `bench/commandLine.mjs` plays through the program.
 */
function checkRow({
  group,
  name,
  suite,
  truth = "nothing",
  base = suites[suite],
  head = truths[truth](base),
  model = models.independent(),
  options = {},
  targets = {},
  fell = [],
  rose = [],
  ...row
}) {
  const drop = dropOf(base, head);
  const covers = ({ net }) => net !== null && net.interval[0] <= -drop && -drop <= net.interval[1];
  const wanted = [...fell.map((i) => ["flagged", i]), ...rose.map((i) => ["rose", i])];
  return {
    group,
    name: name ?? `${suite}: ${truth}`,
    targets,
    measures: {
      regressed: "share",
      changed: "share",
      "no regression": "share",
      calls: "mean",
      ...(group === mustReachGroup ? {} : { covers: "share" }),
      ...(targets.selection && { selection: "share" }),
      ...(options.requests && { deterministic: "share" }),
      ...(wanted.length > 0 && { named: wanted.length > 1 ? "mean" : "share" }),
    },
    setup: { base, head, model, options, wanted },
    ...row,
    once(random, r) {
      const answer = model((i, arm) => (arm === "head" ? head : base)[i], random);
      const design = check({ cases: idsOf(base), seed: r, withReach: false, ...options });
      const { verdict, calls } = simulate(design, answer);
      const { net } = verdict;
      return {
        ...measureVerdict(verdict, wanted),
        calls: calls / base.length,
        // The mean is over the cases that can fall.
        ...(net?.cases === base.length && { covers: covers(verdict) }),
      };
    },
  };
}

/** `wanted`: the list of the verdict that should name a case, and its number. */
export function measureVerdict(verdict, wanted) {
  const { kind } = verdict;
  return {
    regressed: kind === "regressed",
    changed: kind === "changed",
    "no regression": kind === "no-regression",
    selection: kind === "regressed" && verdict.rate === "selection",
    deterministic: verdict.method === "exhausted",
    named: wanted.filter(([where, i]) => verdict[where]?.some((one) => one.case === String(i))).length / wanted.length,
  };
}

function peerRow(rule, suite, truth, trials) {
  const base = suites[suite];
  const head = truths[truth](base);
  const passes = (random, rates) =>
    rates.map((rate) => Array.from({ length: trials }, () => Number(random.next() < rate)));
  return {
    group: "others' rules",
    name: `${suite}: ${truth}, ${rule}, ${trials} trials`,
    targets: {},
    measures: { regressed: "share", calls: "mean" },
    once: (random) => ({
      regressed: peers[rule](passes(random, base), passes(random, head)),
      calls: 2 * trials,
    }),
  };
}

const five = ["M_MIX10", "M_GOOD8", "M_FLAKY8", "MIX10", "MIX5"];
const sizes = ["ONE", "THREE", "good50", "mixed50", "good200", "mixed200", "good3000", "mixed3000"];
const large = (suite) => ({ cost: suites[suite].length / 10, ...(suites[suite].length >= 3000 && { fewer: 20 }) });

const reach = (name, row) => checkRow({ group: mustReachGroup, name, quick: true, ...row });
const dead = (rates, ...cases) => cases.reduce((all, i) => all.with(i, 0), rates);
const { M_MIX10, TEN9, LIVE10, FIVE98 } = suites;
const none = TEN9.map(() => 0);
const all = (rate, n = 10) => Array.from({ length: n }, () => rate);
const nullTargets = { regressed: atMost(0.05), changed: atMost(0.05) };
const tools = { "1 tool": 1, "2 tools": 2, "3 tools": 6, "5 tools": 120, "8 tools": 40_320 };
const wordings = (count) => (count === 1 ? "one wording" : `${count} wordings`);
const ordersOf = (orders) => ({ options: { requests: () => orders } });

/** Suites of people who have few tools and few queries. */
const fewTools = Object.entries(tools).flatMap(([name, orders]) => [
  ...["FIVE98", "M_MIX10"].map((suite) =>
    reach(`nothing changed, ${name}: ${suite}`, { suite, ...ordersOf(orders), targets: nullTargets }),
  ),
  ...(orders <= 6
    ? [0.98, 0.95, 0.9].flatMap((rate) =>
        [2, 3, 5].map((n) =>
          reach(`nothing changed, ${name}: ${n} cases of ${rate}`, {
            base: all(rate, n),
            ...ordersOf(orders),
            quick: n !== 3 && rate !== 0.95,
            targets: { ...nullTargets, deterministic: atMost(0.002) },
          }),
        ),
      )
    : []),
  ...(orders <= 6
    ? [
        reach(`one of five .98 -> .5, ${name}`, {
          base: FIVE98,
          head: FIVE98.with(0, 0.5),
          ...ordersOf(orders),
          targets: { regressed: atLeast(0.98) },
        }),
        reach(`five cases .98 -> .88, the margin, ${name}`, {
          base: FIVE98,
          head: all(0.88, 5),
          ...ordersOf(orders),
          targets: { "no regression": atMost(0.05) },
        }),
      ]
    : []),
]);

const theft = [1, 0.3, 0.95, 0.99, 0.9, 0.9, 0.5, 0.5, 0.99, 1];

const mustReach = [
  ...fewTools,
  ...["M_GOOD8", "M_FLAKY8", "MIX10"].map((suite) =>
    reach(`nothing changed: ${suite}`, { suite, targets: nullTargets }),
  ),
  ...["MID10", "M_MIX10"].flatMap((suite) =>
    Object.entries({
      "seed kept for 3 calls": models["seed kept"](),
      "20 % repeats": models["cache, ids hidden"](0.2),
      "50 % repeats": models["cache, ids hidden"](0.5),
    }).map(([what, model]) =>
      reach(`nothing changed, ${what}: ${suite}`, { suite, model, targets: { regressed: atMost(0.06) } }),
    ),
  ),
  reach("one of ten .95 -> .6", { base: M_MIX10, head: M_MIX10.with(2, 0.6), targets: { regressed: atLeast(0.85) } }),
  reach("one of ten .95 -> .3", { base: M_MIX10, head: M_MIX10.with(2, 0.3), targets: { regressed: atLeast(0.98) } }),
  reach("one of ten dead", { base: M_MIX10, head: dead(M_MIX10, 0), targets: { regressed: atLeast(0.99) } }),
  reach("all .9 -> .8", {
    base: TEN9,
    head: all(0.8),
    targets: { regressed: atLeast(0.95), "no regression": atMost(0.04) },
  }),
  reach("all .9 -> .8, the right tool always", {
    ...{ base: TEN9, head: all(0.8), model: models.independent(1) },
    targets: { "no regression": atMost(0.05) },
  }),
  reach("selection .9 -> .8, pass .9 of it", {
    ...{ base: TEN9, head: all(0.8), model: models.selecting(0.9) },
    targets: { "no regression": atMost(0.05) },
  }),
  reach("nothing passes, right tool 1 -> .5", {
    ...{ base: all(1), head: all(0.5), model: models.selecting(0) },
    targets: { selection: atLeast(0.97) },
  }),
  reach("pass .5, failures: right tool -> wrong tool", {
    ...{ base: all(0.5), model: models.independent(1, 0) },
    targets: { selection: atLeast(0.97) },
  }),
  reach("all ten broken, nine of them reworded", {
    ...{ base: TEN9, head: none, reworded: 9, targets: { regressed: atLeast(1) } },
  }),
  reach("a better description steals: own .3 -> .95, victim 1 -> .5", {
    ...{ base: theft, head: theft.with(0, 0.5).with(1, 0.95), rose: [1] },
    targets: { regressed: atLeast(0.97), named: atLeast(0.8) },
  }),
  reach("nine dead, one .95 -> .6", {
    ...{ base: none.with(0, 0.95), head: none.with(0, 0.6) },
    targets: { regressed: atLeast(0.97), "no regression": atMost(0.01) },
  }),
  reach("ten dead", { base: none, targets: { "no regression": atMost(0), regressed: atMost(0) } }),
  reach("two .95 -> .3", {
    ...{ base: LIVE10, head: LIVE10.with(0, 0.3).with(4, 0.3), fell: [0, 4] },
    targets: { regressed: atLeast(0.99), named: atLeast(0.95) },
  }),
  reach("three of ten -> 0, --fail-on suite", {
    ...{ base: LIVE10, head: dead(LIVE10, 0, 1, 4), options: { onlySuite: true } },
    targets: { regressed: atLeast(0.99) },
  }),
  reach("30 % of head's passing answers are errors, asked anew", {
    ...{ suite: "M_MIX10", model: models.missing({ head: { pass: 0.3 } }, "anew") },
    targets: { regressed: atMost(0.05) },
  }),
  ...["M_MIX10", "MID10"].map((suite) =>
    reach(`30 % of head's passing answers are errors, sent again unseen: ${suite}`, {
      ...{ suite, model: models.resent(0.3), targets: { regressed: atMost(0.05) } },
    }),
  ),
  ...["MID10", "M_MIX10"].flatMap((suite) =>
    [1, 3, 5].map((count) =>
      reach(`each wording and list has its own rate, intraclass correlation .1, ${wordings(count)}: ${suite}`, {
        ...{ suite, model: models.perturbed(0.1, count), options: { wordings: () => count } },
        targets: count === 1 ? {} : { regressed: atMost(0.1) },
      }),
    ),
  ),
  ...[10, 20].flatMap((cases) =>
    [1, 2, 3, 5].map((count) =>
      reach(`an edit flips 5 % of the wordings, temperature 0, ${wordings(count)}: ${cases} cases that pass`, {
        ...{ base: all(1, cases), model: models.flips(0.05, count), options: { wordings: () => count } },
        targets: count === 3 ? { regressed: atMost(0.06) } : {},
      }),
    ),
  ),
  // A query falls only if most of its wordings do, which costs power: 94 % with one wording.
  ...[2, 3, 5].flatMap((count) => [
    reach(`one of ten .95 -> .6, ${wordings(count)}`, {
      ...{ base: M_MIX10, head: M_MIX10.with(2, 0.6), options: { wordings: () => count } },
      targets: { regressed: atLeast(count === 2 ? 0.85 : 0.8) },
    }),
    reach(`all .9 -> .8, ${wordings(count)}`, {
      ...{ base: TEN9, head: all(0.8), options: { wordings: () => count } },
    }),
    reach(`nothing changed, ${wordings(count)}`, {
      ...{ suite: "M_FLAKY8", options: { wordings: () => count }, targets: nullTargets },
    }),
  ]),
];

/** Prompts are kept for five minutes since their last use: about 600 requests at ten a time and five seconds a reply. */
export const cacheWindow = 600;
/** The list is most of a request. Keeping it costs a quarter more, and reading it a tenth. */
const prices = { found: 0.05 + 0.95 * 0.1, kept: 0.05 + 0.95 * 1.25 };

function countFound(design, answer) {
  const last = new Map();
  let [calls, found] = [0, 0];
  simulate(design, (id, arm, trial, order) => {
    const key = `${arm} ${order}`;
    if (calls++ - (last.get(key) ?? Number.NEGATIVE_INFINITY) <= cacheWindow) found++;
    last.set(key, calls);
    return answer(id, arm, trial, order);
  });
  return { calls, found, cost: found * prices.found + (calls - found) * prices.kept };
}

/** What sharing orders saves, beside a check in which every pair has its own and pays for keeping its list. */
function cacheRow(name, base, targets) {
  return {
    group: "prompt caches",
    name,
    quick: true,
    cost: base.length / 5,
    targets,
    measures: { "found in a cache": "ratio", "cost beside own orders": "ratio" },
    setup: { base, head: base, model: models.independent(), options: {}, wanted: [] },
    once(random, r) {
      const play = (pairsPerOrder) =>
        countFound(
          check({ cases: idsOf(base), seed: r, withReach: false, pairsPerOrder }),
          models.independent()((i) => base[i], random),
        );
      const [shared, own] = [play(), play(1)];
      return {
        "found in a cache": [shared.found, shared.calls],
        "cost beside own orders": [shared.cost, own.calls * prices.kept],
      };
    },
  };
}

const caching = [
  ...["M_MIX10", "mixed50"].map((suite) => {
    const [hits, cost] = suites[suite].length === 10 ? [0.825, 0.3] : [0.87, 0.24];
    return cacheRow(`requests of a check: ${suite}`, suites[suite], {
      "found in a cache": atLeast(hits),
      "cost beside own orders": atMost(cost),
    });
  }),
  ...[5, 20, 100].map((n) => cacheRow(`requests of a check: ${n} cases`, all(0.95, n), {})),
];

/** What an order does to the answers, alike for all cases: their common orders must not make the check err. */
const orderEffects = {
  "order effect 40, alike for all": models["order effect"](0.4),
  "order effect 40, each case its own": models["order effect"](0.4, true),
  "every order its own": models["every order its own"](),
  "head -30 in a third of the orders, else +15": models.interaction(1 / 3, -0.3, 0.15),
  "head -20 in half of the orders, else +20": models.interaction(1 / 2, -0.2, 0.2),
};
const sharing = Object.entries(orderEffects).flatMap(([what, model]) =>
  ["MIX5", "M_GOOD8", "M_FLAKY8", "M_MIX10", "mixed50", "mixed200"].flatMap((suite) =>
    ["nothing", "mean -10"].map((truth) =>
      checkRow({
        group: "shared orders",
        name: `${suite}: ${truth}, ${what}`,
        ...{ suite, truth, model, ...large(suite) },
        targets: truth === "nothing" ? { regressed: atMost(0.05) } : {},
      }),
    ),
  ),
);
/** The least that remains: no error shows what no order has shown. */
const killing = ["MIX5", "M_GOOD8", "M_FLAKY8", "M_MIX10", "mixed50", "mixed200"].map((suite) => {
  const share = 0.1 / (suites[suite].reduce((sum, rate) => sum + rate, 0) / suites[suite].length);
  return checkRow({
    group: "shared orders",
    name: `${suite}: head fails in one order of ${Math.round(1 / share)}`,
    ...{ suite, model: models["killing orders"](share), ...large(suite) },
  });
});

/** Suites of 8 to 3,000 cases. */
const bySize = ["nothing", "one case .95 -> .3", "one dead case", "all -20", "mean -10"].flatMap((truth) =>
  ["M_MIX10", "M_GOOD8", "M_FLAKY8", "mixed200", "mixed3000"].map((suite) =>
    checkRow({
      ...{ group: "suites of every size", suite, truth, ...large(suite) },
      targets:
        truth === "nothing"
          ? { regressed: atMost(0.05) }
          : truth === "mean -10"
            ? { "no regression": atMost(0.05) }
            : {},
    }),
  ),
);

const nullModels = {
  "order effect 20": models["order effect"](0.2),
  "order effect 40": models["order effect"](0.4),
  "drift in time": models["drift in time"](),
  "cache 20 %, ids seen": models["cache, ids seen"](0.2),
  "cache 50 %, ids seen": models["cache, ids seen"](0.5),
  "half of the failing missing": models.missing({ base: { fail: 0.5 }, head: { fail: 0.5 } }),
  "30 % of the passing missing": models.missing({ base: { pass: 0.3 }, head: { pass: 0.3 } }),
  "10 % missing": models.missing({ base: { pass: 0.1, fail: 0.1 }, head: { pass: 0.1, fail: 0.1 } }),
  "10 % missing, asked anew": models.missing(
    { base: { pass: 0.1, fail: 0.1 }, head: { pass: 0.1, fail: 0.1 } },
    "anew",
  ),
  "3 % of head missing": models.missing({ head: { pass: 0.03, fail: 0.03 } }),
  "20 % of head missing": models.missing({ head: { pass: 0.2, fail: 0.2 } }),
  "outage 3 %": models.outage(0.03),
  "outage 10 %": models.outage(0.1),
};
const quickNulls = ["order effect 40", "drift in time", "10 % missing"];

const nulls = [
  ...["MIX10", "MIX5", ...sizes.filter((size) => !size.startsWith("mixed200") && size !== "mixed3000")].map((suite) =>
    checkRow({ group: "nothing changed", suite, ...large(suite), targets: { regressed: atMost(0.05) } }),
  ),
  ...Object.entries(nullModels).flatMap(([modelName, model]) =>
    five.map((suite) =>
      checkRow({
        group: "nothing changed",
        name: `${suite}: ${modelName}`,
        suite,
        model,
        quick: quickNulls.includes(modelName) && suite === "M_FLAKY8",
        targets: { regressed: atMost(0.05) },
      }),
    ),
  ),
];

/** A model that always answers alike: known, or found out from its answers. */
const exhausted = [1, 2, 6, 24].flatMap((orders) =>
  ["M_MIX10", "M_GOOD8", "M_FLAKY8"].flatMap((suite) =>
    [
      ["same answers", "nothing", 0],
      ["10 % of the answers drawn anew", "nothing", 0.1],
      ["arms independent", "nothing", 1],
      ["dead", "one dead case", 1],
      ["all -20", "all -20", 1],
    ].flatMap(([what, truth, anew]) =>
      [true, false].map((alwaysAlike) =>
        checkRow({
          group: "a model that always answers alike",
          name: `${suite}: ${orders} orders, ${what}, ${alwaysAlike ? "known" : "not known"}`,
          suite,
          truth,
          model: models.deterministic(anew),
          options: { requests: () => orders, alwaysAlike },
          quick: orders === 6 && suite === "M_FLAKY8" && alwaysAlike,
          targets: truth === "nothing" && orders > 1 ? { regressed: atMost(0.05) } : {},
        }),
      ),
    ),
  ),
);

const attacks = {
  "head's failing answers missing": { head: { fail: 1 } },
  "half of head's failing answers missing": { head: { fail: 0.5 } },
  "half of the failing missing, both arms": { base: { fail: 0.5 }, head: { fail: 0.5 } },
  "all failing missing, both arms": { base: { fail: 1 }, head: { fail: 1 } },
  "10 % of base's passes and head's failing missing": { base: { pass: 0.1 }, head: { fail: 1 } },
};
const missing = ["all -20", "mean -10"].flatMap((truth) =>
  Object.entries(attacks).flatMap(([attack, shares]) =>
    [...five.slice(0, 4), "GOOD8"].flatMap((suite) =>
      ["same", "anew"].map((again) =>
        checkRow({
          group: "missing answers that hide a drop",
          name: `${suite}: ${truth}, ${attack}, asked again: ${again}`,
          suite,
          truth,
          model: models.missing(shares, again),
          quick: suite === "M_FLAKY8" && attack.startsWith("head's"),
          targets: { "no regression": atMost(0.05) },
        }),
      ),
    ),
  ),
);

const coverage = ["nothing", "one case .95 -> .3", "all -20", "mean -10", "mean -10 in few cases", "all +20"].flatMap(
  (truth) =>
    [...five, "GOOD8", "THREE", "mixed50"].map((suite) =>
      checkRow({
        group: "the interval after stopping",
        suite,
        truth,
        ...large(suite),
        quick: suite === "M_FLAKY8" && truth === "mean -10",
        targets: { covers: atLeast(0.94) },
      }),
    ),
);

const power = [
  ...["one case halved", "three cases -40", "mean -10 in few cases", "mean -10", "all +20"].flatMap((truth) =>
    [...five, "THREE", "ONE", "good50", "mixed50", "good200", "mixed200"].map((suite) =>
      checkRow({
        group: "power",
        suite,
        truth,
        ...large(suite),
        targets: dropOf(suites[suite], truths[truth](suites[suite])) >= 0.0999 ? { "no regression": atMost(0.05) } : {},
      }),
    ),
  ),
  ...["one case .95 -> .3", "one dead case", "all -20"].flatMap((truth) =>
    ["MIX10", "MIX5", "THREE", "ONE", "good50", "mixed50", "good200"].map((suite) =>
      checkRow({ group: "power", suite, truth, ...large(suite) }),
    ),
  ),
];

const caps = [3, 5, 8, 12, 25, 100].flatMap((trials) =>
  ["nothing", "one case .95 -> .3", "all -20", "mean -10"].flatMap((truth) =>
    ["M_MIX10", "M_GOOD8", "M_FLAKY8"].map((suite) =>
      checkRow({
        group: "caps",
        name: `${suite}: ${truth}, cap ${trials}`,
        suite,
        truth,
        options: { trials },
        targets:
          truth === "nothing"
            ? { regressed: atMost(0.05) }
            : truth === "mean -10"
              ? { "no regression": atMost(0.05) }
              : {},
      }),
    ),
  ),
);

/** What no rule can distinguish from one rewording, and a proxy that hides its repeats. */
const limits = [
  ...[0.05, 0.1].flatMap((correlation) =>
    [...five, "good50", "mixed50"].map((suite) =>
      checkRow({
        group: "limits",
        name: `${suite}: each case's rate moved, intraclass correlation ${correlation}`,
        suite,
        model: models.perturbed(correlation),
        ...large(suite),
      }),
    ),
  ),
  ...[0.2, 0.5].flatMap((share) =>
    five.map((suite) =>
      checkRow({
        group: "limits",
        name: `${suite}: a proxy repeats ${100 * share} % and hides it`,
        suite,
        model: models["cache, ids hidden"](share),
      }),
    ),
  ),
];

const others = Object.keys(peers).flatMap((rule) =>
  ["M_MIX10", "M_GOOD8", "M_FLAKY8"].flatMap((suite) => [
    ...[1, 3, 5, 10, 20].map((trials) => peerRow(rule, suite, "nothing", trials)),
    ...["one case .95 -> .3", "mean -10", "all -20"].map((truth) => peerRow(rule, suite, truth, 20)),
  ]),
);

/**
 * Advice of checks that end open: the pairs after which half of the runs settle, found by going on with the true rates, 100
 * continuations each, against what was advised. No target: the advice allows for what trials with the same order of tools
 * may have in common, and the continuations here have nothing in common, so that they settle in about half the trials.
 */
function adviceRow(suite, truth) {
  const base = suites[suite];
  const head = truths[truth](base);
  return {
    group: "advice",
    name: `${suite}: ${truth}`,
    targets: {},
    measures: { open: "share", "within a factor 2": "share", "advised / needed": "median" },
    quick: suite === "M_FLAKY8" && truth === "nothing",
    cost: 5,
    once(random, r) {
      const draw = (rate) => random.next() < rate;
      const answer = (id, arm) => (draw((arm === "head" ? head : base)[+id]) ? "pass" : "fail");
      const design = check({ cases: idsOf(base), seed: r, withReach: false });
      const { verdict, record } = simulate(design, answer);
      if (verdict.kind !== "inconclusive" || !verdict.advice) return { open: false };
      const start = idsOf(base).map((id) => {
        const [b, h] = ["base", "head"].map((arm) => record.answers(id, arm).slice(0, verdict.trials));
        return b.reduce(
          (sum, one, t) => ({
            down: sum.down + Number(one === "pass" && h[t] !== "pass"),
            up: sum.up + Number(h[t] === "pass" && one !== "pass"),
          }),
          { down: 0, up: 0 },
        );
      });
      const needed = [];
      for (let go = 0; go < 100; go++) {
        const pairs = start.map((one) => ({ ...one }));
        for (let more = 1; ; more++) {
          for (const [i, pair] of pairs.entries()) {
            const [b, h] = [draw(base[i]), draw(head[i])];
            if (b && !h) pair.down++;
            if (h && !b) pair.up++;
          }
          if (more >= 5000 || settles(pairs, verdict.trials + more, verdict)) {
            needed.push(more);
            break;
          }
          // Later settling is looked at on a grid of 2 %.
          for (let skip = Math.floor(more * 0.02); skip > 0; skip--, more++)
            for (const [i, pair] of pairs.entries()) {
              const [b, h] = [draw(base[i]), draw(head[i])];
              if (b && !h) pair.down++;
              if (h && !b) pair.up++;
            }
        }
      }
      needed.sort((a, b) => a - b);
      const half = needed[49];
      const ratio = verdict.advice.likely / half;
      return { open: true, "within a factor 2": ratio >= 0.5 && ratio <= 2, "advised / needed": ratio };
    },
  };
}

/** One look at so many pairs: the bound below the margin, or the drop two standard errors above 0. */
function settles(pairs, k, { margin, net }) {
  const n = pairs.length;
  let [drop, variance] = [0, 0];
  for (const { down, up } of pairs) {
    drop += (down - up) / k;
    variance += (down + up + 0.5) / ((k + 1) * k);
  }
  const se = Math.sqrt(variance) / n;
  return (margin - drop / n) / se > net.z || drop / n / se > 2;
}

const advice = ["M_FLAKY8", "MIX10", "MIX5", "FLAKY8", "THREE"].flatMap((suite) =>
  ["nothing", "mean -5", "mean -10"].map((truth) => adviceRow(suite, truth)),
);

/** What the reach promises against what is caught: the share of broken cases found at the loss that it prints. */
function reachRow(suite) {
  const base = suites[suite];
  return {
    group: "reach",
    name: `${suite}: a case loses what the reach of an unchanged run prints`,
    targets: { caught: atLeast(0.7) },
    measures: { caught: "share", "points printed": "median" },
    cost: 5,
    once(random, r) {
      const sample = (head) => (id, arm) => (random.next() < (arm === "head" ? head : base)[+id] ? "pass" : "fail");
      const { verdict } = simulate(check({ cases: idsOf(base), seed: r }), sample(base));
      const loss = verdict.reach ?? 100;
      const i = random.below(base.length);
      const head = base.with(i, Math.max(0, base[i] - loss / 100));
      const broken = simulate(check({ cases: idsOf(base), seed: r + 1, withReach: false }), sample(head)).verdict;
      // A case cannot lose more than it passes: those are no test of the promise.
      const isPossible = base[i] >= loss / 100;
      return { ...(isPossible && { caught: ["regressed", "changed"].includes(broken.kind) }), "points printed": loss };
    },
  };
}

export const checkRows = [
  ...mustReach,
  ...caching,
  ...sharing,
  ...killing,
  ...bySize,
  ...nulls,
  ...exhausted,
  ...missing,
  ...coverage,
  ...power,
  ...caps,
  ...advice,
  ...["M_MIX10", "M_GOOD8", "MIX10", "good50", "mixed50"].map(reachRow),
  ...limits,
  ...others,
];

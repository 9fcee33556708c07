// The check of base against head.
import { models } from "../models.mjs";
import { peers } from "../peers.mjs";
import { check, simulate } from "../product.mjs";
import { dropOf, idsOf, suites, truths } from "../suites.mjs";

const atMost = (limit) => ({ atMost: limit });
const atLeast = (limit) => ({ atLeast: limit });
const near = (figure, repetitions = 2000) => ({ near: figure, repetitions });

/** Plays one check. `options`: of the setup; `targets`: by measure. */
function checkRow({
  group,
  name,
  suite,
  truth = "nothing",
  model = models.independent(),
  options = {},
  targets = {},
  ...row
}) {
  const base = suites[suite];
  const head = truths[truth](base);
  const drop = dropOf(base, head);
  return {
    group,
    name: name ?? `${suite}: ${truth}`,
    targets,
    measures: { regressed: "share", changed: "share", "no regression": "share", calls: "mean", covers: "share" },
    ...row,
    once(random, r) {
      const answer = model((i, arm) => (arm === "head" ? head : base)[i], random);
      const design = check({ cases: idsOf(base), seed: r, withReach: false, ...options });
      const { verdict, calls } = simulate(design, answer);
      const { net } = verdict;
      return {
        regressed: verdict.kind === "regressed",
        changed: verdict.kind === "changed",
        "no regression": verdict.kind === "no-regression",
        calls: calls / base.length,
        covers: net !== null && net.interval[0] <= -drop && -drop <= net.interval[1],
      };
    },
  };
}

function peerRow(rule, suite, truth, trials) {
  const base = suites[suite];
  const head = truths[truth](base);
  const passes = (random, rates) =>
    rates.map((rate) => Array.from({ length: trials }, () => Number(random.next() < rate)).reduce((a, b) => a + b, 0));
  return {
    group: "others' rules",
    name: `${suite}: ${truth}, ${rule}, ${trials} trials`,
    targets: {},
    measures: { regressed: "share", calls: "mean" },
    once: (random) => ({
      regressed: peers[rule](passes(random, base), passes(random, head), trials),
      calls: 2 * trials,
    }),
  };
}

const five = ["M_MIX10", "M_GOOD8", "M_FLAKY8", "MIX10", "MIX5"];
const sizes = ["ONE", "THREE", "good50", "mixed50", "good200", "mixed200", "good3000", "mixed3000"];
const large = (suite) => ({ cost: suites[suite].length / 10, ...(suites[suite].length >= 3000 && { fewer: 4 }) });

/** What the check must reach: [false or found, NO REGRESSION, calls] as they were simulated. */
const reached = {
  nothing: {
    M_MIX10: [2.3, 96.1, 25.6],
    M_GOOD8: [0.8, 99.2, 18.6],
    M_FLAKY8: [3.1, 56.1, 42.4],
    mixed200: [0.4, 99.6, 12.9],
    mixed3000: [0.2, 99.8, 12.9],
  },
  "one case .95 -> .3": {
    M_MIX10: [99, undefined, 11.5],
    M_GOOD8: [99.8, undefined, 10.2],
    M_FLAKY8: [99.6, undefined, 15.5],
    mixed200: [97.5, undefined, 9],
    mixed3000: [95.5, undefined, 8.9],
  },
  "one dead case": {
    M_MIX10: [100, undefined, 8.2],
    M_GOOD8: [100, undefined, 7.9],
    M_FLAKY8: [100, undefined, 11.8],
    mixed200: [100, undefined, 8.2],
    mixed3000: [100, undefined, 8.1],
  },
  "all -20": {
    M_MIX10: [100, undefined, 21.3],
    M_GOOD8: [100, undefined, 18.3],
    M_FLAKY8: [99.2, undefined, 29.5],
    mixed200: [100, undefined, 10],
  },
  "mean -10": {
    M_MIX10: [undefined, 2.5],
    M_GOOD8: [undefined, 2.5],
    M_FLAKY8: [undefined, 3.9],
    mixed200: [undefined, 0.1],
  },
};

const mustReach = Object.entries(reached).flatMap(([truth, bySuite]) =>
  Object.entries(bySuite).map(([suite, [found, cleared, calls]]) =>
    checkRow({
      group: "what the check must reach",
      suite,
      truth,
      quick: suites[suite].length <= 10,
      ...large(suite),
      targets: {
        ...(found !== undefined && { regressed: near(found / 100, suite === "mixed3000" ? 200 : 2000) }),
        ...(cleared !== undefined && { "no regression": near(cleared / 100, suite === "mixed3000" ? 400 : 2000) }),
        ...(calls !== undefined && { calls: near(calls) }),
      },
    }),
  ),
);

const nullModels = {
  "order effect 20": models["order effect"](0.2),
  "order effect 40": models["order effect"](0.4),
  "every order its own": models["every order its own"](),
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
const quickNulls = ["order effect 40", "drift in time", "cache 50 %, ids seen", "10 % missing", "outage 10 %"];

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

/** A model that always answers alike: known, or found out by the probe. */
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
          name: `${suite}: ${orders} orders, ${what}, ${alwaysAlike ? "known" : "probed"}`,
          suite,
          truth,
          model: models.deterministic(orders, anew),
          options: { requests: () => orders, alwaysAlike },
          quick: orders === 6 && suite === "M_FLAKY8" && alwaysAlike,
          targets: truth === "nothing" ? { regressed: atMost(0.05) } : {},
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

const caps = [3, 5, 8, 12, 40, 100].flatMap((trials) =>
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

const depths = [8, 12].flatMap((depth) =>
  ["nothing", "one case .95 -> .3", "one case halved"].map((truth) =>
    checkRow({
      group: "depth",
      name: `mixed50: ${truth}, depth ${depth}`,
      suite: "mixed50",
      truth,
      options: { depth },
      cost: 5,
    }),
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
  ["M_MIX10", "M_GOOD8", "M_FLAKY8"].flatMap((suite) =>
    [1, 3, 5, 10, 20].map((trials) => peerRow(rule, suite, "nothing", trials)),
  ),
);

/**
 * Advice of checks that end open: the pairs after which half of the runs settle, found by going on with the true rates, 100
 * continuations each, against what was advised.
 */
function adviceRow(suite, truth) {
  const base = suites[suite];
  const head = truths[truth](base);
  return {
    group: "advice",
    name: `${suite}: ${truth}`,
    targets: { "within a factor 2": atLeast(0.8) },
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
  ...nulls,
  ...exhausted,
  ...missing,
  ...coverage,
  ...power,
  ...caps,
  ...depths,
  ...advice,
  ...["M_MIX10", "M_GOOD8", "MIX10", "good50", "mixed50"].map(reachRow),
  ...limits,
  ...others,
];

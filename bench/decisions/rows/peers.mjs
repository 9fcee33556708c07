// Rules by which teams decide today, with nothing changed between two runs of the same cases.
import { check, simulate } from "../product.mjs";
import { idsOf } from "../suites.mjs";

const group = "rules of other harnesses, nothing changed";
const repeat = (rates, n) => Array.from({ length: n }, (_, i) => rates[i % rates.length]);
const draw = (rates, random) => rates.map((rate) => random.next() < rate);
const mean = (passes) => passes.filter(Boolean).length / passes.length;

/** Nine cases of ten at .99, the tenth at what gives the mean. */
const withMean = (rate, n) => repeat([...Array(9).fill(0.99), 10 * rate - 9 * 0.99], n);

/** The mean of one trial a case must reach a threshold. */
function thresholdRow(rate) {
  const rates = withMean(rate, 115);
  return {
    group,
    name: `mean of 115 picks, one trial each, at least .93; true mean ${rate}`,
    targets: {},
    quick: rate === 0.95,
    measures: { red: "share" },
    once: (random) => ({ red: mean(draw(rates, random)) < 0.93 }),
  };
}

/** A prompt that fails is tried again; it is green when any attempt passes. */
function rerunRow(rate, prompts) {
  return {
    group,
    name: `up to 2 reruns, ${prompts === 1 ? "one prompt" : `${prompts} prompts, all green`}, true rate ${rate}`,
    targets: {},
    quick: rate === 0.5 && prompts === 1,
    measures: { green: "share" },
    once: (random) => ({
      green: Array.from({ length: prompts }, () => draw([rate, rate, rate], random).some(Boolean)).every(Boolean),
    }),
  };
}

/** 232 cases on two models, one trial each, an arrow where a score differs from that of the base commit. */
const arrowRates = repeat([...Array(17).fill(0.99), 0.9, 0.9, 0.6], 464);
const arrowRow = {
  group,
  name: "464 arrows between single runs",
  targets: {},
  quick: true,
  measures: { "arrows down": "mean", "any arrow down": "share" },
  once(random) {
    const [base, head] = [draw(arrowRates, random), draw(arrowRates, random)];
    const down = base.filter((passed, i) => passed && !head[i]).length;
    return { "arrows down": down, "any arrow down": down > 0 };
  },
};

/** The two-sided exact sign test on discordant pairs. */
function signTest(down, up) {
  const n = down + up;
  let [term, sum] = [0.5 ** n, 0];
  for (let k = 0; k <= Math.min(down, up); k++) {
    sum += term;
    term *= (n - k) / (k + 1);
  }
  return Math.min(1, 2 * sum);
}

/**
 * McNemar's test that counts each of three trials of a query as a pair. `alike`: the share of queries whose three answers
 * in an arm are one answer repeated (a cache, a temperature of 0): another wording then changes all three or none.
 */
function mcnemarRow(alike) {
  return {
    group,
    name: `McNemar on 30 queries x 3 trials as 90 pairs, answers repeat for ${100 * alike}% of the queries`,
    targets: {},
    quick: alike === 1,
    measures: { "adopted or refused": "share" },
    once(random) {
      let [down, up] = [0, 0];
      for (let query = 0; query < 30; query++) {
        const isAlike = random.next() < alike;
        const arm = () => (isAlike ? Array(3).fill(random.next() < 0.7) : draw([0.7, 0.7, 0.7], random));
        const [base, head] = [arm(), arm()];
        for (let trial = 0; trial < 3; trial++) {
          if (base[trial] && !head[trial]) down++;
          if (!base[trial] && head[trial]) up++;
        }
      }
      return { "adopted or refused": signTest(down, up) <= 0.05 };
    },
  };
}

/** The check of this project on the same cases. */
function checkRow(name, rates, fewer) {
  return {
    group,
    name: `evals run --check on ${name}`,
    cost: rates.length / 10,
    fewer,
    measures: { regressed: "share", "no regression": "share", calls: "mean" },
    targets: { regressed: { atMost: 0.05 } },
    once(random, r) {
      const design = check({ cases: idsOf(rates), seed: r, withReach: false });
      const { verdict, calls } = simulate(design, (id) => (random.next() < rates[+id] ? "pass" : "fail"));
      const { kind } = verdict;
      return {
        regressed: kind === "regressed",
        "no regression": kind === "no-regression",
        calls: calls / rates.length,
      };
    },
  };
}

export const peerRows = [
  ...[0.94, 0.95, 0.96, 0.97].map(thresholdRow),
  ...[0.5, 0.7, 0.9].map((rate) => rerunRow(rate, 1)),
  rerunRow(0.7, 39),
  arrowRow,
  ...[0, 0.5, 1].map(mcnemarRow),
  checkRow("the 115 picks of mean .95", withMean(0.95, 115), 20),
  checkRow("the 464 results of the arrows", arrowRates, 40),
];

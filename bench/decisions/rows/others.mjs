// Two finished records, several suites and models in one run, and recorded answers of real models.
import { readFileSync } from "node:fs";
import { models } from "../models.mjs";
import { check, compareRecords, simulate, TrialRecord } from "../product.mjs";
import { idsOf, suites, truths } from "../suites.mjs";

const measures = { regressed: "share", changed: "share", "no regression": "share", calls: "mean" };
const measure = (verdict, calls) => ({
  regressed: verdict.kind === "regressed",
  changed: verdict.kind === "changed",
  "no regression": verdict.kind === "no-regression",
  ...(calls !== undefined && { calls }),
});

function compareRow(suite, truth, trials, samePairs) {
  const base = suites[suite];
  const head = truths[truth](base);
  return {
    group: `two finished records, ${samePairs ? "the same" : "different"} orders`,
    name: `${suite}: ${truth}, ${trials} trials`,
    quick: suite === "M_FLAKY8" && trials === 10 && truth === "nothing",
    cost: base.length / 10,
    measures,
    targets: truth === "nothing" ? { regressed: { atMost: 0.05 } } : { "no regression": { atMost: 0.05 } },
    once(random, r) {
      const record = new TrialRecord();
      const answer = models.independent()((i, arm) => (arm === "head" ? head : base)[i], random);
      for (const id of idsOf(base))
        for (const arm of ["base", "head"])
          for (let trial = 1; trial <= trials; trial++) record.add(id, arm, trial, answer(id, arm, trial));
      return measure(compareRecords({ cases: idsOf(base), record, samePairs, seed: r, withReach: false }));
    },
  };
}

/**
 * A run of several suite-model pairs. `luck`: the share of trials whose luck the models of a suite have in common.
 * `isCorrected`: whether the levels are divided by the number of pairs.
 */
function familyRow(truth, suiteCount, modelCount, luck, isCorrected = true) {
  const names = ["M_MIX10", "M_GOOD8", "M_FLAKY8"];
  const pairs = suiteCount * modelCount;
  return {
    group: "several suites and models in one run",
    name: `${truth}, ${suiteCount} suites, ${modelCount} models, common luck ${luck}${isCorrected ? "" : ", each pair at 5 %"}`,
    cost: pairs,
    fewer: pairs >= 9 ? 4 : 2,
    quick: truth === "nothing" && suiteCount === 3 && modelCount === 3 && isCorrected && luck === 0,
    measures: { red: "share", "all green": "share", calls: "mean" },
    targets: truth === "nothing" && isCorrected ? { red: { atMost: 0.05 } } : {},
    once(random, r) {
      const verdicts = [];
      let [calls, cases] = [0, 0];
      for (let s = 0; s < suiteCount; s++) {
        const base = suites[names[s % names.length]];
        const common = new Map();
        for (let m = 0; m < modelCount; m++) {
          const isHit = s === 0 && (truth !== "one case of one suite, one model" || m === 0);
          const change =
            truth === "nothing" ? "nothing" : truth === "one suite -10, all models" ? "mean -10" : "one case .95 -> .3";
          const head = isHit ? truths[change](base) : base;
          const drawn = (id, arm, trial) => {
            if (luck === 0 || random.next() >= luck) return random.next();
            const key = `${id} ${arm} ${trial}`;
            if (!common.has(key)) common.set(key, random.next());
            return common.get(key);
          };
          const families = isCorrected ? pairs : 1;
          const design = check({ cases: idsOf(base), seed: r * 100 + s * 10 + m, withReach: false, families });
          const played = simulate(design, (id, arm, trial) =>
            drawn(id, arm, trial) < (arm === "head" ? head : base)[+id] ? "pass" : "fail",
          );
          verdicts.push(played.verdict.kind);
          calls += played.calls;
          cases += base.length;
        }
      }
      return {
        red: verdicts.some((kind) => kind === "regressed"),
        "all green": verdicts.every((kind) => kind === "no-regression"),
        calls: calls / cases,
      };
    },
  };
}

const load = (path) => JSON.parse(readFileSync(new URL(`../../data/${path}`, import.meta.url), "utf8"));

/** 50 tasks, four recorded trials each: every trial of either arm is one of the four. */
function airlineRow(truth) {
  const tasks = load("taubench/gpt4o_airline.json").tasks.map((trials) => [...trials].map(Number));
  const sure = tasks.findIndex((trials) => trials.every(Boolean));
  return {
    group: "recorded answers of real models",
    name: `gpt-4o, 50 airline tasks: ${truth}`,
    cost: 5,
    measures,
    targets: truth === "nothing changed" ? { regressed: { atMost: 0.05 } } : { regressed: { atLeast: 0.95 } },
    once(random, r) {
      const design = check({ cases: tasks.map((_, i) => String(i)), seed: r, withReach: false });
      const { verdict, calls } = simulate(design, (id, arm) => {
        if (truth === "a sure task is dead" && arm === "head" && +id === sure) return "fail";
        return tasks[+id][random.below(4)] ? "pass" : "fail";
      });
      return measure(verdict, calls / tasks.length);
    },
  };
}

/** The same tools written in another way: one answer a case, nothing to repeat. */
function documentationRows() {
  const { passes } = load("bfcl/tool_docs.json");
  return Object.entries(passes).flatMap(([model, byForm]) =>
    [
      ["json", "json"],
      ["json", "python"],
      ["json", "xml"],
      ["xml", "json"],
    ].map(([before, after]) => ({
      group: "recorded answers of real models",
      name: `${model}, 250 cases: tools as ${before} -> ${after}, one answer each`,
      fewer: 2000,
      measures: { ...measures, "passed before only": "mean", "passed now only": "mean" },
      targets: before === after ? { "no regression": { atLeast: 1 } } : {},
      once() {
        const cases = [...byForm[before]].map((_, i) => String(i));
        const design = check({ cases, seed: 1, requests: () => 1, alwaysAlike: true, withReach: false });
        const { verdict } = simulate(design, (id, arm) =>
          byForm[arm === "head" ? after : before][+id] === "1" ? "pass" : "fail",
        );
        const { down, up } = verdict.suite;
        return { ...measure(verdict, 2), "passed before only": down, "passed now only": up };
      },
    })),
  );
}

export const otherRows = [
  ...[true, false].flatMap((samePairs) =>
    ["M_MIX10", "M_GOOD8", "M_FLAKY8", "MIX5", "good50"].flatMap((suite) =>
      [5, 10, 20].flatMap((trials) =>
        ["nothing", "mean -10"].map((truth) => compareRow(suite, truth, trials, samePairs)),
      ),
    ),
  ),
  ...[
    [1, 3, 0],
    [3, 1, 0],
    [3, 3, 0],
    [3, 3, 0.5],
    [12, 1, 0],
    [12, 3, 0],
    [12, 3, 0.5],
  ].flatMap(([s, m, luck]) => [
    familyRow("nothing", s, m, luck),
    familyRow("one case of one suite, one model", s, m, luck),
    familyRow("one suite -10, all models", s, m, luck),
  ]),
  familyRow("nothing", 3, 3, 0, false),
  familyRow("nothing", 12, 3, 0, false),
  airlineRow("nothing changed"),
  airlineRow("a sure task is dead"),
  ...documentationRows(),
];

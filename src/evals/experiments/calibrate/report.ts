import { type Block, facts, heading, makeColumns, table, text } from "../../reports/document.ts";
import { count, money, percent, points, ratio, size } from "../../reports/format.ts";
import { madeText, modelLabel } from "../results/text.ts";
import { intervalPlot, intervalRow } from "../run/report/figures.ts";
import type { CalibrationSummary } from "./verdict.ts";

type Figures = NonNullable<CalibrationSummary["found"]>;

/** The report of `evals calibrate`: the noise floor in one line, then its consequences. */
export function calibrationDocument(summary: CalibrationSummary): Block[] {
  const { suite, model, note, found: figures, made, costUsd, dir, trials } = summary;
  const about = [
    suite,
    modelLabel({ model, note }),
    ...(figures ? [`${count(figures.cases.length, "case")}, ${count(trials, "trial")} in each of two equal arms`] : []),
  ];
  return [
    heading(1, headline(summary), figures ? undefined : "warn"),
    text(...leadLines(summary)),
    heading(2, about.join(" · ")),
    ...(figures ? [text(...evidence(figures, summary)), ...caseTable(figures)] : []),
    facts(["Trials", madeText({ ...made, costUsd })], ["Record", dir]),
  ];
}

function headline({ stopped, found, trials }: CalibrationSummary): string {
  if (stopped) return "STOPPED before there were enough trials to calibrate; those made are on the record";
  if (!found) return "NOT SCORED: nothing was scored in both arms";
  if (found.duplicates.oneTrialSuffices) return "DETERMINISTIC: one trial per case is enough";
  return `NOISE FLOOR ${size(found.noise.floor)} with ${count(trials, "trial")} per case`;
}

function leadLines({ found, stopped, run, trials, deterministic }: CalibrationSummary): string[] {
  if (stopped) return [`Next: finish it with \`evals calibrate --resume ${run}\`.`];
  if (!found) return ["Next: find out why trials broke with `evals report calibrate --as csv`, then run it again."];
  if (found.duplicates.oneTrialSuffices)
    return [
      `How sure: ${deterministic ? "certain" : "as far as these trials show"}. Every reply to a case called the same tool with the same arguments, whatever the order of the tools.`,
      "Next: ask each case once with `-n 1`.",
    ];
  const floor = size(found.noise.floor);
  const reachable = found.detect.find(({ kind }) => kind === "reachable");
  return [
    `How sure: equal tool lists differ by at most ${floor} in 95% of comparisons with ${count(trials, "trial")} per case.`,
    reachable?.kind === "reachable"
      ? `Next: compare with \`-n ${reachable.trials}\`, which detects a drop of ${size(reachable.drop)} in every case 8 times in 10.`
      : "Next: add cases; more trials of these would not detect a drop of 20 pp.",
  ];
}

function evidence(figures: Figures, { deterministic }: CalibrationSummary): string[] {
  const { noise, duplicates } = figures;
  if (duplicates.oneTrialSuffices)
    return [
      deterministic
        ? "A second trial adds no information, and any difference between two lists is real."
        : "If the model always does so, a second trial adds no information, and any difference between two lists is real.",
      noise.difference === 0 ? "" : "Yet the results of those calls differed, so the pass rates of the arms differ.",
    ];
  return [
    `Noise: the two equal lists differed by ${points(noise.difference)} here (mean over cases).`,
    correlation(figures),
    `Repeats: ${percent(duplicates.share)} of pairs of replies to one case called the same tools with the same arguments, so more than one trial per case is needed.`,
    ...power(figures),
  ];
}

function correlation({ correlation: found, level }: Figures): string {
  if (found.kind === "undefined") return `Correlation: unknown, because ${found.why}.`;
  const interval = found.iccInterval.map((end) => end.toFixed(2)).join(" to ");
  return `Correlation: trials of one case are correlated (intraclass correlation ${found.icc.toFixed(2)}, 95% CI ${interval}, from ${count(found.cases, "case")} that varied; 0 is independent). With that, a check would call this unchanged suite regressed in ${percent(level.correlated)} of runs, and with independent trials in ${percent(level.independent)}. It promises at most 5%.`;
}

function power({ detect }: Figures): string[] {
  return detect.map((one) => {
    const drop = `Power: a drop of ${size(one.drop)} in every case is detected`;
    const cost = one.costUsd === "unknown" ? "" : `; both arms cost about ${money(one.costUsd)}`;
    return one.kind === "reachable"
      ? `${drop} in ${percent(one.power)} of runs with ${count(one.trials, "trial")} per case and arm${cost}.`
      : `${drop} in only ${percent(one.power)} of runs even with ${count(one.most, "trial")} per case and arm${cost}. More cases help more than more trials.`;
  });
}

function caseTable({ cases, duplicates, noise }: Figures): Block[] {
  if (duplicates.oneTrialSuffices && noise.difference === 0) return [];
  const rate = ({ passed, trials }: { passed: number; trials: number }) => (trials === 0 ? 0 : passed / trials);
  const distance = ({ base, head }: Figures["cases"][number]) => Math.abs(rate(base) - rate(head));
  const sorted = cases.toSorted((a, b) => distance(b) - distance(a));
  const rows = sorted.map((one) => [one.case, ratio(one.base), ratio(one.head)]);
  const arms = ["first arm", "second arm"];

  return [
    table("case", makeColumns(["id", "case"], ["figure", ...arms]), rows, { max: 20 }),
    ...intervalPlot(
      "Pass rate by case in both arms, 95% CI",
      arms,
      sorted.map((one) => intervalRow(one.case, [one.base, one.head])),
    ),
  ];
}

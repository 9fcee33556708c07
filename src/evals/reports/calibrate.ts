import type { CalibrationSummary } from "../verdicts/calibrate.ts";
import { count, integer, money, percent, points } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Screen, screenFor, title } from "./screen.ts";
import { modelLabel } from "./view.ts";

type Counts = { passed: number; trials: number };
type Found = NonNullable<CalibrationSummary["found"]>;

const most = { cases: 20 } as const;

/** The report of `evals calibrate` for a person: how large chance is in one line, then what follows from it. */
export function calibrationReport(summary: CalibrationSummary, display: Display): string {
  const screen = screenFor(display);
  const { suite, model, note, found, made, costUsd, dir, trials } = summary;
  const about = [
    suite,
    modelLabel({ model, ...(note !== null && { note }) }),
    ...(found ? [`${count(found.cases.length, "case")} × ${count(trials, "trial")} in each of two equal arms`] : []),
  ];
  const facts = [
    `Trials: ${integer(made.trials)}${made.broken > 0 ? ` (${integer(made.broken)} broken, in no rate)` : ""} · cost ${money(costUsd)}`,
    `Record: ${dir}`,
  ];
  const findings =
    found === null ? [] : found.duplicates.oneTrialSuffices ? [same] : [noise, correlated, repeats, power];
  const blocks = [
    title(screen, headlineOf(summary), found ? "bold" : "yellow"),
    title(screen, about.join(" · ")),
    ...findings.map((finding) => (found ? finding(found, trials).flatMap((text) => screen.lines(text)) : [])),
    found ? casesBlock(found, screen) : [],
    facts.flatMap((fact) => screen.lines(fact, 0, 2)),
  ];
  const texts = blocks.filter((block) => block.length > 0).map((block) => block.join("\n"));
  return `${texts.join("\n\n")}\n`;
}

function headlineOf({ stopped, found, trials }: CalibrationSummary): string {
  if (stopped) return "STOPPED before there was enough to calibrate on; what was asked is on the record";
  if (!found) return "NOT SCORED: nothing was scored in both arms";
  if (found.duplicates.oneTrialSuffices) return "ALWAYS THE SAME: one trial a case suffices";
  return `NOISE FLOOR ${points(found.noise.floor, "")} points at ${count(trials, "trial")} a case`;
}

function same({ noise: { difference } }: Found): string[] {
  return [
    "Every reply to a case called the same tool with the same arguments, whatever the order of the tools. A second trial tells nothing new, and any difference between two lists is a difference.",
    ...(difference === 0 ? [] : ["Yet the results of those calls differed, so the arms do not pass alike."]),
  ];
}

function noise({ noise: { difference, floor } }: Found, trials: number): string[] {
  return [
    `Noise: two equal lists differ by up to ${points(floor, "")} points in 95 of 100 comparisons with ${count(trials, "trial")} a case (mean over cases). Here they differed by ${points(difference)}. A smaller difference than that says nothing.`,
  ];
}

function correlated({ correlation, level }: Found): string[] {
  if (correlation.kind === "undefined") return [`Correlation: not known, for ${correlation.why}.`];
  const { icc, iccInterval, cases } = correlation;
  const interval = iccInterval.map((end) => end.toFixed(2)).join(" to ");
  return [
    `Correlation: trials of one case hang together with ${icc.toFixed(2)} (intraclass, 95% interval ${interval}, from ${count(cases, "case")} that varied; 0 is independent). With that, \`--check thorough\` would call this suite regressed without any change in ${percent(level.correlated)} of runs; with independent trials in ${percent(level.independent)}. It promises at most 5%.`,
  ];
}

function repeats({ duplicates: { share } }: Found): string[] {
  return [
    `Repeats: ${percent(share)} of pairs of replies to one case called the same tools with the same arguments, so more than one trial a case is needed.`,
  ];
}

function power({ detect }: Found): string[] {
  return detect.map((one) => {
    const drop = `A drop of ${points(one.drop, "")} points in every case`;
    const cost = one.costUsd === "unknown" ? "" : `; both arms cost about ${money(one.costUsd)}`;
    return one.kind === "reachable"
      ? `${drop} is found in ${percent(one.power)} of runs with ${count(one.trials, "trial")} per case and arm${cost}.`
      : `${drop} is found in only ${percent(one.power)} of runs even with ${count(one.most, "trial")} per case and arm${cost}. More cases help more than more trials.`;
  });
}

function casesBlock({ cases, duplicates, noise: { difference } }: Found, screen: Screen): string[] {
  if (duplicates.oneTrialSuffices && difference === 0) return [];
  const passes = ({ passed, trials }: Counts) => `${integer(passed)}/${integer(trials)}`;
  const rate = ({ passed, trials }: Counts) => (trials === 0 ? 0 : passed / trials);
  const apart = cases.toSorted((a, b) => Math.abs(rate(b.base) - rate(b.head)) - Math.abs(rate(a.base) - rate(a.head)));
  const head = [{ head: "case" }, { head: "first arm", fixed: true }, { head: "second arm", fixed: true }];
  const rows = apart.slice(0, most.cases).map((one) => [one.case, passes(one.base), passes(one.head)]);
  return [
    ...screen.table(
      head,
      rows.map((row) => row.map((text) => ({ text }))),
    ),
    ...bounded(apart.slice(most.cases), 0, "case", 0, screen, () => []),
  ];
}

import { type OpinionCounts, opinions } from "../types/judge.ts";
import type { JudgeCheckSummary, JudgeMeasures } from "../verdicts/judge.ts";
import { count, integer, money, percent, range } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Screen, screenFor, title } from "./screen.ts";

type Share = JudgeMeasures["agreed"];

const most = { disagreements: 10, broken: 5 } as const;

/** One sentence on a judge, for the reports of the runs that it grades. */
export function judgeSentence(judge: string, { agreed, kappa, falsePasses }: JudgeMeasures): string {
  const beyond = kappa === null ? "kappa not defined" : `kappa ${kappa.value.toFixed(2)}`;
  const passes = count(falsePasses.n, "false pass", "false passes");
  return `judge ${judge}: agreed with people on ${integer(agreed.n)} of ${count(agreed.of, "label")} (${beyond}), ${passes}`;
}

/** The report of `evals judge check` for a person: how far the judge can be believed, then where it erred. */
export function judgeReport(summary: JudgeCheckSummary, display: Display): string {
  const screen = screenFor(display);
  const { judge, labels, prompt, agreed, costUsd, written } = summary;
  const measured = agreed.of > 0;
  const facts = [
    `Cost: ${money(costUsd)}`,
    written === null ? "No figure was written: that takes every label answered." : `Figure: ${written} (commit it)`,
  ];
  const blocks = [
    title(screen, headlineOf(summary), summary.exitCode === 0 ? "green" : measured ? "red" : "yellow"),
    title(screen, [judge, labels.file, count(labels.count, "label"), `prompt ${prompt}`].join(" · ")),
    measured ? countsTable(summary.counts, screen) : [],
    measured ? figures(summary).flatMap((line) => screen.lines(line)) : [],
    disagreementsBlock(summary, screen),
    brokenBlock(summary, screen),
    facts.flatMap((fact) => screen.lines(fact)),
  ];
  const texts = blocks.filter((block) => block.length > 0).map((block) => block.join("\n"));
  return `${texts.join("\n\n")}\n`;
}

function headlineOf({ agreed, kappa, stopped, minKappa, broken }: JudgeCheckSummary): string {
  if (agreed.of === 0) return stopped ? "STOPPED before a label was answered" : "NOT MEASURED: no label was answered";
  const told = `agrees with people on ${rateText(agreed, " labels")}, ${kappaText(kappa)}`;
  if (stopped) return `STOPPED: ${told}, of what was asked so far`;
  if (broken.length > 0) return `INCOMPLETE: ${told}; ${count(broken.length, "label")} broke`;
  const missed = minKappa !== null && (kappa === null || kappa.value < minKappa);
  return missed ? `BELOW kappa ${minKappa.toFixed(2)}: ${told}` : `MEASURED: ${told}`;
}

function kappaText(kappa: JudgeMeasures["kappa"]): string {
  if (kappa === null) return "kappa not defined (only one answer was ever given)";
  const value = `kappa ${kappa.value.toFixed(2)}`;
  if (kappa.interval === null) return `${value} (no interval: nothing was disagreed on)`;
  return `${value} (${kappa.interval.map((end) => end.toFixed(2)).join(" to ")})`;
}

/** `19 of 20 labels (95%, interval 76–99%)` */
function rateText({ n, of, interval }: Share, unit = ""): string {
  if (interval === null) return "0 of 0";
  return `${integer(n)} of ${integer(of)}${unit} (${percent(n / of)}, interval ${range(interval)})`;
}

function figures({ falsePasses, falseFails, cannotTell }: JudgeMeasures): string[] {
  return [
    `False passes (the judge says met, people not met): ${rateText(falsePasses)}`,
    `False fails (the judge says not met, people met): ${rateText(falseFails)}`,
    `The judge cannot tell: ${rateText(cannotTell)}`,
  ];
}

function countsTable(counts: OpinionCounts, screen: Screen): string[] {
  const head = ["people say", ...opinions.map((opinion) => `judge: ${opinion}`)].map((text) => ({
    head: text,
    fixed: true,
  }));
  const rows = opinions.map((human) => [human, ...opinions.map((judge) => integer(counts[human][judge]))]);
  return screen.table(
    head,
    rows.map((row) => row.map((text) => ({ text }))),
  );
}

function disagreementsBlock({ disagreements }: JudgeCheckSummary, screen: Screen): string[] {
  if (disagreements.length === 0) return [];
  return [
    ...title(screen, "Disagreements, the worst first"),
    ...bounded(disagreements, most.disagreements, "disagreement", 2, screen, (one) => [
      ...screen.lines(`${one.id}: people ${one.human}, judge ${one.judge}: ${one.criterion}`, 2, 4),
      ...(one.evidence === null ? [] : screen.lines(`it quoted: ${shortened(one.evidence)}`, 4, 6)),
      ...(one.why === null ? [] : screen.lines(one.why, 4, 6)),
    ]),
  ];
}

function brokenBlock({ broken }: JudgeCheckSummary, screen: Screen): string[] {
  if (broken.length === 0) return [];
  return [
    ...title(screen, "Broken, in no rate"),
    ...bounded(broken, most.broken, "broken label", 2, screen, ({ id, why }) => screen.lines(`${id}: ${why}`, 2, 4)),
  ];
}

function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}

import { sumOf } from "../../base/sum.ts";
import {
  type Block,
  facts,
  heading,
  list,
  makeColumns,
  section,
  type Tone,
  table,
  text,
} from "../../reports/document.ts";
import {
  count,
  integer,
  percent,
  pointsWithInterval,
  probability,
  rateWithInterval,
  ratio,
  ratioWithInterval,
  tally,
} from "../../reports/format.ts";
import { madeText, modelLabel } from "../results/text.ts";
import { curve } from "../run/report/figures.ts";
import type { CrowdPoint, CrowdSummary } from "./crowdVerdict.ts";

const tones: Readonly<Record<CrowdSummary["kind"], Tone>> = {
  fell: "bad",
  "no fall shown": "good",
  "not scored": "warn",
  stopped: "warn",
};

/** The report of `evals crowd`: accuracy at the smallest and the largest size in one line, then the curve. */
export function crowdDocument(summary: CrowdSummary): Block[] {
  const { suite, model, note, cases, points, falls, costUsd, dir, kind } = summary;
  const noun = readNoun(summary);
  const broken = sumOf(points, (one) => one.broken);
  const trials = sumOf(points, (one) => one.trials) + broken;
  const [first, last] = [points[0]?.size ?? 0, points.at(-1)?.size ?? 0];
  return [
    heading(1, headline(summary), tones[kind]),
    text(certainty(summary), nextStep(summary, noun)),
    ...section([suite, modelLabel({ model, note }), count(cases, "case")].join(" · "), [
      curveTable(points, noun),
      ...drawCurve(points, noun),
    ]),
    ...section(`Cases that fell most, ${integer(first)} -> ${integer(last)} ${noun}s`, [
      list(
        "case",
        falls.map(({ case: id, alone, crowded, picked }) => [
          ...[{ code: id }, `: ${ratio(alone)} -> ${ratio(crowded)}; picked `],
          ...picked.slice(0, 3).flatMap(({ tool, n }, at) => [at === 0 ? "" : ", ", { code: tool }, ` ${integer(n)}`]),
        ]),
      ),
    ]),
    facts(["Trials", madeText({ trials, broken, costUsd })], ["Record", dir]),
  ];
}

/** What a size counts. */
const readNoun = ({ servers }: CrowdSummary) => (servers ? "other server" : "foreign tool");

function certainty({ kind, points: curve }: CrowdSummary): string | undefined {
  const change = curve.at(-1)?.change;
  if (!change || kind === "stopped" || kind === "not scored") return undefined;
  return change.interval === null
    ? "How sure: certain, since the model is deterministic."
    : `How sure: the change is ${pointsWithInterval(change.change, change.interval)}; a fall is named at p < .05, corrected for all sizes.`;
}

function nextStep({ kind, run }: CrowdSummary, noun: string): string {
  const theirs = noun === "foreign tool" ? "foreign tools" : "tools of other servers";
  return {
    fell: `Next: see which ${theirs} are picked instead (below), and describe how your tools differ from them.`,
    "no fall shown": "Next: try more of them with `--sizes`, or ones that are more like your own.",
    "not scored": "Next: find out why trials broke with `evals report crowd --as csv`, then run it again.",
    stopped: `Next: finish it with \`evals crowd --resume ${run}\`.`,
  }[kind];
}

function headline(summary: CrowdSummary): string {
  const { kind, points: curve } = summary;
  const [first, last] = [curve[0], curve.at(-1)];
  if (kind === "not scored" || !first || !last) return "NOT SCORED: every trial broke or could not be graded";
  const rates = `${rate(first)} correct with ${integer(first.size)} ${readNoun(summary)}s, ${rate(last)} with ${integer(last.size)}`;
  if (kind === "stopped") return `STOPPED: ${rates}, of the trials made so far`;
  return `${kind === "fell" ? "ACCURACY FALLS" : "NO FALL SHOWN"}: ${rates}`;
}

function rate({ passed, trials }: CrowdPoint): string {
  return trials === 0 ? "none scored" : percent(passed / trials);
}

function drawCurve(points: readonly CrowdPoint[], noun: string): Block[] {
  const drawn = points.flatMap((one) => {
    if (one.interval === null) return [];
    const text = `${count(one.size, noun)}: ${ratioWithInterval(one, one.interval)}`;
    return [{ x: one.size, rate: one.passed / one.trials, interval: one.interval, text }];
  });
  return curve(`Correct by number of ${noun}s, 95% CI`, {
    x: "number",
    label: `${noun}s`,
    series: [{ name: "correct", points: drawn }],
  });
}

function curveTable(curve: readonly CrowdPoint[], noun: string): Block {
  const tested = curve.some(({ adjusted }) => adjusted !== null);
  const figures = [`${noun}s`, "correct (95% CI)", "change (95% CI)", ...(tested ? ["p (Holm)"] : [])];
  const rows = curve.map((one) => [
    integer(one.size),
    one.interval ? rateWithInterval(one, one.interval) : "not scored",
    one.change ? pointsWithInterval(one.change.change, one.change.interval).replace("95% CI ", "") : "-",
    ...(tested ? [one.adjusted === null ? "-" : probability(one.adjusted)] : []),
    { lines: tally(one.instead) },
  ]);
  const columns = makeColumns(["figure", ...figures], ["prose", "picked instead"]);
  return table("size", columns, rows, { max: 100 });
}

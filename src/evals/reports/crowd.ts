import type { CrowdPoint, CrowdSummary } from "../verdicts/crowd.ts";
import { type Block, heading, makeRows, section, type Tone, text } from "./document.ts";
import { curve, pointText } from "./figures.ts";
import {
  count,
  integer,
  money,
  percent,
  pointsWithInterval,
  probability,
  rateWithInterval,
  ratio,
  tally,
} from "./format.ts";
import { modelLabel } from "./runText.ts";

const tones: Readonly<Record<CrowdSummary["kind"], Tone>> = {
  ...{ fell: "bad", "no fall shown": "good", "not scored": "warn", stopped: "warn" },
};

/** The report of `evals crowd`: the loss of accuracy with the most foreign tools in one line, then the curve. */
export function crowdDocument(summary: CrowdSummary): Block[] {
  const { suite, model, note, cases, points, falls, costUsd, dir, kind } = summary;
  const broken = points.reduce((sum, one) => sum + one.broken, 0);
  const trials = points.reduce((sum, one) => sum + one.trials, 0) + broken;
  const [first, last] = [points[0]?.size ?? 0, points.at(-1)?.size ?? 0];
  return [
    heading(1, headline(summary), tones[kind]),
    text(nextSteps[kind]),
    ...section([suite, modelLabel({ model, note }), count(cases, "case")].join(" · "), [
      curveTable(points),
      ...drawCurve(points),
    ]),
    ...section(`Cases that fell most, ${integer(first)} -> ${integer(last)} foreign tools`, [
      {
        kind: "list",
        items: falls.map(({ case: id, alone, crowded, picked }) => [
          ...[{ code: id }, `: ${ratio(alone)} -> ${ratio(crowded)}; picked `],
          ...picked.slice(0, 3).flatMap(({ tool, n }, at) => [at === 0 ? "" : ", ", { code: tool }, ` ${integer(n)}`]),
        ]),
        noun: "case",
      },
    ]),
    {
      kind: "facts",
      facts: [
        [
          "Trials",
          `${integer(trials)}${broken > 0 ? ` (${integer(broken)} broken, excluded from rates)` : ""} · cost ${money(costUsd)}`,
        ],
        ["Record", dir],
      ],
    },
  ];
}

const nextSteps: Partial<Record<CrowdSummary["kind"], string>> = {
  fell: "Next: see which foreign tools are picked instead (below), and describe how your tools differ from them.",
};

/** One line: the rate without foreign tools and with them. */
function headline({ kind, points: curve }: CrowdSummary): string {
  const [first, last] = [curve[0], curve.at(-1)];
  if (kind === "not scored" || !first || !last) return "NOT SCORED: every trial broke or could not be graded";
  const rates = `${rate(first)} correct with ${integer(first.size)} foreign tools, ${rate(last)} with ${integer(last.size)}`;
  if (kind === "stopped") return `STOPPED: ${rates}, of the trials made so far`;
  return `${kind === "fell" ? "ACCURACY FALLS" : "NO FALL SHOWN"}: ${rates}`;
}

function rate({ passed, trials }: CrowdPoint): string {
  return trials === 0 ? "none scored" : percent(passed / trials);
}

function drawCurve(points: readonly CrowdPoint[]): Block[] {
  const drawn = points.flatMap((one) => {
    if (one.interval === null) return [];
    const text = `${count(one.size, "foreign tool")}: ${pointText(one)}`;
    return [{ x: one.size, rate: one.passed / one.trials, interval: one.interval, text }];
  });
  return curve("Correct by number of foreign tools, 95% CI", {
    x: "number",
    label: "foreign tools",
    series: [{ name: "correct", points: drawn }],
  });
}

function curveTable(curve: readonly CrowdPoint[]): Block {
  const tested = curve.some(({ adjusted }) => adjusted !== null);
  const figures = ["foreign tools", "correct (95% CI)", "change (95% CI)", ...(tested ? ["p (Holm)"] : [])];
  const rows = curve.map((one) => [
    integer(one.size),
    one.interval ? rateWithInterval(one, one.interval) : "not scored",
    one.change ? pointsWithInterval(one.change.change, one.change.interval).replace("95% CI ", "") : "-",
    ...(tested ? [one.adjusted === null ? "-" : probability(one.adjusted)] : []),
    { lines: tally(one.instead) },
  ]);
  const columns = [...figures.map((head) => ({ head, kind: "figure" as const })), { head: "picked instead" }];
  return { kind: "table", columns, rows: makeRows(rows), most: 100, noun: "size" };
}

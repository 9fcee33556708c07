import type { CrowdPoint, CrowdSummary } from "../verdicts/crowd.ts";
import { count, integer, money, percent, points, probability, range, ranked } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Screen, screenFor, title, tonePaint } from "./screen.ts";
import type { Cell, Column } from "./table.ts";
import { modelLabel, type Tone } from "./view.ts";

type Counts = { passed: number; trials: number };

const most = { falls: 12, picked: 3 } as const;
const kindTone: Readonly<Record<CrowdSummary["kind"], Tone>> = {
  fell: "bad",
  "no fall shown": "good",
  "not scored": "warn",
  stopped: "warn",
};

/** The report of `evals crowd` for a person: what the largest crowd does in one line, then the curve. */
export function crowdReport(summary: CrowdSummary, display: Display): string {
  const screen = screenFor(display);
  const { suite, model, note, cases, points: curve, costUsd, dir } = summary;
  const about = [suite, modelLabel({ model, ...(note !== null && { note }) }), count(cases, "case")];
  const broken = curve.reduce((sum, one) => sum + one.broken, 0);
  const trials = curve.reduce((sum, one) => sum + one.trials, 0) + broken;
  const facts = [
    `Trials: ${integer(trials)}${broken > 0 ? ` (${integer(broken)} broken, in no rate)` : ""} · cost ${money(costUsd)}`,
    `Record: ${dir}`,
  ];
  const blocks = [
    title(screen, headlineOf(summary), tonePaint[kindTone[summary.kind]]),
    [...title(screen, about.join(" · ")), ...curveTable(curve, screen)],
    fallsBlock(summary, screen),
    facts.flatMap((fact) => screen.lines(fact, 0, 2)),
  ];
  const texts = blocks.filter((block) => block.length > 0).map((block) => block.join("\n"));
  return `${texts.join("\n\n")}\n`;
}

/** One line: the rate without the crowd and with it. */
function headlineOf({ kind, points: curve }: CrowdSummary): string {
  const first = curve[0];
  const last = curve.at(-1);
  if (kind === "not scored" || !first || !last) return "NOT SCORED: every trial broke or could not be graded";
  const told = `${share(first)} right with ${integer(first.size)} foreign tools, ${share(last)} with ${integer(last.size)}`;
  if (kind === "stopped") return `STOPPED: ${told}, of what was asked so far`;
  return `${kind === "fell" ? "SELECTION FALLS" : "NO FALL SHOWN"}: ${told}`;
}

function share({ passed, trials }: Counts): string {
  return trials === 0 ? "none scored" : percent(passed / trials);
}

function curveTable(curve: readonly CrowdPoint[], screen: Screen): string[] {
  const tested = curve.some(({ adjusted }) => adjusted !== null);
  const head: Column[] = [
    { head: "foreign tools", fixed: true },
    { head: "right (95%)", fixed: true },
    { head: "change in points", fixed: true },
    ...(tested ? [{ head: "p (Holm)", fixed: true }] : []),
    { head: "picked instead", joins: true },
  ];
  const rows = curve.map((one): Cell[] => [
    { text: integer(one.size) },
    { text: rateText(one) },
    { text: changeText(one) },
    ...(tested ? [{ text: one.adjusted === null ? "–" : probability(one.adjusted) }] : []),
    { text: ranked(one.instead).map(([what, n]) => `${what} ${integer(n)}`) },
  ]);
  return screen.table(head, rows);
}

/** `19/20 95% (76–99%)` */
function rateText({ passed, trials, interval }: CrowdPoint): string {
  if (interval === null) return "not scored";
  return `${integer(passed)}/${integer(trials)} ${percent(passed / trials)} (${range(interval)})`;
}

function changeText({ change }: CrowdPoint): string {
  if (change === null) return "–";
  const { interval } = change;
  return interval === null
    ? points(change.change)
    : `${points(change.change)} (${interval.map((end) => points(end)).join(" to ")})`;
}

function fallsBlock({ points: curve, falls }: CrowdSummary, screen: Screen): string[] {
  if (falls.length === 0) return [];
  const passes = ({ passed, trials }: Counts) => `${integer(passed)}/${integer(trials)}`;
  return [
    ...title(
      screen,
      `Cases that fell most, ${integer(curve[0]?.size ?? 0)} → ${integer(curve.at(-1)?.size ?? 0)} foreign tools`,
    ),
    ...bounded(falls, most.falls, "case", 2, screen, ({ case: id, alone, crowded, picked }) => {
      const tools = picked.slice(0, most.picked).map(({ tool, n }) => `${tool} ${integer(n)}`);
      return screen.lines(`${id}: ${passes(alone)} → ${passes(crowded)}; picked ${tools.join(", ")}`, 2, 4);
    }),
  ];
}

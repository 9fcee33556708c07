import type { CSSProperties } from "preact";
import { sumOf } from "../base/collections.ts";
import { plain } from "../base/text/display.ts";
import type { Trial } from "../base/types/trial.ts";
import { stateMark } from "../experiments/results/text.ts";
import type { ArmCounts, PageCase } from "../experiments/run/report/page.ts";
import { duration, integer, percent, ratio } from "../reports/format.ts";
import { MarkView } from "./blocks.tsx";
import { readResult, readSelection, type Shown, tokensIn, toneOf } from "./trials.ts";

/** A row of the list: a case, or one of its trials. */
export type Row = { key: string; one: Shown; trial?: Trial };

/** The height of a row in pixels, from which the virtual list is laid out. */
export function rowHeight(row: Row, isNarrow: boolean): number {
  return row.trial ? (isNarrow ? 52 : 34) : isNarrow ? 68 : 54;
}

type Common = {
  id: string;
  style: CSSProperties;
  "aria-rowindex": number;
  "aria-selected": boolean;
  onClick(): void;
};

type Rate = Pick<ArmCounts, "passed" | "trials">;

/**
 * The rate of a case, and the one to compare it with: the baseline's, or the first of two arms. Any other arms are
 * added up.
 */
function findRates({ arms }: PageCase): { main?: Rate; before?: Rate } {
  const head = arms.find(({ arm }) => arm === "head");
  const [first, last] = [arms[0], arms.at(-1)];
  if (!first || !last) return {};
  const base = arms.find(({ arm }) => arm === "base");
  if (head) return { main: head, ...(base && { before: base }) };
  if (arms.length === 1) return { main: first };
  if (arms.length === 2) return { main: last, before: first };
  const sum = (key: keyof Rate) => sumOf(arms, (one) => one[key]);
  return { main: { passed: sum("passed"), trials: sum("trials") } };
}

/** `2/5 40%`, or `2/5 → 1/5` with a rate to compare with. */
function rateText({ main, before }: ReturnType<typeof findRates>): string {
  if (!main) return "no trial";
  if (before) return `${ratio(before)} → ${ratio(main)}`;
  return main.trials === 0 ? "none graded" : `${ratio(main)} ${percent(main.passed / main.trials)}`;
}

/** `model`: of the case, where there are several. */
type CaseProps = { common: Common; one: Shown; isUnfolded: boolean; model: string | undefined };

export function CaseRow({ common, one, isUnfolded, model }: CaseProps) {
  const { case: given, trials } = one;
  const rates = findRates(given);
  const { main } = rates;
  // Trials with the baseline's tools do not count for the case.
  const judged = trials.filter(({ cell }) => cell.arm === "head");
  const failed = (judged.length > 0 ? judged : trials).filter((trial) => readResult(trial) !== "passed");
  const outcomes = [...new Set(failed.map(readSelection))];
  const isRed = given.state !== undefined ? given.state !== "passed" : failed.length > 0;
  return (
    <div
      {...common}
      role="row"
      class={`row case ${isRed ? "red" : ""}`}
      aria-level={1}
      aria-expanded={isUnfolded}
      tabIndex={-1}
    >
      <span role="gridcell" class="twisty">
        <span aria-hidden="true">{trials.length === 0 ? "" : isUnfolded ? "▾" : "▸"}</span>
        <MarkView mark={given.state ? stateMark[given.state] : isRed ? "bad" : "good"} />
      </span>
      <span role="gridcell" class="name">
        <code>{plain(given.id)}</code>
        <small dir="auto">{plain(given.input.slice(0, 200))}</small>
      </span>
      <span role="gridcell" class="expected" aria-label={`expects ${plain(given.expected)}`}>
        → <code>{plain(given.expected)}</code>
      </span>
      <span role="gridcell" class="rate">
        <strong class={isRed ? "bad" : "good"}>{rateText(rates)}</strong>
        <Meter
          rate={main && main.trials > 0 ? main.passed / main.trials : undefined}
          needed={given.passRate}
          isRed={isRed}
        />
      </span>
      <span role="gridcell" class="outcomes">
        <span>{plain(outcomes.length > 0 ? outcomes.join(", ") : isRed ? (given.state ?? "") : "")}</span>
        {model !== undefined && <small>{plain(model)}</small>}
      </span>
    </div>
  );
}

function Meter({ rate, needed, isRed }: { rate: number | undefined; needed: number | undefined; isRed: boolean }) {
  if (rate === undefined) return null;
  return (
    <svg class={`meter ${isRed ? "bad" : "good"}`} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="6" rx="1" />
      <rect class="fill" width={rate * 100} height="6" rx="1" />
      {needed !== undefined && <rect class="tick" x={Math.min(99, needed * 100 - 0.5)} width="1" height="6" />}
    </svg>
  );
}

export function TrialRow({ common, trial }: { common: Common; trial: Trial }) {
  const { arm, trial: number, attempt } = trial.cell;
  const tokens = sumOf(trial.turns, ({ usage }) => tokensIn(usage) + usage.outputTokens);
  return (
    <div {...common} role="row" class="row trial" aria-level={2} tabIndex={-1}>
      <span role="gridcell" class="twisty">
        <MarkView mark={stateMark[readResult(trial)]} />
      </span>
      <span role="gridcell" class="name">
        {`Trial ${number}${attempt ? `, attempt ${attempt}` : ""}`}
        {arm !== "head" && <small> {plain(arm)}</small>}
      </span>
      <span role="gridcell" class={`outcome ${toneOf(trial)}`}>
        {plain(readSelection(trial))}
      </span>
      <span role="gridcell" class="picked">
        <code>{plain(trial.verdict?.picked ?? "")}</code>
      </span>
      <span role="gridcell" class="n">
        {tokens > 0 ? `${integer(tokens)} tokens` : ""}
      </span>
      <span role="gridcell" class="n">
        {duration(trial.ms)}
      </span>
    </div>
  );
}

/** `19/20 passed (95%); 1 broken`, for the pane of a case. */
export function describeArm({ arm, passed, trials, broken, notGradable }: ArmCounts): string {
  const lost = [
    broken > 0 ? `${integer(broken)} broken` : "",
    notGradable > 0 ? `${integer(notGradable)} not gradable` : "",
  ].filter((part) => part !== "");
  const counts = trials === 0 ? "no graded trial" : `${ratio({ passed, trials })} passed (${percent(passed / trials)})`;
  return `${arm === "head" ? "" : `${arm}: `}${counts}${lost.length > 0 ? `; ${lost.join(", ")}` : ""}`;
}

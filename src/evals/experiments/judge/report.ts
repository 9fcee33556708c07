import { opinions } from "../../asking/scoring/judge.ts";
import {
  type Block,
  facts,
  heading,
  type Item,
  list,
  makeColumns,
  section,
  table,
  text,
} from "../../reports/document.ts";
import { count, integer, money, percent, range } from "../../reports/format.ts";
import type { JudgeMeasures } from "../results/judgeMeasures.ts";
import type { JudgeCheckSummary } from "./verdict.ts";

type Share = JudgeMeasures["agreed"];

/** The report of `evals judge check`: how well the judge agrees with people, then where it erred. */
export function judgeDocument(summary: JudgeCheckSummary): Block[] {
  const { judge, labels, prompt, agreed, costUsd, written, exitCode, counts } = summary;
  const isMeasured = agreed.of > 0;
  const rows = opinions.map((human) => [human, ...opinions.map((opinion) => integer(counts[human][opinion]))]);
  const columns = makeColumns(["figure", "people say", ...opinions.map((opinion) => `judge: ${opinion}`)]);
  const about = [judge, labels.file, count(labels.count, "label"), `prompt ${prompt}`].join(" · ");
  return [
    heading(1, headline(summary), exitCode === 0 ? "good" : isMeasured ? "bad" : "warn"),
    text(
      written === null
        ? `No figure was written${summary.broken.length > 0 ? ", because not every label was answered" : ""}.`
        : ["Next: commit the figure ", { code: written }, ", which reports of judged runs quote."],
    ),
    heading(2, about),
    ...(isMeasured ? [table("row", columns, rows), errorRates(summary)] : []),
    ...disagreements(summary),
    ...section("Broken (excluded from rates)", [
      list(
        "broken label",
        summary.broken.map(({ id, why }) => [{ code: id }, ": ", { code: why, max: 300 }]),
        5,
      ),
    ]),
    facts(["Cost", money(costUsd)]),
  ];
}

function headline({ agreed, kappa, stopped, minKappa, broken }: JudgeCheckSummary): string {
  if (agreed.of === 0) return stopped ? "STOPPED before a label was answered" : "NOT MEASURED: no label was answered";
  const agreement = `agrees with people on ${rateText(agreed, " labels")}, ${kappaText(kappa)}`;
  if (stopped) return `STOPPED: ${agreement}, of the labels answered so far`;
  if (broken.length > 0) return `INCOMPLETE: ${agreement}; ${count(broken.length, "label")} broke`;
  const isBelow = minKappa !== null && (kappa === null || kappa.value < minKappa);
  return isBelow ? `BELOW kappa ${minKappa.toFixed(2)}: ${agreement}` : `MEASURED: ${agreement}`;
}

function kappaText(kappa: JudgeMeasures["kappa"]): string {
  if (kappa === null) return "kappa not defined (only one answer was ever given)";
  const value = `kappa ${kappa.value.toFixed(2)}`;
  if (kappa.interval === null) return `${value} (no CI: no disagreement)`;
  return `${value} (95% CI ${kappa.interval.map((end) => end.toFixed(2)).join(" to ")})`;
}

/** `19 of 20 labels (95%, 95% CI 76-99%)` */
function rateText({ n, of, interval }: Share, unit = ""): string {
  if (interval === null) return "0 of 0";
  return `${integer(n)} of ${integer(of)}${unit} (${percent(n / of)}, 95% CI ${range(interval)})`;
}

function errorRates({ falsePasses, falseFails, cannotTell }: JudgeMeasures): Block {
  return facts(
    ["False passes (judge: met, people: not met)", rateText(falsePasses)],
    ["False fails (judge: not met, people: met)", rateText(falseFails)],
    ["Judge undecided", rateText(cannotTell)],
  );
}

function disagreements({ disagreements: all }: JudgeCheckSummary): Block[] {
  const items = all.map(({ id, human, judge, criterion, evidence, why }): Item => {
    return {
      text: [{ code: id }, `: people ${human}, judge ${judge}: `, { code: criterion, max: 300 }],
      items: [
        ...(evidence === null ? [] : [["Quoted: ", { code: evidence, max: 300 }]]),
        ...(why === null ? [] : [{ code: why, max: 300 }]),
      ],
    };
  });
  return section("Disagreements, worst first", [list("disagreement", items, 10)]);
}

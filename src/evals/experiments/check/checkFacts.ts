import { sumOf } from "../../base/sum.ts";
import type { ComparedCheck } from "../../base/types/check.ts";
import { type Block, details, facts, knownFacts } from "../../reports/document.ts";
import { count, integer, level, points, pValue, share } from "../../reports/format.ts";
import { isExhausted } from "./checkText.ts";

/** The statistics of a check under their textbook names, and its trials. */
export function checkFacts(check: ComparedCheck): [string, string][] {
  const { suite, families, reach, method, calls, missing } = check;
  const exhausted = isExhausted(check);
  return knownFacts([
    ["Decided", decisionText(check)],
    ["Sign test of the suite", exhausted || !suite ? undefined : signTest(suite, method)],
    ["Reach", check.kind === "inconclusive" && check.because !== "stopped" ? reachText(reach) : undefined],
    [
      "Error rate",
      families > 1
        ? `5% for the whole run, shared by ${count(families, "check")} (${Number((5 / families).toPrecision(2))}% each)`
        : undefined,
    ],
    ["Missing answers", missing ? missingText(missing) : undefined],
    ["Baseline's tools", bankText(check)],
    ["Trials of the check", callsText(calls, method)],
    ["Repeated requests", repeatedText(check)],
  ]);
}

function decisionText({ kind, by, because, method, look, looks, trials, cap }: ComparedCheck): string | undefined {
  if (method !== "pairs" || because === "stopped") return undefined;
  return `${decidingTest(kind, by)}at look ${look} of ${looks}, ${count(trials, "trial")} per case and list (cap ${cap})`;
}

function decidingTest(kind: ComparedCheck["kind"], by: ComparedCheck["by"]): string {
  if (by === "cases" || kind === "changed") return "by Fisher's exact test of each case, ";
  if (by === "suite") return "by the sign test, ";
  return kind === "no-regression" ? "by the interval of the net change, " : "";
}

function signTest({ down, up, p, level: alpha }: NonNullable<ComparedCheck["suite"]>, method: string): string {
  const limit = `${pValue(p)} against ${level(Number(alpha.toPrecision(2)))}`;
  if (down === null || up === null) return `${limit} (Cochran-Mantel-Haenszel: the records share no tool orders)`;
  const pairs = method === "pairs" ? "" : " of the two records";
  return `${count(down, "pair")}${pairs} worse, ${integer(up)} better: ${limit}`;
}

function reachText(reach: number | null): string {
  if (reach === null) return "not even a case that lost everything would have been caught 8 times in 10";
  return `a case that lost ${reach} points would have been caught 8 times in 10`;
}

function missingText({ base, head, recovered, worst, best }: NonNullable<ComparedCheck["missing"]>): string {
  const again = recovered.base + recovered.head;
  const came = again > 0 ? `; ${integer(again)} came when asked again` : "";
  const range = base + head > 0 ? `; net change ${points(worst)} at worst, ${points(best)} at best` : "";
  return `${integer(base)} baseline, ${integer(head)} now${came}${range}`;
}

/** The baseline's own tools, then and now: a difference means that the model changed. No verdict depends on it. */
function bankText({ modelDrift }: ComparedCheck): string | undefined {
  if (!modelDrift) return undefined;
  const { accepted, now, direction, p } = modelDrift;
  const counts = `${share(accepted)} when accepted, ${share(now)} now`;
  if (direction === null) return `${counts}: as when the baseline was accepted`;
  const way = direction === "down" ? "less" : "more";
  return `${counts}: the model passes ${way} often with the same tools than when the baseline was accepted (${pValue(p)})`;
}

function callsText({ base, head, ahead, copies, missing }: ComparedCheck["calls"], method: string): string | undefined {
  if (base + head === 0 || method === "records" || method === "unpaired-records") return undefined;
  const extra = [
    ahead > 0 ? `${integer(ahead)} of them for cases that looked worse` : "",
    copies > 0 ? `${count(copies, "repeated reply")} dropped` : "",
    missing > 0 ? `${integer(missing)} without an answer` : "",
  ].filter((part) => part !== "");
  return `${integer(base)} baseline, ${integer(head)} now${extra.length > 0 ? `; ${extra.join(", ")}` : ""}`;
}

/** Why the record has more trials of a case with the baseline's tools than the verdict counts. */
function repeatedText({ repeated = [] }: ComparedCheck): string | undefined {
  if (repeated.length === 0) return undefined;
  const trials = sumOf(repeated, (one) => one.trials);
  return `${integer(trials)} of these baseline trials, to see whether the model is deterministic; they count in no rate`;
}

const terms: readonly [string, string][] = [
  [
    "Trial, pair",
    "A trial asks one case once. The two trials of a pair ask it with the old and the new tools, in the same order of tools and close in time.",
  ],
  [
    "Look",
    "A check stops as soon as it can decide, so it looks at its figures several times. The error rates hold for all looks together.",
  ],
  [
    "p-value",
    "The chance of a difference at least this large if nothing had changed. A check reports a difference if p is at most the level printed beside it.",
  ],
  [
    "Fisher's exact test",
    "It compares the passes of one case before and now, and gives the p of that case. All cases and looks together falsely name a case in at most 1% of checks.",
  ],
  [
    "Sign test",
    "It counts the pairs that passed only before and those that passed only now, over all cases. If nothing changed, both are equally likely; it is wrong in at most 4% of checks.",
  ],
  [
    "Net change, 95% CI",
    "The change of the pass rate, averaged over cases. The interval contains the true change in at least 94% of checks, at whatever look they stop.",
  ],
  [
    "Margin",
    "The drop that you would accept, 10 points unless --margin says otherwise. NO REGRESSION means that a drop of the margin or more is ruled out; it is wrong in at most 5% of checks.",
  ],
  [
    "Reach",
    "What this check could have missed in a single case, simulated from its own pass rates. A smaller loss than this can hide in one case although the suite as a whole is fine.",
  ],
];

/** Two sentences on every term of this check. */
export function explainCheck({ kind }: ComparedCheck): Block[] {
  const shown = kind === "no-regression" ? terms : terms.filter(([name]) => name !== "Reach");
  return [details("What the terms mean", facts(...shown))];
}

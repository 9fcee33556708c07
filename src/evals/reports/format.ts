import type { Counts } from "../base/stats/counts.ts";
import type { Interval } from "../base/stats/intervals.ts";

// How numbers and counts are written in every report and message.

/** A whole number with thousands separators, the same in every locale: `12,345`. `Intl` loads slowly. */
export function integer(n: number): string {
  return n.toFixed().replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** A size in bytes: `1,117 MB`. */
export const megabytes = (bytes: number): string => `${integer(bytes / 1e6)} MB`;

/** A signed whole number: `+1,200`, `-3`, `0`. */
export function signedInteger(n: number): string {
  const rounded = Math.round(n);
  return `${rounded > 0 ? "+" : ""}${integer(rounded)}`;
}

/** Capitalizes the first letter, except if it is a symbol, such as in `p` or `p (Holm)`. */
export function capital(text: string): string {
  return /^[b-z]\b/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** `1 case`, `2 cases`, `3 retries`; pass other irregular plurals as `many`. */
export function count(n: number, one: string, many = `${one.replace(/([^aeiou])y$/, "$1ie")}s`): string {
  return `${integer(n)} ${n === 1 ? one : many}`;
}

/** A rate (0 to 1) as a whole percentage. Rounds to 0% and 100% only if exact: otherwise `<1%`, `>99%`. */
export function percent(rate: number): string {
  const rounded = Math.round(rate * 100);
  if (rounded === 0 && rate > 0) return "<1%";
  if (rounded === 100 && rate < 1) return ">99%";
  return `${rounded}%`;
}

/** An interval of rates: `38-96%`. The ends are estimates, so they are simply rounded. */
export function range([low, high]: Interval): string {
  return `${Math.round(low * 100)}-${Math.round(high * 100)}%`;
}

/** `19/20` */
export function ratio({ passed, trials }: Counts): string {
  return `${integer(passed)}/${integer(trials)}`;
}

/** `19/20 (95%)`, or `0/0` without trials. */
export function share(counts: Counts): string {
  return counts.trials === 0 ? ratio(counts) : `${ratio(counts)} (${percent(counts.passed / counts.trials)})`;
}

/** `19/20 95% (76-99%)`: a rate is always shown with its counts and 95% interval. */
export function rateWithInterval(counts: Counts, interval: Interval): string {
  return `${ratio(counts)} ${percent(counts.passed / counts.trials)} (${range(interval)})`;
}

/** `19/20 (76-99%)`, for narrow columns. */
export function ratioWithInterval(counts: Counts, interval: Interval): string {
  return `${ratio(counts)} (${range(interval)})`;
}

/** A signed difference of rates in percentage points: `-12.5 pp`, `+4 pp`, `0 pp`. */
export function points(change: number): string {
  return `${signedPoints(change)} pp`;
}

/** The absolute value of a difference of rates: `12.5 pp`. */
export function size(change: number): string {
  return points(change).replace(/^[+-]/, "");
}

/** `-34.8 pp (95% CI -49 to -20 pp)`, or only the change without an interval. */
export function pointsWithInterval(change: number, interval: Interval | null): string {
  if (interval === null) return points(change);
  return `${points(change)} (95% CI ${signedPoints(interval[0])} to ${signedPoints(interval[1])} pp)`;
}

function signedPoints(change: number): string {
  const rounded = Number((Math.abs(change) * 100).toFixed(1));
  return `${rounded === 0 ? "" : change < 0 ? "-" : "+"}${rounded}`;
}

/** A p-value with three decimals, never 0: `.031`, `<.001`, `1`. */
export function probability(p: number): string {
  if (p < 0.001) return "<.001";
  return p.toFixed(3).replace(/^0|\.000$/, "");
}

/** `p = .031`, `p < .001` */
export function pValue(p: number): string {
  return `p ${p < 0.001 ? "< " : "= "}${probability(p).replace("<", "")}`;
}

/** The level of a test: `.015`. */
export function level(alpha: number): string {
  return String(alpha).replace(/^0/, "");
}

/** US dollars with two decimals, or four below one cent. */
export function money(usd: number | "unknown"): string {
  if (usd === "unknown") return "unknown";
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "<$0.0001";
  return `$${usd.toFixed(usd < 0.01 ? 4 : 2)}`;
}

/** The estimate of a cost: `about $1.20`; or which price is missing for one. */
export const aboutCost = (usd: number | "unknown", model: string): string =>
  usd === "unknown" ? `cost unknown without a price of ${model} (--prices)` : `about ${money(usd)}`;

/** A duration in a readable unit, from milliseconds: `0.4 ms`, `320 ms`, `1.2 s`, `2 min 3 s`. */
export function duration(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${integer(Math.floor(seconds / 60))} min ${seconds % 60} s`;
}

/** Counts by name, largest first: `wrong-tool 3`, `right-tool 2`. */
export function tally(counts: Readonly<Record<string, number>>): string[] {
  return ranked(counts).map(([name, n]) => `${name} ${integer(n)}`);
}

/** The same as a phrase: `3 failed, 1 broken`. */
export function tallyPhrase(counts: Readonly<Record<string, number>>): string {
  return ranked(counts)
    .map(([name, n]) => `${integer(n)} ${name}`)
    .join(", ");
}

/** The nonzero entries, largest first; ties by name in code unit order. */
function ranked(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts)
    .filter(([, n]) => n > 0)
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

/** A list in a sentence, cut after `max` entries: `a, b and 3 more`. */
export function some(list: readonly string[], max = 5): string {
  const shown = list.slice(0, max).join(", ");
  return list.length > max ? `${shown} and ${integer(list.length - max)} more` : shown;
}

/** The first line of a server problem, without the stderr output below it. */
export const withoutOutput = (message: string) => message.split(/(?: Its stderr ends with:)?\n/, 1)[0] ?? message;

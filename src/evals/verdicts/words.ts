import type { Counts } from "../stats/counts.ts";

/** A probability as text: two significant digits, and never 0. */
export function probability(p: number): string {
  if (p < 0.0001) return "below 0.0001";
  return String(Number(p.toPrecision(2)));
}

/** A difference of rates in percentage points, with its sign: `-12.5 points`. */
export function points(change: number): string {
  const rounded = Number((change * 100).toFixed(1));
  return `${rounded > 0 ? "+" : ""}${rounded === 0 ? 0 : rounded} points`;
}

/** `19/20` */
export function passes({ passed, trials }: Counts): string {
  return `${passed}/${trials}`;
}

/** `1 case`, `2 cases` */
export function plural(n: number, one: string): string {
  return `${n} ${one}${n === 1 ? "" : "s"}`;
}

/** The first few of a list, and how many more there are. */
export function some(list: readonly string[], most = 5): string {
  const shown = list.slice(0, most).join(", ");
  return list.length > most ? `${shown} and ${list.length - most} more` : shown;
}

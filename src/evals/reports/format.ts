const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A whole number with thousands separators, the same in every locale: `12,345`. */
export function integer(n: number): string {
  return grouped.format(n);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `1 case`, `2 cases`; pass the plural where it is not the word with an s. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${integer(n)} ${n === 1 ? one : many}`;
}

/** A rate (0 to 1) in whole per cent. Never rounds to a certainty that it is not: `<1%`, `>99%`. */
export function percent(rate: number): string {
  const rounded = Math.round(rate * 100);
  if (rounded === 0 && rate > 0) return "<1%";
  if (rounded === 100 && rate < 1) return ">99%";
  return `${rounded}%`;
}

/** The two ends of an interval of rates: `38–96%`. They are estimates, so plain rounding is right for them. */
export function range([low, high]: readonly [number, number]): string {
  return `${Math.round(low * 100)}–${Math.round(high * 100)}%`;
}

/** A difference of rates in percentage points, with its sign: `−12.5`, `+4`, `0`. `plus` is the sign of a rise. */
export function points(change: number, plus = "+"): string {
  const rounded = Number((Math.abs(change) * 100).toFixed(1));
  return `${rounded === 0 ? "" : change < 0 ? "−" : plus}${rounded}`;
}

/** A p-value with two significant digits, and never 0: `0.031`, `<0.0001`. */
export function probability(p: number): string {
  return p < 0.0001 ? "<0.0001" : String(Number(p.toPrecision(2)));
}

/** `p = 0.031`, `p < 0.0001` */
export function pValue(p: number): string {
  return `p ${p < 0.0001 ? "" : "= "}${probability(p)}`.replace("<", "< ");
}

/** US dollars, four decimals below one dollar and two above. What is not known is said to be unknown, never 0. */
export function money(usd: number | "unknown"): string {
  if (usd === "unknown") return "unknown";
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "<$0.0001";
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** A time in milliseconds with a unit a reader can compare: `0.4 ms`, `320 ms`, `1.2 s`, `2 min 3 s`. */
export function duration(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${integer(Math.floor(seconds / 60))} min ${seconds % 60} s`;
}

/** Counts by name, the largest first: `wrong-tool 3, right-tool 2`. */
export function tally(counts: Readonly<Record<string, number>>): string {
  return ranked(counts)
    .map(([name, n]) => `${name} ${integer(n)}`)
    .join(", ");
}

/** The same as a phrase: `3 failed, 1 broken`. */
export function tallyPhrase(counts: Readonly<Record<string, number>>): string {
  return ranked(counts)
    .map(([name, n]) => `${integer(n)} ${name}`)
    .join(", ");
}

/** The entries of a tally that are not zero, the largest first, ties by name in code unit order. */
export function ranked(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts)
    .filter(([, n]) => n > 0)
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

/** The first items of a list, and how many are left out: a bounded report says what it does not show. */
export function atMost<T>(list: readonly T[], max: number): { shown: readonly T[]; left: number } {
  const shown = list.slice(0, max);
  return { shown, left: list.length - shown.length };
}

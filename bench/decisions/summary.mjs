// What many repetitions of a row come to, and whether that is what the row must reach.

/** Wilson's interval of a share of n, 95 %. */
export function wilson(hits, n, z = 1.96) {
  if (n === 0) return [0, 1];
  const center = (hits + (z * z) / 2) / (n + z * z);
  const half = (z * Math.sqrt((hits * (n - hits)) / n + (z * z) / 4)) / (n + z * z);
  return [Math.max(0, center - half), Math.min(1, center + half)];
}

/** `played`: what the repetitions brought; a measure that one of them lacks leaves it out. */
export function summarize({ measures, targets }, played) {
  const figures = {};
  for (const [name, kind] of Object.entries(measures)) {
    const read = kind === "ratio" ? (one) => one : Number;
    const values = played.flatMap((one) => (one[name] === undefined ? [] : [read(one[name])]));
    figures[name] = { kind, n: values.length, ...figureOf[kind](values) };
  }
  const met = Object.entries(targets).map(([name, target]) => isMet(target, figures[name]));
  return { figures, met: met.length === 0 ? undefined : met.every(Boolean) };
}

const mean = (values) => values.reduce((sum, one) => sum + one, 0) / Math.max(1, values.length);
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
const figureOf = {
  share(values) {
    const hits = values.reduce((sum, one) => sum + one, 0);
    return { value: hits / Math.max(1, values.length), interval: wilson(hits, values.length) };
  },
  mean(values) {
    const center = mean(values);
    const variance = mean(values.map((one) => (one - center) ** 2)) / Math.max(1, values.length - 1);
    const half = 1.96 * Math.sqrt(variance);
    return { value: center, interval: [center - half, center + half] };
  },
  /** Of pairs: the sum of the first of each beside the sum of the second. */
  ratio(pairs) {
    const [above, below] = [0, 1].map((i) => mean(pairs.map((pair) => pair[i])));
    const value = above / below;
    const half = (1.96 * Math.sqrt(mean(pairs.map(([a, b]) => (a - value * b) ** 2)) / pairs.length)) / below;
    return { value, interval: [value - half, value + half] };
  },
  median(values) {
    const sorted = values.toSorted((a, b) => a - b);
    return { value: quantile(sorted, 0.5), interval: [quantile(sorted, 0.1), quantile(sorted, 0.9)] };
  },
};

/**
 * A limit is missed when chance (three standard errors of a share that is just at the limit) does not explain it; a figure
 * that was simulated elsewhere, when both simulations together do not (calls: 4 % besides); `orMore`: more is no miss.
 */
function isMet(target, { kind, value, n, interval }) {
  if (n === 0) return true;
  const error = (share, of) => Math.sqrt((share * (1 - share)) / of);
  if (target.atMost !== undefined) return value <= target.atMost + (kind === "share" ? 3 * error(target.atMost, n) : 0);
  if (target.atLeast !== undefined)
    return value >= target.atLeast - (kind === "share" ? 3 * error(target.atLeast, n) : 0);
  const { near, repetitions, orMore } = target;
  if (orMore && value >= near) return true;
  if (kind !== "share") return Math.abs(value - near) <= 0.04 * near + 1.5 * (interval[1] - interval[0]);
  // A share of 0 or 1 has an error too.
  const pooled = (value * n + near * repetitions + 0.5) / (n + repetitions + 1);
  return Math.abs(value - near) <= 3 * Math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / repetitions));
}

const percent = (share) => (100 * share).toFixed(1);
const plain = (value) => (Math.abs(value) < 10 ? value.toFixed(2) : value.toFixed(1));

/** "2.3 (1.7-3.1)" of a share in percent, "25.6" of a mean, "1.2 (0.8-2.0)" of a median with its 10th and 90th. */
export function formatFigure({ kind, value, interval, n }) {
  if (n === 0 || value === undefined) return "";
  if (kind === "ratio") return percent(value);
  if (kind === "share") return `${percent(value)} (${percent(interval[0])}-${percent(interval[1])})`;
  return kind === "mean" ? plain(value) : `${plain(value)} (${plain(interval[0])}-${plain(interval[1])})`;
}

export function formatTarget({ atMost, atLeast, near }, kind) {
  const unit = kind === "share" || kind === "ratio" ? 100 : 1;
  if (atMost !== undefined) return `<= ${+(unit * atMost).toFixed(1)}`;
  if (atLeast !== undefined) return `>= ${+(unit * atLeast).toFixed(1)}`;
  return `~ ${+(unit * near).toFixed(1)}`;
}

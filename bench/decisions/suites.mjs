// Suites of known pass rates, and what may have happened to them between base and head.
const repeat = (rates, n) => Array.from({ length: n }, (_, i) => rates[i % rates.length]);
const good = [1, 1, 1, 0.99, 0.99, 0.97, 0.97, 0.95, 0.95, 0.9];
const mixed = (n) => Array.from({ length: n }, (_, i) => (i % 2 ? 0.97 : 0.3 + (0.6 * i) / n));

export const suites = {
  M_MIX10: [1, 1, 0.95, 0.99, 0.9, 0.9, 0.5, 0.5, 0, 0.99],
  M_GOOD8: [1, 1, 1, 0.99, 0.99, 0.95, 0.95, 0.9],
  M_FLAKY8: [0.5, 0.6, 0.7, 0.8, 0.3, 0.95, 0.5, 0.4],
  MIX10: [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1],
  MID10: [0.5, 0.5, 0.5, 0.6, 0.6, 0.6, 0.7, 0.7, 0.8, 0.8],
  LIVE10: [0.95, 0.9, 0.99, 1, 0.95, 0.9, 0.98, 1, 0.95, 0.97],
  TEN9: repeat([0.9], 10),
  FIVE98: repeat([0.98], 5),
  MIX5: [1, 0.95, 0.9, 0.5, 0],
  FLAKY8: repeat([0.5], 8),
  GOOD8: repeat([0.97], 8),
  ONE: [0.95],
  THREE: [0.9, 0.9, 0.9],
  good50: repeat(good, 50),
  good200: repeat(good, 200),
  good3000: repeat(good, 3000),
  mixed50: mixed(50),
  mixed200: mixed(200),
  mixed3000: mixed(3000),
  // Suites of the variants' table: a case that never passes would never have room.
  V8: [0.9, 0.8, 0.7, 0.6, 0.95, 0.5, 0.99, 0.3],
  V_MIX10: [1, 1, 0.95, 0.99, 0.9, 0.9, 0.5, 0.5, 0.1, 0.99],
  V_GOOD8: [1, 1, 1, 0.99, 0.99, 0.95, 0.95, 0.6],
  V_THREE: [0.99, 0.9, 0.2],
  V_ONE: [0.5],
  GOOD50: repeat([0.97], 50),
  FIFTY: repeat([0.97], 50).with(0, 0.4).with(1, 0.9),
};

const within = (rate) => Math.min(1, Math.max(0, rate));
const shifted = (by) => (rates) => rates.map((rate) => within(rate + by));
const mean = (rates) => rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
const firstNearlySure = (rates) =>
  Math.max(
    0,
    rates.findIndex((rate) => rate >= 0.95 && rate < 1),
  );
const firstHighest = (rates) => rates.indexOf(Math.max(...rates));

/** The same drop for all cases, until the mean drop is `by`: what a case at 0 cannot give is spread over the others. */
function spread(by) {
  return (rates) => {
    let [low, high] = [0, 1];
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2;
      if (mean(rates) - mean(shifted(-middle)(rates)) < by) low = middle;
      else high = middle;
    }
    return shifted(-low)(rates);
  };
}

/** From the highest rates down, at most .5 a case, until the mean drop is `by`. */
function inFewCases(by) {
  return (rates) => {
    let left = by * rates.length;
    const order = rates.map((_, i) => i).sort((a, b) => rates[b] - rates[a] || a - b);
    const head = [...rates];
    for (const i of order) {
      const taken = Math.min(left, 0.5, rates[i]);
      head[i] -= taken;
      left -= taken;
    }
    return head;
  };
}

function threeCases(by) {
  return (rates) => {
    const chosen = rates.flatMap((rate, i) => (rate >= 0.5 ? [i] : [])).slice(0, 3);
    return rates.map((rate, i) => (chosen.includes(i) ? rate - by : rate));
  };
}

export const truths = {
  nothing: (rates) => rates,
  "one case .95 -> .3": (rates) => {
    const i = firstNearlySure(rates);
    return rates.with(i, rates[i] < 0.9 ? 0.05 : 0.3);
  },
  "one dead case": (rates) => rates.with(firstHighest(rates), 0),
  "one case halved": (rates) => rates.with(firstHighest(rates), rates[firstHighest(rates)] / 2),
  "all -20": shifted(-0.2),
  "three cases -40": threeCases(0.4),
  "mean -5": spread(0.05),
  "mean -10": spread(0.1),
  "mean -10 in few cases": inFewCases(0.1),
  "all +20": shifted(0.2),
};

/** The mean drop from base to head. */
export const dropOf = (base, head) => mean(base) - mean(head);
export const idsOf = (rates) => rates.map((_, i) => String(i));

// Suites of known pass rates, and changes between base and head.
export const suites = {
  MIX5: [1, 0.95, 0.9, 0.5, 0],
  MIX10: [1, 1, 0.95, 0.99, 0.9, 0.9, 0.5, 0.5, 0, 0.99],
  GOOD8: [1, 1, 1, 0.99, 0.99, 0.95, 0.95, 0.9],
  FLAKY8: [0.5, 0.6, 0.7, 0.8, 0.3, 0.95, 0.5, 0.4],
};

const within = (rate) => Math.min(1, Math.max(0, rate));
const shifted = (by) => (rates) => rates.map((rate) => within(rate + by));

export const changes = {
  nothing: (rates) => rates,
  "one case .95 -> .3": (rates) => rates.with(rates.indexOf(0.95), 0.3),
  "all cases -20 points": shifted(-0.2),
  "all cases -10 points": shifted(-0.1),
  "all cases +20 points": shifted(0.2),
};

// The model drifted since the bank was made: both arms have these rates, the bank has the suite's.
export const drifts = {
  "model -10 points": shifted(-0.1),
  "model +10 points": shifted(0.1),
  "one case .95 -> .5": (rates) => rates.with(rates.indexOf(0.95), 0.5),
};

export const idsOf = (rates) => rates.map((_, index) => `case ${index + 1}`);

export const idsOf = (rates: readonly number[]) => rates.map((_, index) => `case ${index + 1}`);

/** Suites of known pass rates. */
export const suites = {
  MIX5: [1, 0.95, 0.9, 0.5, 0],
  MIX10: [1, 1, 0.95, 0.99, 0.9, 0.9, 0.5, 0.5, 0, 0.99],
  GOOD8: [1, 1, 1, 0.99, 0.99, 0.95, 0.95, 0.9],
  FLAKY8: [0.5, 0.6, 0.7, 0.8, 0.3, 0.95, 0.5, 0.4],
};

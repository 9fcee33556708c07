/** Whether the base trial and the head trial of one 1:1 block passed. */
export type BettingBlock = { base: boolean; head: boolean };

/** One case: the log evidence under each pair of `ratePairs`, and the passes of both arms in its blocks so far. */
type CaseEvidence = { logs: readonly number[]; passed: number; blocks: number };

/** The evidence so far. Keep it, feed it blocks with `addBlock`, read it with `evidence`. */
export type EProcess = { cases: readonly CaseEvidence[]; uniformLogs: readonly number[] };

/**
 * `value`: the e-value that some case dropped; `regressed` when it reached 1/alpha. `caseValues`: that this very case
 * dropped, in the order of the cases; `flagged`: the indices of those that reached n/alpha.
 */
export type EValues = { value: number; regressed: boolean; caseValues: readonly number[]; flagged: readonly number[] };

/**
 * Rates of a case before and after a drop: all pairs of five rates, near 0, near 1 and the quarters. More rates match a
 * drop more closely, but share the evidence among more pairs: in simulation there is no gain.
 */
const ratePairs = [0.03, 0.25, 0.5, 0.75, 0.97].flatMap((base, _, rates) =>
  rates.filter((head) => head < base).map((head) => ({ base, head })),
);

/** Drops that all cases share, in log-odds: about .9 to .82, to .69 and to .42. */
const logitDrops = [0.7, 1.4, 2.5];

/** No evidence yet, for a suite of `caseCount` cases, which is fixed from here on. */
export function startEProcess(caseCount: number): EProcess {
  const none = { logs: ratePairs.map(() => 0), passed: 0, blocks: 0 };
  return { cases: Array.from({ length: caseCount }, () => none), uniformLogs: logitDrops.map(() => 0) };
}

/** The state after one more block of the case at `caseIndex`. Throws RangeError when there is no such case. */
export function addBlock(state: EProcess, caseIndex: number, block: BettingBlock): EProcess {
  const before = state.cases[caseIndex];
  if (!before) throw new RangeError(`no case ${caseIndex}: the e-process has ${state.cases.length} cases`);
  const after = {
    logs: before.logs.map((log, g) => log + logFactor(block, ratePairs[g] ?? even)),
    passed: before.passed + Number(block.base) + Number(block.head),
    blocks: before.blocks + 1,
  };
  // The rate is estimated from earlier blocks only: with this one in it, the factor's mean could exceed 1.
  const logOdds = Math.log((before.passed + 0.5) / (2 * before.blocks - before.passed + 0.5));
  return {
    cases: state.cases.with(caseIndex, after),
    uniformLogs: state.uniformLogs.map((log, g) => {
      const half = (logitDrops[g] ?? 0) / 2;
      return log + logFactor(block, { base: logistic(logOdds + half), head: logistic(logOdds - half) });
    }),
  };
}

/**
 * The evidence against "no case dropped", which may be looked at after every block: if no case dropped, the chance that
 * `value` ever reaches 1/alpha is at most alpha (Ville's inequality), however long the run goes on.
 *
 * E = 1/2 mean_i M_i + 1/2 mean_g prod_i M_i(g). M_i is the mean over `ratePairs` of the product over the case's blocks of
 * `logFactor`, strong when one case breaks; M_i(g) is the same with a running estimate of the rate
 * and the log-odds drop g, strong when all cases drop. Without cases the value is 1.
 * Source: Turner and Gruenwald, arXiv 2302.11401, stratified by case; averages of e-processes are e-processes.
 */
export function evidence(state: EProcess, alpha: number): EValues {
  const n = state.cases.length;
  const logCases = state.cases.map(({ logs }) => logMeanExp(logs));
  const value = n === 0 ? 1 : Math.exp(logMeanExp([logMeanExp(logCases), logMeanExp(state.uniformLogs)]));
  const caseValues = logCases.map(Math.exp);
  const flagged = [...caseValues.keys()].filter((i) => (caseValues[i] ?? 0) >= n / alpha);
  return { value, regressed: value >= 1 / alpha, caseValues, flagged };
}

type RatePair = { base: number; head: number };
const even: RatePair = { base: 0.5, head: 0.5 };

/**
 * ln of (b/p)^y ((1-b)/(1-p))^(1-y) for the base trial times the same with c for the head trial, p = (b+c)/2. When both
 * arms have one rate, whatever it is, its mean is 1 - ((b-c)/2)^2 slope^2 <= 1; when head's is the higher one, less.
 */
function logFactor(block: BettingBlock, { base, head }: RatePair): number {
  const shared = (base + head) / 2;
  const term = (passed: boolean, own: number) => Math.log(passed ? own / shared : (1 - own) / (1 - shared));
  return term(block.base, base) + term(block.head, head);
}

function logistic(logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds));
}

/** ln(mean(exp(x))), without overflow. */
function logMeanExp(xs: readonly number[]): number {
  const largest = Math.max(...xs);
  return largest + Math.log(xs.reduce((sum, x) => sum + Math.exp(x - largest), 0) / xs.length);
}

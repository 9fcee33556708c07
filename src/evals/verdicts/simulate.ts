import type { Random } from "../stats/random.ts";
import type { Design, Observation } from "./design.ts";
import { EvidenceBook } from "./design.ts";

/** What a simulated model answers to this trial. */
export type Answer = (id: string, arm: string, trial: number) => Observation;

/**
 * Runs a design against a simulated model until it decides. `calls` is what it asked for. Throws RangeError when the
 * design asks for nothing new, or for more than its cap: both are defects of the design.
 */
export function simulate<V>(design: Design<V>, answer: Answer): { verdict: V; calls: number } {
  const book = new EvidenceBook();
  let calls = 0;
  for (;;) {
    const step = design.next(book.evidence);
    if (step.kind === "decided") return { verdict: step.verdict, calls };
    const before = calls;
    for (const { case: id, arm, from, trials } of step.requests) {
      for (let trial = from; trial <= trials; trial++) {
        if (book.evidence.get(id)?.get(arm)?.[trial - 1] !== undefined) continue;
        book.add(id, arm, trial, answer(id, arm, trial));
        calls++;
      }
    }
    if (calls === before || calls > design.cap)
      throw new RangeError(`asked for ${calls - before} new trials, ${calls} in all, of at most ${design.cap}`);
  }
}

/** A model whose trials are independent: each passes with the rate of its case and arm. */
export function independent(getRate: (id: string, arm: string) => number, random: Random): Answer {
  return (id, arm) => (random.next() < getRate(id, arm) ? "pass" : "fail");
}

/**
 * A model whose trials of one case and arm are correlated: the beta-binomial with mean p and this intraclass correlation
 * (0 < correlation < 1), drawn one by one: P(pass | x passes of k so far) = (w p + x) / (w + k), w = 1/correlation - 1.
 * Source: Polya's urn; Johnson, Kemp and Kotz, Univariate Discrete Distributions, 6.2.2.
 */
export function correlated(getRate: (id: string, arm: string) => number, correlation: number, random: Random): Answer {
  const seen = new Map<string, { passed: number; trials: number }>();
  const weight = 1 / correlation - 1;
  return (id, arm) => {
    const key = JSON.stringify([id, arm]);
    const urn = seen.get(key) ?? { passed: 0, trials: 0 };
    const pass = random.next() * (weight + urn.trials) < getRate(id, arm) * weight + urn.passed;
    seen.set(key, { passed: urn.passed + Number(pass), trials: urn.trials + 1 });
    return pass ? "pass" : "fail";
  };
}

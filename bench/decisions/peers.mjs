// Rules that other harnesses and papers decide by, on the same number of trials per case and arm, one after the other. Each
// gets the trials of every case in both arms, 1 for a pass.
import { fisherP, suiteP } from "./product.mjs";

const count = (trials) => trials.reduce((sum, one) => sum + one, 0);
const counts = (trials) => ({ passed: count(trials), trials: trials.length });
const mean = (cases) => count(cases.map(count));
const anyCase = (isWorse) => (base, head) => base.some((trials, i) => isWorse(trials, head[i]));

export const peers = {
  "the mean dropped at all": (base, head) => mean(head) < mean(base),
  "any case: majority pass -> fail": anyCase(
    (before, now) => 2 * count(before) > before.length && 2 * count(now) <= now.length,
  ),
  "any case crosses 80 %": anyCase(
    (before, now) => count(before) >= 0.8 * before.length && count(now) < 0.8 * now.length,
  ),
  "Fisher's test of any case, 5 %": anyCase((before, now) => fisherP(counts(before), counts(now)) <= 0.05),
  "McNemar's test of the suite, 5 %": (base, head) => {
    const pairs = base.flatMap((trials, i) => trials.map((one, t) => one - head[i][t]));
    const [down, up] = [1, -1].map((difference) => pairs.filter((one) => one === difference).length);
    return suiteP([down, 0, 0], [up, 0, 0]).p <= 0.05;
  },
};

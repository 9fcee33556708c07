// Rules that other harnesses decide by, on `trials` trials per case and arm. Each gets the passes of both arms.
const mean = (passes) => passes.reduce((sum, one) => sum + one, 0);
export const peers = {
  "the mean dropped at all": (base, head) => mean(head) < mean(base),
  "any case: majority pass -> fail": (base, head, trials) =>
    base.some((one, i) => 2 * one > trials && 2 * head[i] <= trials),
  "any case crosses 80 %": (base, head, trials) => base.some((one, i) => one >= 0.8 * trials && head[i] < 0.8 * trials),
};

// The product's own decision code, as it is built.
const load = (path) => import(new URL(`../../build/evals/${path}.js`, import.meta.url).href);

export const { simulate, TrialRecord } = await load("asking/trials/design");
export const { deriveSeed, drawBeta, drawNormal, seededRandom } = await load("base/stats/random");
export const { fisherP, globalTest } = await load("base/stats/hypothesisTests");
export const { suiteP } = await load("experiments/design/grades");
export const { check } = await load("experiments/check/design");
export const { compareRecords } = await load("experiments/design/compare");
export const { DriftMonitor } = await load("experiments/drift/design");
export const { blame, maskOfArm } = await load("experiments/blame/sampled");
export const { improveLoop } = await load("experiments/improve/design");
export const { variants } = await load("experiments/variants/design");
export const { incumbentArm } = await load("experiments/variants/verdict");

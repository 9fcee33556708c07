// The product's own decision code, as it is built.
const at = (path) => new URL(`../../build/evals/${path}`, import.meta.url).href;
const load = (path) => import(at(`decisions/${path}.js`));

export const { check } = await load("check");
export const { compareRecords } = await load("compare");
export const { simulate, TrialRecord } = await load("design");
export const { drawNormal, drawBeta } = await load("special");
export const { DriftMonitor } = await load("drift");
export const { blame, maskOfArm } = await load("blame");
export const { variants, incumbentArm } = await load("variants");
export const { globalTest } = await import(at("stats/hypothesisTests.js"));
export const { deriveSeed, seededRandom } = await import(at("stats/random.js"));

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

// The first design, for comparison; its rows are left out once it is removed.
const first = async (path, name) => (await import(at(path)).catch(() => ({})))[name];
export const firstDesign = {
  thorough: await first("verdicts/thorough.js", "thorough"),
  screen: await first("verdicts/screen.js", "screen"),
  simulate: await first("verdicts/calibrate.js", "simulate"),
};

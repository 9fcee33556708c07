// The decision code as it is shipped.
const at = (path) => new URL(`../../dist/evals/${path}`, import.meta.url).href;
export const { thorough } = await import(at("verdicts/thorough.js"));
export const { screen } = await import(at("verdicts/screen.js"));
export const { anytime } = await import(at("verdicts/anytime.js"));
export const { simulate, independent, correlated } = await import(at("verdicts/calibrate.js"));
export const { seededRandom, deriveSeed } = await import(at("stats/random.js"));
export const { globalTest } = await import(at("stats/hypothesisTests.js"));

import { createRequire } from "node:module";

/** The version of tool-evals, from its package.json. */
export const { version } = createRequire(import.meta.url)("../../../package.json") as { version: string };

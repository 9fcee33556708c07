import { createRequire } from "node:module";

/** The version of tool-evals, from its package.json. */
export const { version } = createRequire(import.meta.url)("tool-evals/package.json") as { version: string };

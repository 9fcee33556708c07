import { createRequire } from "node:module";

/** The version of the package, from its package.json. */
export const { version } = createRequire(import.meta.url)("tool-evals/package.json") as { version: string };

/** The default name of the server. */
export const defaultName = "reference";

import { createRequire } from "node:module";

/** The version of the package; package.json is two folders up from both source and build. */
export const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

/** The default name of the server. */
export const defaultName = "reference";

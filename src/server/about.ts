import { createRequire } from "node:module";

/** The version of the package; package.json lies two folders up from the source and from the built program alike. */
export const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

/** What the server is called when nobody says otherwise. */
export const defaultName = "reference";

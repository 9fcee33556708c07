import manifest from "tool-evals/package.json" with { type: "json" };

/** The version of tool-evals. */
export const { version } = manifest;

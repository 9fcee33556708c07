import * as z from "zod";

const names = z.array(z.string());

/** What a host showed to the model in a trial, as captured. A tool or skill is in one list only. */
export const shownSchema = z.object({
  tools: z
    .object({
      full: names.describe("with description and schema, in the first request"),
      deferred: names.describe("defined in the first request, but shown by the provider only after a search"),
      named: names.describe("by name only"),
      hidden: names.describe("not at all"),
    })
    .describe("the tools of the case"),
  loaded: names.describe("tools whose definitions were added by a later request, after a search"),
  skills: z
    .object({
      full: names.describe("with the whole description"),
      cut: names.describe("with the beginning of the description"),
      named: names.describe("by name only"),
      hidden: names.describe("not at all"),
    })
    .describe("the skills of the case"),
  builtIns: names.describe("the host's own tools that were defined in the first request"),
  search: z.string().optional().describe("the tool with which the model searches for tools"),
  instructions: z
    .boolean()
    .optional()
    .describe("whether the instructions of all servers were shown; absent: there are none"),
  requests: z.number().int().describe("model requests of the trial, those of sub-agents and failed ones included"),
  firstRequestBytes: z.number().int().describe("size of the first request of the conversation"),
});
export type Shown = z.infer<typeof shownSchema>;

/** How tools are shown, in the words of reports. */
export const shownLevels: Readonly<Record<keyof Shown["tools"], string>> = {
  full: "in full",
  deferred: "deferred",
  named: "by name only",
  hidden: "not at all",
};

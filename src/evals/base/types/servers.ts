import * as z from "zod";
import { countsSchema, intervalSchema } from "./check.ts";

const count = z.number().int();
const intervalOrNull = intervalSchema.nullable().describe("95 % Wilson score interval; null without trials");

/** Some of n trials: `passed` are those that the name of the field counts. */
const shareSchema = countsSchema.extend({ interval: intervalOrNull });

/**
 * The servers of a host's configuration beside each other. A case belongs to the server whose tools it expects. A
 * graded trial is lost to another server if no expected tool was picked and a tool of that server was called.
 */
export const serversSummarySchema = z.object({
  servers: z.array(
    z.object({
      name: z.string(),
      failure: z.string().optional().describe("why it could not be listed; its cases break"),
      tools: count,
      tokens: count.describe("of its definitions and instructions in every request, about four bytes each"),
      cases: count,
      right: shareSchema.describe("of the graded trials of its cases: an expected tool was picked"),
      lost: shareSchema.describe("of the same: lost to another server"),
      ownTool: count.describe("of the same: another tool of its own was picked"),
      noTool: count.describe("of the same: no tool was called, or one that is not listed"),
      broken: count.describe("trials of its cases that broke"),
      taken: shareSchema.describe("of the graded trials of all other cases: lost to this server"),
    }),
  ),
  lost: z
    .array(
      z.object({
        from: z.string().nullable().describe("the server of the cases; null: they expect no tool"),
        to: z.string(),
        share: shareSchema,
        confusions: z.array(z.object({ expected: z.string(), picked: z.string(), n: count })).describe("ranked"),
      }),
    )
    .describe("ranked by their share"),
  clashes: z
    .array(z.object({ name: z.string(), servers: z.array(z.string()) }))
    .describe("names that several servers give to a tool"),
  several: count.describe("cases that expect tools of several servers: they are excluded from the rows"),
});
export type ServersSummary = z.infer<typeof serversSummarySchema>;

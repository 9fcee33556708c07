import * as z from "zod";
import { jsonSchema } from "../suites/check.ts";
import { lintReportSchema } from "../types/lint.ts";
import { runSummarySchema } from "../types/run.ts";

/** The published JSON Schemas, made from the zod schemas that the program itself reads and writes by. */
export const schemas = {
  suite: jsonSchema,
  run: () => z.toJSONSchema(runSummarySchema, { target: "draft-2020-12" }),
  lint: () => z.toJSONSchema(lintReportSchema, { target: "draft-2020-12" }),
} as const;

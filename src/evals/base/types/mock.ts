import * as z from "zod";
import type { Location } from "./errors.ts";
import { type JsonObject, jsonSchema } from "./json.ts";
import { argsSchema } from "./matcher.ts";
import type { ToolResult } from "./tool.ts";

/** A mock as written: which calls of its tool it answers, and with what. */
const mockFileSchema = z
  .strictObject({
    args: argsSchema.describe("Arguments, literal or matchers, of the calls that it answers; default: all calls"),
    result: jsonSchema.describe("Text, a JSON value, or a whole result of the protocol: { content: [...] }"),
    file: z.string().min(1).describe("A file with the result, relative to the suite; .json is read as JSON"),
    error: z.string().min(1).describe("The text of a result that is marked as an error"),
  })
  .partial();
export type MockFile = z.infer<typeof mockFileSchema>;

export const mocksFileSchema = z.record(z.string().min(1), z.union([mockFileSchema, z.array(mockFileSchema).min(1)]));
export type MocksFile = z.infer<typeof mocksFileSchema>;

export const unmatchedSchema = z.enum(["error", "server"]);

/** A result that a suite gives to calls of a tool. `label` names it in reports; `place` is where it stands. */
export type Mock = { label: string; tool: string; args?: JsonObject; result: ToolResult; location?: Location };

/** The mocks of a case in their order, the first that matches answers; what no mock answers gets an error or is executed. */
export type Mocks = { list: readonly Mock[]; unmatched: z.infer<typeof unmatchedSchema> };

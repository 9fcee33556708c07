import * as z from "zod";
import { isJsonObject, type JsonObject } from "../types/json.ts";
import { suiteFileSchema } from "../types/suite.ts";

/** The JSON Schema (draft 2020-12) of suite files, for editors. The loader also checks what a schema cannot say. */
export function jsonSchema(): JsonObject {
  const generated: unknown = z.toJSONSchema(suiteFileSchema, { target: "draft-2020-12", io: "input" });
  const { $schema, ...rest } = isJsonObject(generated) ? generated : {};
  return {
    $schema: $schema ?? "https://json-schema.org/draft/2020-12/schema",
    $id: "urn:tool-evals:schema:suite",
    title: "tool-evals suite file",
    ...rest,
  };
}

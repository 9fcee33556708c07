import { expect, it } from "vitest";
import * as z from "zod";
import { ledgerSchema } from "../../../src/evals/asking/batches/ledger.ts";
import { recordWords } from "../../../src/evals/base/secrets/secrets.ts";
import { baselineSchema } from "../../../src/evals/base/types/check.ts";
import { driftPlanSchema, nightSchema } from "../../../src/evals/base/types/drift.ts";
import { runManifestSchema } from "../../../src/evals/base/types/run.ts";
import { trialSchema } from "../../../src/evals/base/types/trial.ts";

/** The names of fields, and the texts that are values of their own, in a JSON Schema. */
function listWords(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key === "properties") return [...Object.keys(value), ...Object.values(value).flatMap(listWords)];
    if (key === "enum" || key === "const") return [value].flat().filter((one) => typeof one === "string");
    return listWords(value);
  });
}

it("has every word of the files of a record and of a baseline that could be a secret", () => {
  const schemas = [trialSchema, runManifestSchema, baselineSchema, nightSchema, driftPlanSchema, ledgerSchema];
  const words = schemas.flatMap((schema) => listWords(z.toJSONSchema(schema, { unrepresentable: "any" })));
  const known = new Set(recordWords.trim().split(/\s+/));
  expect(words.filter((word) => /^\S{6,}$/.test(word) && !word.includes("/") && !known.has(word))).toEqual([]);
});

import * as z from "zod";
import { jsonObjectSchema } from "./json.ts";

/**
 * Other descriptions of a tool and of its parameters, and how hosts find it; `filter.name` is a parameter inside of one (or
 * of its items).
 */
export const rewordingSchema = z.strictObject({
  description: z.string().optional(),
  searchHint: z.string().optional().describe("words by which a search finds it; empty: none"),
  alwaysLoad: z.boolean().optional().describe("whether hosts never defer it"),
  parameters: z.record(z.string(), z.string()).optional().describe("parameter, dotted where nested -> description"),
});

/**
 * A whole tool instead of a listed one. Its name stays, because calls go to the server; its annotations stay too, because
 * they decide which calls are executed.
 */
export const replacementSchema = z.strictObject({
  tool: z.strictObject({
    name: z.string().optional().describe("may be repeated, not changed"),
    title: z.string().optional(),
    description: z.string().optional(),
    inputSchema: jsonObjectSchema,
    outputSchema: jsonObjectSchema.optional(),
  }),
});

const variantChangeSchema = z.union([z.string(), rewordingSchema, replacementSchema]);
/** What a variant changes in one tool: just its description, or more. */
export type VariantChange = z.infer<typeof variantChangeSchema>;

const variantSchema = z.record(z.string(), variantChangeSchema);
/** Another wording of a list: tool name -> what is different. All that it does not name stays as it is listed. */
export type Variant = z.infer<typeof variantSchema>;

/** A variants file, also the form of a patch that is written. */
export const variantsFileSchema = z.strictObject({
  $schema: z.string().optional(),
  variants: z.record(z.string(), variantSchema),
});
export type VariantsFile = z.infer<typeof variantsFileSchema>;

/** Arms that mean something already, so no variant can have their names. */
export const reservedVariants: ReadonlySet<string> = new Set(["incumbent", "base", "head"]);

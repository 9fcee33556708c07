import * as z from "zod";
import { jsonObjectSchema } from "./json.ts";

const parameterSchema = z.strictObject({ name: z.string().optional(), description: z.string().optional() });

/**
 * Other names and descriptions of a tool and of its parameters, and how hosts find it; `filter.name` is a parameter inside
 * of one (or of its items). Calls reach the server under its own names, and expectations use these too.
 */
export const rewordingSchema = z.strictObject({
  name: z.string().optional().describe("what models see as its name"),
  title: z.string().optional(),
  description: z.string().optional(),
  searchHint: z.string().optional().describe("words by which a search finds it; empty: none"),
  alwaysLoad: z.boolean().optional().describe("whether hosts never defer it"),
  parameters: z
    .record(z.string(), z.union([z.string(), parameterSchema]))
    .optional()
    .describe("parameter, dotted where nested -> description, or name and description"),
});

/** A whole tool instead of a listed one. Its annotations stay, because they decide which calls are executed. */
export const replacementSchema = z.strictObject({
  tool: z.strictObject({
    name: z.string().optional().describe("what models see as its name"),
    title: z.string().optional(),
    description: z.string().optional(),
    inputSchema: jsonObjectSchema,
    outputSchema: jsonObjectSchema.optional(),
  }),
});

const variantChangeSchema = z.union([z.string(), rewordingSchema, replacementSchema]);
/** What a variant changes in one tool: just its description, or more. */
export type VariantChange = z.infer<typeof variantChangeSchema>;

export const variantSchema = z.record(z.string(), variantChangeSchema);
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

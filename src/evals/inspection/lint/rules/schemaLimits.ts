import { findRecursiveRef, followRef, maxPlaces, walkToolSchema } from "../../../base/jsonSchema/walk.ts";
import { quote, showValue } from "../../../base/text/text.ts";
import { defineRules, type Rule, type ToolSubject, type Violation } from "../rule.ts";
import { collectTexts, maxSearched } from "../text.ts";

const guide = "https://json-schema.org/understanding-json-schema";
const strictMode = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas";
/** Limits of one provider's strict mode. Schemas that a model fills well are far smaller. */
const limits = { levels: 10, properties: 5000 } as const;

/** Rules about valid JSON Schema that hosts do not follow or accept: references, depth and size. */
export const schemaLimitRules = defineRules<ToolSubject>(strictMode, [
  {
    id: "ref-unresolved",
    severity: "error",
    docs: `${guide}/structuring#dollarref`,
    why: "A reference that leads nowhere makes the schema invalid: the tool is listed, but its calls fail.",
    check: inRefs("nowhere", (ref) => ({
      message: `The reference ${ref} leads nowhere in the schema.`,
      fix: "Correct the path, or write the schema out where it is used.",
    })),
  },
  {
    id: "ref-remote",
    severity: "error",
    docs: `${guide}/structuring#dollarref`,
    why: "Hosts do not fetch schemas, so a model never sees what the reference leads to.",
    check: inRefs("remote", (ref) => ({
      message: `The reference ${ref} leads to another document.`,
      fix: "Write the schema out where it is used, or put it under $defs.",
    })),
  },
  {
    id: "ref-recursive",
    docs: `${guide}/structuring#recursion`,
    why: "Some hosts expand references, and reject or cut a schema that contains itself.",
    *check({ tool }) {
      const place = findRecursiveRef(walkToolSchema(tool, "inputSchema"));
      if (!place) return;
      const message = `The reference ${showValue(place.schema.$ref ?? null)} leads back to a schema it is part of.`;
      const fix = "Write out the levels that are needed, or use a flat list with parent ids.";
      yield { at: [...place.at, "$ref"], message, fix };
    },
  },
  {
    id: "schema-too-deep",
    why: "A model fills deeply nested objects poorly, and one provider rejects more than 10 levels.",
    *check({ tool }) {
      const { places, cut } = walkToolSchema(tool, "inputSchema");
      const at = places.find(({ level }) => level > limits.levels)?.at ?? (cut?.by === "depth" ? cut.at : undefined);
      if (!at) return;
      const message = `The schema is nested more than ${limits.levels} levels deep.`;
      yield {
        at: at.slice(0, 3 * limits.levels),
        message,
        fix: "Flatten it into top-level parameters, or split the tool.",
      };
    },
  },
  {
    id: "schema-too-large",
    why: "The schema is sent with every request; one provider rejects more than 5,000 properties.",
    *check({ tool }) {
      const format = (number: number) => number.toLocaleString("en-US");
      const { places, cut } = walkToolSchema(tool, "inputSchema");
      const isOver = places.filter(({ role }) => role === "property").length > limits.properties;
      const most = isOver ? `${format(limits.properties)} properties` : `${format(maxPlaces)} schemas`;
      const fix = "Remove what a model need not choose. Nothing beyond the limit was checked.";
      if (isOver || cut?.by === "number")
        yield { at: ["inputSchema"], message: `The inputSchema has more than ${most}.`, fix };
      if (!collectTexts(tool).whole)
        yield { at: [], message: `The tool has more than ${format(maxSearched)} characters.`, fix };
    },
  },
]);

/** Reports every `$ref` that leads to a target of this kind. */
function inRefs(
  kind: "nowhere" | "remote",
  report: (ref: string) => Omit<Violation, "at">,
): Rule<ToolSubject>["check"] {
  return function* ({ tool }) {
    for (const field of ["inputSchema", "outputSchema"] as const) {
      const walk = walkToolSchema(tool, field);
      for (const { schema, at } of walk.places) {
        const { $ref } = schema;
        if (typeof $ref === "string" && followRef($ref, walk).kind === kind)
          yield { at: [...at, "$ref"], ...report(quote($ref)) };
      }
    }
  };
}

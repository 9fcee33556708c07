import { findRecursiveRef, followRef, maxPlaces, walkToolSchema } from "../../jsonSchema/walk.ts";
import { quote, showValue } from "../../types/quote.ts";
import type { Rule, ToolSubject, Violation } from "../rule.ts";
import { maxSearched, textsOf } from "../text.ts";

const docsOfRefs = "https://json-schema.org/understanding-json-schema/structuring#dollarref";
const strict = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas";
/** Above these the strict mode of one provider refuses a schema; no schema that a model fills well comes near. */
const deepest = 10;
const mostProperties = 5000;
const count = (number: number) => number.toLocaleString("en-US");

/** What is valid JSON Schema, and yet not followed or not taken by hosts: references, depth and size. */
export const hostRules: readonly Rule<ToolSubject>[] = [
  {
    id: "ref-unresolved",
    severity: "error",
    why: "A reference that leads nowhere makes the schema invalid: the tool is listed, but its calls fail.",
    docs: docsOfRefs,
    clauses: ["a local $ref leads to a schema"],
    check: inRefs("nowhere", (ref) => ({
      message: `The reference ${ref} leads nowhere in the schema.`,
      fix: "Mend the path, or write the schema out where it is used.",
    })),
  },
  {
    id: "ref-remote",
    severity: "error",
    why: "Hosts do not fetch schemas, so a model never sees what is behind the reference.",
    docs: docsOfRefs,
    clauses: ["no $ref leads to another document"],
    check: inRefs("remote", (ref) => ({
      message: `The reference ${ref} leads to another document.`,
      fix: "Write the schema out where it is used, or put it under $defs.",
    })),
  },
  {
    id: "ref-recursive",
    severity: "warning",
    why: "Some hosts unfold references, and refuse or cut a schema that contains itself.",
    docs: "https://json-schema.org/understanding-json-schema/structuring#recursion",
    clauses: ["no $ref leads back to what it is part of"],
    *check({ tool }) {
      const place = findRecursiveRef(walkToolSchema(tool, "inputSchema"));
      if (!place) return;
      const message = `The reference ${showValue(place.schema.$ref ?? null)} leads back to a schema it is part of.`;
      yield {
        at: [...place.at, "$ref"],
        message,
        fix: "Write out the levels that are needed, or take a flat list with parent ids.",
      };
    },
  },
  {
    id: "schema-too-deep",
    severity: "warning",
    why: "A model fills deep nesting poorly, and one provider refuses more than 10 levels.",
    docs: strict,
    clauses: ["at most 10 levels"],
    *check({ tool }) {
      const { places, cut } = walkToolSchema(tool, "inputSchema");
      const at = places.find(({ level }) => level > deepest)?.at ?? (cut?.by === "depth" ? cut.at : undefined);
      if (!at) return;
      const message = `The schema is nested more than ${deepest} levels deep.`;
      yield { at: at.slice(0, 3 * deepest), message, fix: "Flatten it: parameters of their own, or a second tool." };
    },
  },
  {
    id: "schema-too-large",
    severity: "warning",
    why: "The schema is sent with every request; one provider refuses more than 5,000 properties.",
    docs: strict,
    clauses: ["at most 5,000 properties", "at most 100,000 characters"],
    *check({ tool }) {
      const { places, cut } = walkToolSchema(tool, "inputSchema");
      const properties = places.filter(({ role }) => role === "property").length;
      const fix = "Leave out what a model need not choose. What is beyond the limit was not checked.";
      const most =
        properties > mostProperties ? `${count(mostProperties)} properties` : `${count(maxPlaces)} schemas in it`;
      if (properties > mostProperties || cut?.by === "number") {
        yield { at: ["inputSchema"], message: `The inputSchema has more than ${most}.`, fix };
      }
      if (!textsOf(tool).whole)
        yield { at: [], message: `The tool has more than ${count(maxSearched)} characters.`, fix };
    },
  },
];

/** A check of every `$ref` that leads to a place of one kind. */
function inRefs(kind: "nowhere" | "remote", say: (ref: string) => Omit<Violation, "at">): Rule<ToolSubject>["check"] {
  return function* ({ tool }) {
    for (const field of ["inputSchema", "outputSchema"] as const) {
      const walk = walkToolSchema(tool, field);
      for (const { schema, at } of walk.places) {
        const { $ref } = schema;
        if (typeof $ref === "string" && followRef($ref, walk).kind === kind)
          yield { at: [...at, "$ref"], ...say(quote($ref)) };
      }
    }
  };
}

import { parseWords } from "../../../base/collections.ts";
import { listProperties } from "../../../base/jsonSchema/keywords.ts";
import { splitName } from "../../../base/text/nearest.ts";
import { quote, showValues } from "../../../base/text/text.ts";
import { isJsonObject, type Json } from "../../../base/types/json.ts";
import { listNames } from "../language.ts";
import { defineRules, type ToolSubject, type ToolsetSubject } from "../rule.ts";

const docs = "https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations";
export const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

/** Rules about annotations, which hosts use to decide whether to ask the user before a call. */
export const annotationRules = defineRules<ToolSubject>(docs, [
  {
    id: "annotation-against-verb",
    why: "A host asks the user by the hints and a model chooses by the name; here the two disagree.",
    at: ["annotations", "readOnlyHint"],
    *check({ server, tool: { name, annotations, inputSchema } }) {
      if (typeof name !== "string" || !isJsonObject(annotations)) return;
      const isReadOnly = annotations.readOnlyHint === true;
      const operation = isReadOnly ? findChange(inputSchema) : undefined;
      if (operation) {
        const message = `readOnlyHint is true, but ${quote(operation.parameter)} can be ${quote(operation.value)}.`;
        yield { message, fix: "Set readOnlyHint to false, or make a second tool for what changes something." };
      }
      const verb = readVerb(name, server);
      if (isReadOnly && (changing.has(verb) || deleting.has(verb))) {
        const message = `readOnlyHint is true, but a tool named "${verb}" changes something.`;
        yield { message, fix: "Set readOnlyHint to false, or name the tool for what it reads." };
      }
      if (annotations.destructiveHint === false && !isReadOnly && deleting.has(verb)) {
        const message = `destructiveHint is false, but a tool named "${verb}" destroys something.`;
        const fix = "Set destructiveHint to true, or choose a verb that says what is kept.";
        yield { at: ["annotations", "destructiveHint"], message, fix };
      }
    },
  },
]);

const deleting = parseWords("delete destroy drop erase purge truncate wipe");
const changing = parseWords(
  "create edit insert modify move overwrite patch publish remove rename replace send update upload write",
);

const operations = parseWords("action operation op command subcommand method verb");
/** Verbs that change something if they are the whole operation, unlike runQuery, which may only read. */
const writes = parseWords("add append clear disable enable install put restart set start stop trigger");

/** Finds an operation that changes something: a parameter such as `action`, and one of its values. */
function findChange(inputSchema: Json | undefined): { parameter: string; value: string } | undefined {
  const parameters = isJsonObject(inputSchema) ? listProperties(inputSchema).slice(0, 100) : [];
  for (const [parameter, schema] of parameters) {
    if (!operations.has(parameter.toLowerCase()) || !isJsonObject(schema) || !Array.isArray(schema.enum)) continue;
    const value = schema.enum.slice(0, 100).find((one) => {
      const [verb = "", object] = typeof one === "string" ? splitName(one) : [];
      // With an object the verb may mean something else: uploadPlan may return a plan.
      return deleting.has(verb) || (object === undefined && (changing.has(verb) || writes.has(verb)));
    });
    if (typeof value === "string") return { parameter, value };
  }
  return undefined;
}

export const sharedAnnotationRules = defineRules<ToolsetSubject>(docs, [
  {
    id: "annotations-missing",
    severity: "info",
    why: "Without annotations a host takes a tool for destructive, and asks the user before each call.",
    fix: "Set readOnlyHint on tools that change nothing, and destructiveHint on the others.",
    *check({ tools }) {
      const without = tools.filter(
        ({ annotations = {} }) => isJsonObject(annotations) && !hints.some((hint) => Object.hasOwn(annotations, hint)),
      );
      const [first] = without;
      if (!first) return;
      const message = `${without.length} of ${tools.length} tools have no annotations: ${showValues(listNames(without))}.`;
      yield { at: [tools.indexOf(first), "annotations"], message };
    },
  },
]);

/** The first word of a name after the server's name: `create` in `github_create_issue` of the server github. */
function readVerb(name: string, server: string): string {
  const own = new Set(splitName(server));
  return splitName(name).find((word) => !own.has(word)) ?? "";
}

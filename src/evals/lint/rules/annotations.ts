import { isJsonObject, type JsonObject } from "../../types/json.ts";
import { quote, showValue } from "../../types/text.ts";
import { defineRules, type ToolSubject } from "../rule.ts";
import { splitName } from "../text.ts";

const docs = "https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations";
const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

/** What hosts read to decide whether to ask the user before a call. */
export const annotationRules = defineRules<ToolSubject>([
  {
    id: "annotation-shape",
    severity: "error",
    docs,
    why: "Clients check the shape of the list, and reject all of it for one hint that is not a boolean.",
    clauses: ["annotations are an object", "hints are true or false", "a title is a string that is not blank"],
    *check({ tool: { annotations, title } }) {
      if (title !== undefined) yield* checkTitle(title, ["title"]);
      if (annotations === undefined) return;
      if (!isJsonObject(annotations)) {
        const message = `annotations is ${showValue(annotations)}, not an object.`;
        yield { at: ["annotations"], message, fix: "Make annotations an object of hints, or remove it." };
        return;
      }
      for (const hint of hints) {
        const value = annotations[hint];
        if (value === undefined || typeof value === "boolean") continue;
        const message = `${hint} is ${showValue(value)}, not true or false.`;
        yield { at: ["annotations", hint], message, fix: `Make ${hint} true or false, or remove it.` };
      }
      if (annotations.title !== undefined) yield* checkTitle(annotations.title, ["annotations", "title"]);
    },
  },
  {
    id: "annotation-unknown",
    severity: "warning",
    docs,
    why: "Hosts ignore a misspelled hint and use the cautious default instead.",
    clauses: ["hints are spelled as in the protocol"],
    *check({ tool: { annotations } }) {
      if (!isJsonObject(annotations)) return;
      for (const key of Object.keys(annotations).slice(0, 1000)) {
        const meant = hints.find((hint) => hint !== key && stem(hint) === stem(key));
        if (!meant || Object.hasOwn(annotations, meant)) continue;
        const message = `${quote(key)} is not an annotation of the protocol.`;
        yield { at: ["annotations", key], message, fix: `Spell it ${meant}.` };
      }
    },
  },
  {
    id: "annotation-contradiction",
    severity: "error",
    docs,
    why: "A host that trusts readOnlyHint calls the tool without asking, whatever the other hints say.",
    clauses: ["a read-only tool is not destructive"],
    at: ["annotations", "destructiveHint"],
    fix: "Set the wrong one to false.",
    find: ({ tool: { annotations } }) =>
      isJsonObject(annotations) &&
      annotations.readOnlyHint === true &&
      annotations.destructiveHint === true &&
      "readOnlyHint and destructiveHint are both true.",
  },
  {
    id: "annotation-against-verb",
    severity: "warning",
    docs,
    why: "A host asks the user by the hints and a model chooses by the name; here the two disagree.",
    clauses: ["a tool named for a change is not read-only", "a tool named for a deletion is destructive"],
    *check({ server, tool: { name, annotations } }) {
      if (typeof name !== "string" || !isJsonObject(annotations)) return;
      const verb = readVerb(name, server);
      if (annotations.readOnlyHint === true && (changing.has(verb) || deleting.has(verb))) {
        const message = `readOnlyHint is true, but a tool named "${verb}" changes something.`;
        const fix = "Set readOnlyHint to false, or name the tool for what it reads.";
        yield { at: ["annotations", "readOnlyHint"], message, fix };
      }
      if (annotations.destructiveHint === false && annotations.readOnlyHint !== true && deleting.has(verb)) {
        const message = `destructiveHint is false, but a tool named "${verb}" destroys something.`;
        const fix = "Set destructiveHint to true, or choose a verb that says what is kept.";
        yield { at: ["annotations", "destructiveHint"], message, fix };
      }
    },
  },
]);

const deleting = new Set("delete destroy drop erase purge truncate wipe".split(" "));
const changing = new Set(
  "create edit insert modify move overwrite patch publish remove rename replace send update upload write".split(" "),
);

/** The first word of a name that is not the server's: `create` in `github_create_issue` of the server github. */
function readVerb(name: string, server: string): string {
  const own = new Set(splitName(server));
  return splitName(name).find((word) => !own.has(word)) ?? "";
}

function stem(hint: string): string {
  const letters = hint
    .slice(0, 100)
    .toLowerCase()
    .replace(/[^a-z]/g, "");
  return letters.replace(/hint$/, "");
}

function* checkTitle(title: JsonObject[string], at: readonly string[]) {
  if (typeof title === "string" && title.trim() !== "") return;
  const message = "The title is not a string, or it is blank.";
  yield { at, message, fix: "Give the tool a name for people in a few words, or remove the title." };
}

import { isJsonObject } from "../../types/json.ts";
import { quote, showValue } from "../../types/quote.ts";
import type { Rule, ToolSubject } from "../rule.ts";
import { wordsOf } from "../text.ts";

const docs = "https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations";
const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

/** What hosts read to decide whether to ask the user before a call. */
export const annotationRules: readonly Rule<ToolSubject>[] = [
  {
    id: "annotation-shape",
    severity: "error",
    why: "Clients check the shape of the list, and refuse all of it for one hint that is not true or false.",
    docs,
    clauses: ["annotations are an object", "hints are true or false", "a title is a text that is not blank"],
    *check({ tool }) {
      const { annotations, title } = tool;
      if (title !== undefined) yield* blankTitle(title, ["title"]);
      if (annotations === undefined) return;
      if (!isJsonObject(annotations)) {
        const message = `annotations is ${showValue(annotations)}, not an object.`;
        yield { at: ["annotations"], message, fix: "Make annotations an object of hints, or leave it out." };
        return;
      }
      for (const hint of hints) {
        const value = annotations[hint];
        if (value === undefined || typeof value === "boolean") continue;
        const message = `${hint} is ${showValue(value)}, not true or false.`;
        yield { at: ["annotations", hint], message, fix: `Make ${hint} true or false, or leave it out.` };
      }
      if (annotations.title !== undefined) yield* blankTitle(annotations.title, ["annotations", "title"]);
    },
  },
  {
    id: "annotation-unknown",
    severity: "warning",
    why: "A hint that is not spelled as the protocol has it is ignored, and the cautious default holds instead.",
    docs,
    clauses: ["hints are spelled as the protocol has them"],
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
    why: "A host that believes readOnlyHint calls the tool without asking, whatever the other hints say.",
    docs,
    clauses: ["a tool that only reads destroys nothing"],
    *check({ tool: { annotations } }) {
      if (!isJsonObject(annotations) || annotations.readOnlyHint !== true || annotations.destructiveHint !== true)
        return;
      const message = "readOnlyHint and destructiveHint are both true.";
      yield { at: ["annotations", "destructiveHint"], message, fix: "Set to false the one that is wrong." };
    },
  },
  {
    id: "annotation-against-verb",
    severity: "warning",
    why: "A host asks the user by the hints and a model chooses by the name; here the two say different things.",
    docs,
    clauses: ["a tool named for a change is not read-only", "a tool named for a deletion is destructive"],
    *check({ server, tool: { name, annotations } }) {
      if (typeof name !== "string" || !isJsonObject(annotations)) return;
      const verb = verbOf(name, server);
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
];

const deleting = new Set(["delete", "destroy", "drop", "erase", "purge", "truncate", "wipe"]);
const changing = new Set(
  ["create", "edit", "insert", "modify", "move", "overwrite", "patch", "publish"].concat([
    "remove",
    "rename",
    "replace",
    "send",
    "update",
    "upload",
    "write",
  ]),
);

/** The first word of a name that is not the server's: `github_create_issue` of the server github does `create`. */
function verbOf(name: string, server: string): string {
  const own = new Set(wordsOf(server));
  return wordsOf(name).find((word) => !own.has(word)) ?? "";
}

function stem(hint: string): string {
  return hint
    .slice(0, 100)
    .toLowerCase()
    .replace(/[^a-z]/g, "")
    .replace(/hint$/, "");
}

function* blankTitle(title: unknown, at: readonly string[]) {
  if (typeof title === "string" && title.trim() !== "") return;
  const message = "The title is not a text with something in it.";
  yield { at, message, fix: "Say in a few words what a person would call the tool, or leave the title out." };
}

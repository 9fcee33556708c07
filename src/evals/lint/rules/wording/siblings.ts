import { isJsonObject, type Json } from "../../../types/json.ts";
import { nearest } from "../../../types/nearest.ts";
import { unquotedDescription } from "../../language/description.ts";
import { startsWithVerb } from "../../language/verbs.ts";
import type { Rule, ToolSubject } from "../../rule.ts";
import { quote, wordsOf } from "../../schema/text.ts";
import { upTo } from "../../upTo.ts";

const docs = "https://www.anthropic.com/engineering/writing-tools-for-agents";
/** Names and values that are looked at in a schema, and siblings that are held against a name that is not listed. */
const mostNames = 2000;
const mostSiblings = 25;

/** That the tools which a description sends a model to are there. */
export const siblingRules: readonly Rule<ToolSubject>[] = [
  {
    id: "sibling-exists",
    severity: "warning",
    why: "A model that is sent to a tool which is not listed calls it all the same, or gives up.",
    docs,
    clauses: ["a tool named in the description is listed"],
    *check({ tool, siblings }) {
      const text = unquotedDescription(tool);
      // A tool by itself: what is listed beside it is not known.
      if (text === undefined || siblings.size === 0) return;
      const missing = new Set(toolsNamed(text).filter((one) => one !== tool.name && !siblings.has(one)));
      if (missing.size === 0) return;
      const listed = upTo(mostSiblings, siblings);
      const styles = new Set(listed.map(styleOf));
      const known = [namesIn(tool.inputSchema), namesIn(tool.outputSchema)];
      for (const named of missing) {
        if (!styles.has(styleOf(named)) || known.some((names) => names.has(named))) continue;
        const close = nearest(named, listed);
        yield {
          at: ["description"],
          message: `The description names the tool ${quote(named)}, which is not listed.`,
          fix: close === undefined ? "Name a tool that is listed, or list this one." : `Did you mean ${quote(close)}?`,
        };
      }
    },
  },
];

const cue =
  "\\b(?:[Uu]se|[Cc]all|[Rr]un|[Ii]nvoke|[Tt]ry|[Pp]refer|[Ss]ee|with|from|by|via|pass(?:es|ing)? \\S{1,40} to)";
/** `get_order`, `getOrder`, `get-order`. A hyphen joins plain words too, so that it needs marks of code. */
const marked = "`([a-z][a-z0-9]*(?:[_-][a-z0-9]+|[A-Z][a-z0-9]*)+)(?:\\(\\))?`";
const bare = "([a-z][a-z0-9]*(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\\b(?:\\(\\))?";
const handedTo = new RegExp(`${cue} (?:the )?(?:${marked}|${bare})`, "g");
const calledTool = new RegExp(`\\bthe (?:${marked}|${bare}) tool\\b`, "g");
/** What a name of a value ends with: `sort_by`, `order_id`, `read_only`. */
const values = new Set("id ids by at on only to count token key url type name ref refs first last all".split(" "));

/** The names in a text that it sends the model to: called a tool, or after a verb such as use and like a tool's. */
function toolsNamed(text: string): readonly string[] {
  const named = (form: RegExp) => [...text.matchAll(form)].map(([, code, word]) => code ?? word ?? "");
  const likely = named(handedTo).filter((name) => {
    const words = wordsOf(name);
    return startsWithVerb(words) && !values.has(words.at(-1) ?? "");
  });
  return [...named(calledTool), ...likely];
}

/** How the words of a name are joined: a name joined as none of the siblings is one of a value. */
function styleOf(name: string): "_" | "-" | "camel" {
  return name.includes("_") ? "_" : name.includes("-") ? "-" : "camel";
}

/** The property names and allowed values of a schema, as far as a bound on what is looked at. */
function namesIn(schema: Json | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  const waiting: (Json | undefined)[] = [schema];
  for (let looked = 0; looked < mostNames && waiting.length > 0; looked++) {
    const next = waiting.pop();
    if (typeof next === "string") names.add(next);
    else if (Array.isArray(next)) waiting.push(...next.slice(0, mostNames));
    else if (isJsonObject(next)) {
      for (const key of Object.keys(next).slice(0, mostNames)) {
        names.add(key);
        waiting.push(next[key]);
      }
    }
  }
  return names;
}

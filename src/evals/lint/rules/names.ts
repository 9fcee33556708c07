import { walkToolSchema } from "../../jsonSchema/walk.ts";
import { once } from "../../types/once.ts";
import { quote, showValues } from "../../types/quote.ts";
import { isEnglish } from "../language.ts";
import type { Rule, ToolSubject, ToolsetSubject, Violation } from "../rule.ts";
import { wordsOf } from "../text.ts";
import { startsWithVerb, verbIn, verbKind } from "../verbs.ts";

const longest = 64;

/** The names of a tool and of its parameters. */
export const nameRules: readonly Rule<ToolSubject>[] = [
  {
    id: "name-missing",
    severity: "error",
    why: "A tool without a name cannot be called, and clients refuse the whole list that it stands in.",
    docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool",
    clauses: ["there is a name", "the name is a text", "the name is not empty"],
    *check({ tool: { name } }) {
      if (typeof name === "string" && name !== "") return;
      const what = name === undefined ? "The tool has no name." : "The name is not a text of one character or more.";
      yield { at: ["name"], message: what, fix: "Name the tool with a verb and what it acts on, such as get_weather." };
    },
  },
  {
    id: "name-length",
    severity: "error",
    why: "Several model interfaces refuse a name of more than 64 characters, and hosts cut it or put a hash into it.",
    docs: "https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools",
    clauses: ["at most 64 characters with the prefix of a host"],
    *check({ tool: { name }, shownName }) {
      const over = shownName.length - longest;
      if (typeof name !== "string" || over <= 0) return;
      const message = `A host shows the tool as ${quote(shownName)}, which has ${shownName.length} characters.`;
      const what = name.length > longest ? "the name" : "the name of the tool or of the server";
      yield { at: ["name"], message, fix: `Shorten ${what} by ${over} or more, to ${longest} characters in all.` };
    },
  },
  {
    id: "name-charset",
    severity: "error",
    why: "Model interfaces take letters, digits, _ and - in a name, and refuse a request with any other.",
    docs: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools#specifying-client-tools",
    clauses: ["only letters, digits, _ and -", "no dots"],
    *check({ tool: { name } }) {
      if (typeof name !== "string") return;
      const wrong = [...new Set(name.slice(0, 1000).replace(/[A-Za-z0-9_-]/g, ""))];
      if (wrong.length === 0) return;
      const message = `The name ${quote(name)} has characters that model interfaces refuse: ${showValues(wrong)}.`;
      yield { at: ["name"], message, fix: "Use letters, digits, _ and - only, for example _ in place of a dot." };
    },
  },
  {
    id: "parameter-name-vague",
    severity: "warning",
    why: "A model fills a parameter by its name first; a name that says nothing is filled by guessing.",
    docs: "https://www.anthropic.com/engineering/writing-tools-for-agents",
    clauses: ["more than one letter", "no stand-in such as data, arg1 or val"],
    *check({ tool }) {
      for (const { role, name, at } of walkToolSchema(tool, "inputSchema").places) {
        if (role === "property" && at.length === parameterDepth) yield* vague(name, at);
      }
    },
  },
];

/** What only the list shows. */
export const sharedNameRules: readonly Rule<ToolsetSubject>[] = [
  {
    id: "name-shared",
    severity: "error",
    why: "A call names its tool: of two with one name only one can be called, and clients refuse such a list.",
    docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool",
    clauses: ["no two tools of a list have one name"],
    *check({ tools }) {
      const seen = new Set<string>();
      for (const [at, { name }] of tools.entries()) {
        if (typeof name !== "string") continue;
        if (seen.has(name)) {
          const message = `Another tool before it has the name ${quote(name)}.`;
          yield { at: [at, "name"], message, fix: "Name each tool for what only it does, or list it once." };
        }
        seen.add(name);
      }
    },
  },
];

/** inputSchema, properties, name: what is deeper is named in the light of what it belongs to. */
const parameterDepth = 3;
/** Letters that are names by themselves: coordinates. */
const plainLetters = new Set(["x", "y", "z"]);
const standIns = /^(?:(?:arg|val|var|data|obj|tmp|foo|bar|baz|thing|stuff)\d*|(?:args|input|param|value|field)\d+)$/i;

function* vague(name: string, at: Violation["at"]): Iterable<Violation> {
  const fix = "Name it for what it holds, such as city or max_results.";
  if (/^\p{L}\d*$/u.test(name) && !plainLetters.has(name.toLowerCase().replace(/\d+$/, ""))) {
    yield { at, message: `The parameter name ${quote(name)} is a mere letter.`, fix };
  } else if (standIns.test(name)) {
    yield { at, message: `The parameter name ${quote(name)} could stand for anything.`, fix };
  }
}

/** So many siblings tell whether a first word is shared by all of the list. */
const mostCompared = 50;
const determiners = "(?:a|an|the|all|any|one|some|this|your|its|up|each|every|multiple|new)";

/** What the name of a tool says of what it does. */
export const nameWordingRules: readonly Rule<ToolSubject>[] = [
  {
    id: "name-verb",
    severity: "warning",
    why: "A name that starts with what the tool does is told from its siblings at first sight; a noun could be any of them.",
    docs: "https://www.anthropic.com/engineering/writing-tools-for-agents",
    clauses: ["starts with a verb, after what all names of the list share"],
    *check(subject) {
      const { name, description } = subject.tool;
      if (typeof name !== "string" || !/[A-Za-z]/.test(name)) return;
      const starts = startsOf(subject);
      if (starts.some(startsWithVerb)) return;
      const said = typeof description === "string" ? description.slice(0, 500) : "";
      // Another language has other verbs, and no list of English ones has all.
      if (said.trim() !== "" && !isEnglish(said)) return;
      if (starts.some(([first = ""]) => isUsedAsVerb(first, said))) return;
      const verb = verbIn(starts.at(-1) ?? []);
      yield {
        at: ["name"],
        message: `The name ${quote(name)} does not start with a verb.`,
        fix:
          verb === undefined
            ? "Start it with what the tool does, such as get_ or create_."
            : `Put ${quote(verb)} first.`,
      };
    },
  },
  {
    id: "name-kind",
    severity: "warning",
    why: "A verb such as handle or manage does not tell a query from a change, so a model calls it to look and changes something.",
    docs: "https://www.anthropic.com/engineering/writing-tools-for-agents",
    clauses: ["the verb tells a query, a mutation or an action"],
    *check(subject) {
      const { name } = subject.tool;
      if (typeof name !== "string") return;
      const starts = startsOf(subject).filter(startsWithVerb);
      const vague = starts.map(([first = ""]) => first).find((first) => verbKind(first) === "vague");
      if (vague === undefined || starts.some(([first = ""]) => verbKind(first) !== "vague")) return;
      yield {
        at: ["name"],
        message: `${quote(vague)} in the name ${quote(name)} leaves open whether the tool looks something up or changes it.`,
        fix: "Take a verb that says so, such as get_, create_, update_ or send_; split a tool that does several of these.",
      };
    },
  },
];

/** Whether the names of a list, the first of them, have this word at this place. */
function allShare(names: Iterable<string>, at: number, word: string | undefined): boolean {
  let seen = 0;
  for (const name of names) {
    if (wordsOf(name)[at] !== word) return false;
    if (++seen >= mostCompared) break;
  }
  return true;
}

/** The words of a name from where a verb may stand: its start, after its last dot, and after what all names share. */
const startsOf = once(({ server, siblings, tool: { name } }: ToolSubject): readonly (readonly string[])[] => {
  if (typeof name !== "string") return [];
  const words = wordsOf(name);
  const starts = [words, wordsOf(name.slice(name.lastIndexOf(".") + 1))];
  const own = wordsOf(server);
  for (let at = 0; at < Math.min(3, words.length - 1); at++) {
    const shared = siblings.size > 1 && allShare(siblings, at, words[at]);
    if (!shared && own[at] !== words[at]) break;
    starts.push(words.slice(at + 1));
  }
  return starts;
});

/** Whether the description has the word where a verb stands: "Defrosts the fridge". */
function isUsedAsVerb(word: string, description: string): boolean {
  return /^[a-z]{3,20}$/.test(word) && new RegExp(`^\\W*${word}e?s? ${determiners}\\b`, "i").test(description);
}

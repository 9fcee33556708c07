import { once } from "../../../base/collections.ts";
import { splitName } from "../../../base/text/nearest.ts";
import { quote, showValues } from "../../../base/text/text.ts";
import { findVerb, getVerbKind, isEnglish, readText, startsWithVerb } from "../language.ts";
import { defineRules, inParameters, type ToolSubject } from "../rule.ts";

const writing = "https://www.anthropic.com/engineering/writing-tools-for-agents";
const toolsOfAnthropic =
  /^(?:web_search|web_fetch|code_execution|computer|bash|memory|str_replace_based_edit_tool|tool_search_tool_(?:regex|bm25))$/;
const maxLength = 64;
const maxShown = 128;

export const nameRules = defineRules<ToolSubject>(writing, [
  {
    id: "name-length",
    severity: "error",
    docs: "https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools",
    why: "OpenAI's API rejects a name of more than 64 characters; Claude Code leaves a tool out whose name has more than 128 with its prefix.",
    at: ["name"],
    *check({ tool, shownName }) {
      const name = readText(tool.name);
      if (name.length > maxLength) {
        const fix = `Shorten it by at least ${name.length - maxLength}.`;
        yield { message: `The name ${quote(name)} has ${name.length} characters.`, fix };
      } else if (shownName.length > maxShown) {
        const message = `A host shows the tool as ${quote(shownName)}, which has ${shownName.length} characters.`;
        const fix = `Shorten the name of the tool or of the server by at least ${shownName.length - maxShown}.`;
        yield { message, fix };
      }
    },
  },
  {
    id: "name-charset",
    severity: "error",
    docs: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools#specifying-client-tools",
    why: "Model APIs accept letters, digits, _ and - in a name, and reject a request with any other character.",
    at: ["name"],
    fix: "Use letters, digits, _ and - only, for example _ instead of a dot.",
    find({ tool }) {
      const name = readText(tool.name);
      const invalid = [...new Set(name.slice(0, 1000).replace(/[A-Za-z0-9_-]/g, ""))];
      const message = `The name ${quote(name)} has characters that model APIs reject: ${showValues(invalid)}.`;
      return invalid.length > 0 && message;
    },
  },
  {
    id: "name-start",
    docs: "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/nodejs/latest/vertexai/functiondeclaration",
    why: "Gemini's API refuses a name that does not start with a letter or _.",
    at: ["name"],
    fix: "Put a letter or _ first.",
    find({ tool }) {
      const name = readText(tool.name);
      return /^[\d-]/.test(name) && `The name ${quote(name)} starts with ${quote(name.charAt(0))}.`;
    },
  },
  {
    id: "name-reserved",
    docs: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference",
    why: "Newer models of OpenAI refuse a request with a function called python, and Anthropic's API one with two tools of the same name: a host that shows names without a prefix and offers a tool of the API, such as web_search, sends two.",
    at: ["name"],
    fix: "Name it for what it works on, such as notes_search.",
    find({ tool }) {
      const name = readText(tool.name);
      // https://github.com/Kohaku-Lab/KohakuTerrarium/issues/80
      if (name === "python") return 'The name "python" is reserved by newer models of OpenAI.';
      return toolsOfAnthropic.test(name) && `The name ${quote(name)} is that of a tool of Anthropic's API.`;
    },
  },
  {
    id: "parameter-name-refused",
    severity: "error",
    docs: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools#specifying-client-tools",
    why: "Anthropic's API refuses a request in which a parameter has another name than ^[a-zA-Z0-9_.-]{1,64}$.",
    fix: "Use letters, digits, _, . and - only.",
    check: inParameters(function* (name, { at }) {
      if (/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) return;
      const named = `The parameter name ${quote(name)} has`;
      if (name.length <= maxLength) yield { at, message: `${named} characters that Anthropic's API refuses.` };
      else {
        const fix = `Shorten it by at least ${name.length - maxLength}.`;
        yield { at, message: `${named} ${name.length} characters.`, fix };
      }
    }),
  },
  {
    id: "parameter-name-vague",
    profile: "spec",
    why: "A model fills a parameter by its name first, and guesses when the name says nothing.",
    fix: "Name it for what it holds, such as city or max_results.",
    // The context explains deeper names.
    check: inParameters(function* (name, { at }) {
      const reason = explainVagueness(name);
      if (reason !== undefined) yield { at, message: `The parameter name ${quote(name)} is ${reason}.` };
    }),
  },
]);

const placeholder =
  /^(?:(?:arg|val|var|data|obj|tmp|foo|bar|baz|thing|stuff)\d*|(?:args|input|param|value|field)\d+)$/i;

/** Letters other than those of coordinates, and placeholders. */
function explainVagueness(name: string): string | undefined {
  if (/^\p{L}\d*$/u.test(name) && !/^[xyz]/i.test(name)) return "a single letter";
  return placeholder.test(name) ? "a placeholder" : undefined;
}

export const nameWordingRules = defineRules<ToolSubject>(writing, [
  {
    id: "name-verb",
    profile: "spec",
    why: "A name that starts with what the tool does stands out among its siblings; a noun could be any of them.",
    at: ["name"],
    *check(subject) {
      const name = readText(subject.tool.name);
      if (!/[A-Za-z]/.test(name)) return;
      const starts = listStarts(subject);
      if (starts.some(startsWithVerb)) return;
      const text = readText(subject.tool.description).slice(0, 500);
      // Other languages have other verbs. The list of English verbs is not complete, so the description is read too.
      if (text.trim() !== "" && !isEnglish(text)) return;
      if (starts.some(([first = ""]) => isUsedAsVerb(first, text))) return;
      const verb = findVerb(starts.at(-1) ?? []);
      const fix =
        verb === undefined ? "Start it with what the tool does, such as get_ or create_." : `Put ${quote(verb)} first.`;
      yield { message: `The name ${quote(name)} does not start with a verb.`, fix };
    },
  },
  {
    id: "name-kind",
    profile: "spec",
    why: "A verb such as handle or manage covers both reading and writing, so a model calls it to read and changes something.",
    at: ["name"],
    fix: "Use a specific verb, such as get_, create_, update_ or send_; split a tool that does several of these.",
    find(subject) {
      const starts = listStarts(subject).filter(startsWithVerb);
      const verbs = starts.map(([first = ""]) => first);
      const [vague] = verbs;
      if (vague === undefined || verbs.some((verb) => getVerbKind(verb) !== "vague")) return undefined;
      const name = quote(readText(subject.tool.name));
      return `${quote(vague)} in the name ${name} does not say whether the tool reads or changes something.`;
    },
  },
]);

/** The words of a name from each position where a verb may be: the start, after the last dot, after a shared prefix. */
const listStarts = once(({ server, names, tool }: ToolSubject) => {
  const name = readText(tool.name);
  const words = splitName(name);
  const starts = [words, splitName(name.slice(name.lastIndexOf(".") + 1))];
  const own = splitName(server);
  for (let at = 0; at < Math.min(3, words.length - 1); at++) {
    const sharing = countPrefixes(names).get(words.slice(0, at + 1).join(" ")) ?? 0;
    // A list may have tools of several services, each with a first word as its prefix. Further words are only a prefix
    // if all names share them; otherwise they name an object.
    const isShared = names.size > 2 && sharing >= (at === 0 ? Math.min(leastSharing, names.size) : names.size);
    if (!isShared && own[at] !== words[at]) break;
    starts.push(words.slice(at + 1));
  }
  return starts;
});

/** A first word that at least this many names share is the prefix of a service. */
const leastSharing = 4;

/** Counts the names of a list that begin with the same one, two or three words. */
const countPrefixes = once((names: ToolSubject["names"]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const name of names) {
    const words = splitName(name);
    for (let length = 1; length <= Math.min(3, words.length); length++) {
      const prefix = words.slice(0, length).join(" ");
      counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
    }
  }
  return counts;
});

const determiners = "(?:a|an|the|all|any|one|some|this|your|its|up|each|every|multiple|new)";

/** Whether the description uses the word as a verb: "Defrosts the fridge". */
function isUsedAsVerb(word: string, description: string): boolean {
  return /^[a-z]{3,20}$/.test(word) && new RegExp(`^\\W*${word}e?s? ${determiners}\\b`, "i").test(description);
}

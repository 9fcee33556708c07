import { isEnglish } from "../../language/english.ts";
import { startsWithVerb, verbIn, verbKind } from "../../language/verbs.ts";
import { once } from "../../once.ts";
import type { Rule, ToolSubject } from "../../rule.ts";
import { quote, wordsOf } from "../../schema/text.ts";

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

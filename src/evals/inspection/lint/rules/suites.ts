import * as z from "zod";
import { getOrAdd } from "../../../base/collections.ts";
import { type SearchableTool, toSearchDocument } from "../../../base/search/document.ts";
import { buildKeywordFinder } from "../../../base/search/keyword.ts";
import { mentionsName, quote, squeeze } from "../../../base/text/text.ts";
import { isJsonObject, type Path } from "../../../base/types/json.ts";
import { skillEntryName } from "../../../base/types/skill.ts";
import { type Case, findRepeatedQueries, listCaseCalls } from "../../../base/types/suite.ts";
import { some } from "../../../reports/format.ts";
import { recognizeDispatchers, writeDispatch } from "../../dispatchers.ts";
import { listQueryWords } from "../../search/evaluate.ts";
import { listNames, readText } from "../language.ts";
import { defineRules, type EvalsFileSubject, type SuiteSubject } from "../rule.ts";

const docs = "docs/lint-rules.md";
const minCases = 5;

export const suiteRules = defineRules<SuiteSubject>(docs, [
  {
    id: "suite-size",
    why: "Fewer than about 5 to 10 typical queries say little about which tool a model picks.",
    at: [],
    fix: "Write about 5 to 10 queries in the words of users.",
    find: ({ suite: { cases } }) =>
      cases.length < minCases && `The suite has only ${cases.length} ${cases.length === 1 ? "case" : "cases"}.`,
  },
  {
    id: "negative-case",
    why: "Without a query that needs no tool, nothing shows that a description attracts too many queries.",
    at: ["cases"],
    *check({ suite }) {
      const { cases } = suite;
      const kinds = new Set(cases.map(({ expect }) => expect?.kind));
      const skills = new Set(cases.flatMap(({ expect }) => (expect?.kind === "skill" ? [expect.skill] : [])));
      if (kinds.has("none") || kinds.has("avoid") || skills.has("none")) return;
      const wanted = (["tool", "any", "calls"] as const).some((kind) => kinds.has(kind)) ? "tool" : "skill";
      if (wanted === "skill" && skills.size === 0) return;
      const [only] = skills;
      const fix =
        suite.name === skillEntryName(only ?? "")
          ? 'Add a near miss with "should_trigger": false: close to what the skill does, but not its task.'
          : `Add a query that is close to the others and expects \`${wanted}: none\`.`;
      yield { message: `Every case expects a ${wanted}, so over-triggering is not measured.`, fix };
    },
  },
  {
    id: "tool-coverage",
    severity: "info",
    why: "A tool that no case expects can become unusable without a failing case.",
    at: ["cases"],
    fix: "Add a query for each tool that users rely on.",
    find({ suite, listed = [] }) {
      const tools = listNames(listed);
      const expected = new Set(suite.cases.flatMap(listExpectedNames));
      const missed = tools.filter((name) => !expected.has(name) && !Object.hasOwn(suite.dispatch ?? {}, name));
      return missed.length > 0 && `No case expects ${missed.length} of ${tools.length} listed tools: ${some(missed)}.`;
    },
  },
  {
    id: "duplicate-input",
    why: "A query that is asked twice counts twice in every rate, and adds no information.",
    fix: "Rephrase it, or raise `trials` of one of them.",
    *check({ suite }) {
      for (const { index, id, first } of findRepeatedQueries(suite.cases))
        yield { at: ["cases", index], message: `The case "${id}" asks the same as "${first}".` };
    },
  },
  {
    id: "answer-in-input",
    why: "A query that names its tool is answered with any description; users do not know the names.",
    fix: "Write it like a user who has never seen the tool list.",
    *check({ suite }) {
      for (const [index, one] of suite.cases.entries()) {
        const messages = [...one.messages.filter(({ role }) => role === "user"), ...(one.turns ?? [])];
        const asked = messages.map(({ content }) => content.toLowerCase());
        const names = listExpectedNames(one);
        // Skills also in words: "use the image compressor skill".
        if (one.expect?.kind === "skill") names.push(...names.map((name) => name.replaceAll("-", " ")));
        const name = names.find((name) => asked.some((text) => mentionsName(text, name)));
        if (name === undefined) continue;
        yield { at: ["cases", index], message: `The query of the case "${one.id}" contains the answer: ${name}.` };
      }
    },
  },
  {
    id: "query-in-description",
    why: "A query that a description quotes as an example is answered by it, and says nothing about other requests.",
    fix: "Use another query, or remove the example from the description.",
    *check({ suite, listed = [] }) {
      const texts = new Map(listed.map(({ name, description }) => [name, toPlain(description)]));
      for (const [index, one] of suite.cases.entries()) {
        const query = toPlain(one.messages.at(-1)?.content);
        if (query.length < shortestQuery) continue;
        const name = listExpectedNames(one).find((expected) => texts.get(expected)?.includes(query));
        if (name === undefined) continue;
        const message = `The description of "${name}" contains the query of the case "${one.id}".`;
        yield { at: ["cases", index], message };
      }
    },
  },
  {
    id: "tool-not-searchable",
    docs: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool",
    why: "Hosts that defer tools search for literal words; a tool without a word of the query is never found.",
    fix: 'Add words that users say to the description, or to `_meta["anthropic/searchHint"]`.',
    *check({ suite, listed = [] }) {
      const finders = new Map<string, (word: string) => boolean>();
      const byName = indexByName(listed);
      for (const [index, one] of suite.cases.entries()) {
        const known = one.tools ? indexByName(one.tools) : byName;
        const { messages, paraphrases = [], turns = [], searches = [] } = one;
        const requests = [...messages.slice(-1), ...turns].map(({ content }) => content);
        const words = listQueryWords([...requests, ...paraphrases, ...searches].join(" "));
        for (const { tools: names } of listCaseCalls(one)) {
          const tools = names.flatMap((name) => known.get(name) ?? []);
          if (tools.length === 0 || words.length === 0 || tools.some((tool) => readMeta(tool).isAlwaysLoaded)) continue;
          const key = one.tools ? `${index} ${names.join()}` : names.join();
          if (
            words.some(
              getOrAdd(finders, key, () =>
                buildKeywordFinder(tools.map((tool) => toSearchDocument(tool, readMeta(tool).hint))),
              ),
            )
          )
            continue;
          const what = `no word of its queries is in the name or description of ${names.map(quote).join(" or ")}`;
          yield { at: ["cases", index], message: `A literal search fails for the case "${one.id}": ${what}.` };
        }
      }
    },
  },
  {
    id: "dispatcher-undeclared",
    why: "Where one tool calls all others, every pick is that tool, and says nothing about the choice.",
    *check({ suite, listed = [] }) {
      for (const [name, rule] of Object.entries(recognizeDispatchers(listed))) {
        if (Object.hasOwn(suite.dispatch ?? {}, name)) continue;
        const does = rule.name === undefined ? "search for tools" : "call other tools";
        const message = `The tool "${name}" seems to ${does}, and the suite does not say how.`;
        yield { message, fix: `Add \`${writeDispatch(name, rule)}\` to the suite.` };
      }
    },
  },
]);

/** In characters. A shorter query can be part of a description by chance. */
const shortestQuery = 15;

const toPlain = (text: unknown) => squeeze(readText(text).slice(0, 20_000).toLowerCase()).replace(/[.?!]$/, "");

function listExpectedNames(one: Case): string[] {
  if (one.expect?.kind !== "skill") return listCaseCalls(one).flatMap(({ tools }) => tools);
  return one.expect.skill === "none" ? [] : [one.expect.skill];
}

/** An unvalidated tool: any field may be missing or of a wrong type. */
type RawTool = SearchableTool & { _meta?: unknown };

const indexByName = (tools: readonly RawTool[]) => new Map(tools.map((tool) => [tool.name, tool]));

function readMeta({ _meta: meta }: RawTool): { hint?: string; isAlwaysLoaded: boolean } {
  const { "anthropic/searchHint": hint, "anthropic/alwaysLoad": always } = isJsonObject(meta) ? meta : {};
  return { ...(typeof hint === "string" && { hint }), isAlwaysLoaded: always === true };
}

const specifiedShape = 'Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.';
const specifiedFile = z.object({
  evals: z.array(
    z.union([
      z.object({ input: z.string(), expected_behavior: z.array(z.string()) }),
      z.object({ input: z.string(), should_trigger: z.boolean() }),
    ]),
  ),
});

export const evalsFileRules = defineRules<EvalsFileSubject>(docs, [
  {
    id: "evals-file-shape",
    severity: "info",
    why: "Other shapes are read here, but not by every tool that runs the evals of a skill.",
    fix: specifiedShape,
    *check({ raw, isTriggerFile }) {
      // The specified shape has no place for queries that only trigger, which have files of their own.
      const [issue] = isTriggerFile ? [] : (specifiedFile.safeParse(raw).error?.issues ?? []);
      const message = "This is not in the shape that the Agent Skills format specifies.";
      if (issue) yield { at: issue.path as Path, message };
    },
  },
  {
    id: "evals-file-empty",
    severity: "error",
    why: "A file without a query measures nothing, and looks as if it did.",
    at: [],
    fix: specifiedShape,
    find: ({ evals }) => evals.length === 0 && "The file has no query.",
  },
  {
    id: "evals-check-missing",
    why: "For a query without expected behavior only the trigger is measured, not the result of the skill.",
    fix: "Say in expected_behavior what the answer must do.",
    *check({ evals, isTriggerFile }) {
      for (const [index, one] of isTriggerFile ? [] : evals.entries()) {
        if (!one.triggers || one.expectedBehavior.length > 0) continue;
        const message = `The query ${quote(one.input)} expects nothing except that the skill loads.`;
        yield { at: ["evals", index], message };
      }
    },
  },
]);

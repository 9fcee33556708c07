import { type SearchableTool, type SearchDocument, toSearchDocument } from "../../../base/search/document.ts";
import { buildKeywordFinder } from "../../../base/search/keyword.ts";
import { listingHosts, listSkills, skillListings } from "../../../base/search/skillListing.ts";
import { quote } from "../../../base/text/text.ts";
import { isJsonObject } from "../../../base/types/json.ts";
import { type Case, listCaseCalls } from "../../../base/types/suite.ts";
import { listQueryWords } from "../../search/queries.ts";
import { defineRules, type SkillSubject, type SuiteSubject, type ToolsetSubject } from "../rule.ts";
import { maxShown } from "./descriptions.ts";

const toolSearch = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool";
const maxBytes = 2048;
const shorten = "Say first when to look for these tools, and leave the rest to their descriptions.";
/** The minimum number of cases for judging which tools most sessions need. */
const minCases = 5;
const candidateShare = 0.5;

/** Rules about whether a search finds the tools that a suite expects. */
export const suiteSearchRules = defineRules<SuiteSubject>(toolSearch, [
  {
    id: "tool-not-searchable",
    why: "Hosts that defer tools search for literal words; a tool without a word of the query is never found.",
    *check({ suite, listed = [] }) {
      const finders = new Map<string, (word: string) => boolean>();
      const byName = indexByName(listed);
      for (const [index, one] of suite.cases.entries()) {
        const known = one.tools ? indexByName(one.tools) : byName;
        const words = listCaseWords(one);
        for (const { tools: names } of listCaseCalls(one)) {
          const tools = names.flatMap((name) => known.get(name) ?? []);
          if (tools.length === 0 || words.length === 0 || tools.some((tool) => readMeta(tool).isAlwaysLoaded)) continue;
          const key = one.tools ? `${index} ${names.join()}` : names.join();
          const has = finders.get(key) ?? buildKeywordFinder(tools.map(toDocument));
          finders.set(key, has);
          if (words.some(has)) continue;
          const what = `no word of its queries is in the name or description of ${names.map(quote).join(" or ")}`;
          const fix = 'Add words that users say to the description, or to `_meta["anthropic/searchHint"]`.';
          yield { at: ["cases", index], message: `A literal search fails for the case "${one.id}": ${what}.`, fix };
        }
      }
    },
  },
  {
    id: "always-load-candidate",
    severity: "info",
    why: "A tool that most sessions need costs a search in each of them where its definition is deferred.",
    *check({ suite, listed = [] }) {
      const expected = suite.cases
        .map((one) => new Set(listCaseCalls(one).flatMap(({ tools }) => tools)))
        .filter(({ size }) => size > 0);
      if (expected.length < minCases) return;
      for (const tool of listed) {
        const { name } = tool;
        if (typeof name !== "string" || readMeta(tool).isAlwaysLoaded) continue;
        const cases = expected.filter((names) => names.has(name)).length;
        if (cases / expected.length < candidateShare) continue;
        const message = `${cases} of ${expected.length} cases need ${quote(name)}, which hosts defer.`;
        const fix = 'Consider `_meta["anthropic/alwaysLoad"]: true`; measure it with `--exposure all,names`.';
        yield { at: ["cases"], message, fix };
      }
    },
  },
]);

/** Rules about the instructions of a server. */
export const instructionRules = defineRules<ToolsetSubject>(
  "https://code.claude.com/docs/en/mcp#for-mcp-server-authors",
  [
    {
      id: "instructions-cut",
      why: "Claude Code (measured: 2.1.330) cuts server instructions after 4,096 characters; with deferred tools they are most of what a model knows.",
      at: ["instructions"],
      fix: shorten,
      find: ({ instructions = "" }) =>
        instructions.length > maxShown &&
        `The server's instructions have ${instructions.length} characters; a host cuts them after ${maxShown}.`,
    },
    {
      id: "instructions-over-2kb",
      severity: "info",
      why: "By its documentation Claude Code truncates instructions after 2 kB; other versions than the measured one may.",
      at: ["instructions"],
      fix: shorten,
      find({ instructions = "" }) {
        const bytes = Buffer.byteLength(instructions);
        const message = `The server's instructions have ${bytes} bytes; the documented limit of a host is ${maxBytes}.`;
        return bytes > maxBytes && instructions.length <= maxShown && message;
      },
    },
  ],
);

/** Rules about how hosts list skills. */
export const skillListingRules = defineRules<SkillSubject>("docs/lint-rules.md", [
  {
    id: "skill-listing-budget",
    why: "A host with a budget for its list of skills drops or cuts descriptions, and a model chooses by what is left.",
    at: ["frontMatter", "description"],
    fix: "Shorten the descriptions of these skills, or install fewer of them together.",
    find({ package: { name, description }, siblings }) {
      const losses = listingHosts.flatMap((host) => {
        const listed = listSkills([...siblings, { name, description }], host).find((skill) => skill.name === name);
        if (!listed || listed.shown === "whole") return [];
        const { version, budget } = skillListings[host];
        const how = listed.shown === "cut" ? `cut to ${listed.description.length} characters` : "without it";
        return [`${host} ${version} (${budget} characters for all) lists the skill ${how}`];
      });
      if (losses.length === 0) return undefined;
      return `The description does not fit beside ${siblings.length} other skills: ${losses.join("; ")}.`;
    },
  },
]);

function listCaseWords({ messages, paraphrases, searches = [] }: Case): string[] {
  const requests = paraphrases ?? [messages.at(-1)?.content ?? ""];
  return listQueryWords([...requests, ...searches].join(" "));
}

/** An unvalidated tool: any field may be missing or of a wrong type. */
type RawTool = SearchableTool & { _meta?: unknown };

function indexByName(tools: readonly RawTool[]): ReadonlyMap<unknown, RawTool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function toDocument(tool: RawTool): SearchDocument {
  return toSearchDocument(tool, readMeta(tool).hint);
}

function readMeta({ _meta: meta }: RawTool): { hint?: string; isAlwaysLoaded: boolean } {
  const { "anthropic/searchHint": hint, "anthropic/alwaysLoad": always } = isJsonObject(meta) ? meta : {};
  return { ...(typeof hint === "string" && { hint }), isAlwaysLoaded: always === true };
}

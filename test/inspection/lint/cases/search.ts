import type { JsonObject } from "../../../../src/evals/base/types/json.ts";
import type { Case } from "../../../../src/evals/base/types/suite.ts";
import type { SkillSubject, SuiteSubject, ToolsetSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aLintedTool, aSkillSubject, aSuiteSubject, aToolsetSubject, type CasesOf } from "./cases.ts";

const rules = { avoid: [], extras: false, argsMode: "partial" } as const;
const picks = (content: string, ...tools: string[]): Partial<Case> => ({
  messages: [{ role: "user", content }],
  expect: { ...rules, kind: "tool", call: { tools } },
});
const search: JsonObject = { name: "search_notes", description: "Finds the notes that contain a text." };
const read: JsonObject = { name: "read_note", description: "Returns one note." };
const withMeta = (key: string, value: unknown): JsonObject =>
  JSON.parse(JSON.stringify({ ...search, _meta: { [`anthropic/${key}`]: value } }));

const withList = (listed: readonly JsonObject[], ...cases: Partial<Case>[]): SuiteSubject => ({
  ...aSuiteSubject(cases),
  listed,
});
const mention = picks("Which file mentions the garden?", "search_notes");
const five = (tool: string) => Array.from({ length: 5 }, () => picks("Find notes", tool));

export const suiteSearchCases: CasesOf<SuiteSubject> = {
  "tool-not-searchable": {
    clean: [
      withList([search], picks("Find the garden in my notes", "search_notes")),
      withList([search], { ...mention, searches: ["notes"] }),
      withList([search, read], picks("Which one is in the garden?", "search_notes", "read_note")),
      withList([search], { ...mention, paraphrases: ["Which file mentions the garden?", "SEARCH my files"] }),
      withList([withMeta("searchHint", "file grep")], mention),
      withList([withMeta("alwaysLoad", true)], mention),
      // The tools are unknown, or the query has no word.
      withList([], mention),
      aSuiteSubject([mention]),
      withList([search], picks("???", "search_notes")),
    ],
    violations: {
      "a word of the query is in the name, the description or the search hint of an expected tool": [
        withList([search, read], mention),
        withList([search], { ...mention, searches: ["grep"] }),
        withList([withMeta("searchHint", 5), read], mention),
        withList([{ name: "search_notes" }], mention),
        withList([], { ...mention, tools: [{ name: "search_notes", description: "", inputSchema: {} }] }),
        withList([search, read], {
          ...mention,
          expect: { ...rules, kind: "calls", order: "strict", calls: [{ tools: ["search_notes"] }] },
        }),
      ],
    },
  },
  "always-load-candidate": {
    clean: [
      withList([search, read], ...five("search_notes").slice(1)),
      withList([withMeta("alwaysLoad", true)], ...five("search_notes")),
      withList([search], ...five("other")),
      aSuiteSubject(five("search_notes")),
    ],
    violations: {
      "a tool that half of the cases expect is always loaded": [
        withList([search, read], ...five("search_notes")),
        withList([search, read], ...five("search_notes"), ...five("read_note")),
      ],
    },
  },
};

const withInstructions = (instructions: string): ToolsetSubject => ({
  ...aToolsetSubject(aLintedTool()),
  instructions,
});

export const instructionCases: CasesOf<ToolsetSubject> = {
  "instructions-cut": {
    clean: [aToolsetSubject(aLintedTool()), withInstructions("天".repeat(4096)), withInstructions("")],
    violations: { "instructions of at most 4,096 characters": [withInstructions("x".repeat(4097))] },
  },
  "instructions-over-2kb": {
    clean: [aToolsetSubject(aLintedTool()), withInstructions("x".repeat(2048)), withInstructions("x".repeat(5000))],
    violations: {
      "instructions of at most 2,048 bytes of UTF-8": [
        withInstructions("x".repeat(2049)),
        withInstructions("é".repeat(1025)),
      ],
    },
  },
};

const beside = (count: number, description: string): SkillSubject =>
  aSkillSubject(
    { description },
    { "SKILL.md": "" },
    Array.from({ length: count }, (_, at) => ({ name: `a-skill-${at}`, description: "x".repeat(500) })),
  );

export const skillListingCases: CasesOf<SkillSubject> = {
  "skill-listing-budget": {
    clean: [aSkillSubject(), beside(20, "Compresses images.")],
    violations: {
      "listed with its description": [beside(40, "x".repeat(400)), beside(100, "x".repeat(400))],
      "listed with its whole description": [beside(60, "x".repeat(1000))],
    },
  },
};

import type { JsonObject } from "../../../../src/evals/base/types/json.ts";
import type { Case, ExpectedCall, Suite } from "../../../../src/evals/base/types/suite.ts";
import type { SuiteSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aSuiteSubject, type CasesOf } from "./cases.ts";

type Changes = Partial<Case>;

const asks = (content: string): Changes => ({ messages: [{ role: "user", content }] });
const rules = { avoid: [], extras: false, argsMode: "partial" } as const;
const picks = (...tools: string[]): Changes => ({ expect: { ...rules, kind: "tool", call: { tools } } });
const calls = (...list: ExpectedCall[]): Changes => ({
  expect: { ...rules, kind: "calls", calls: list, order: "strict" },
});
const loads = (skill: string): Changes => ({ expect: { avoid: [], kind: "skill", skill } });
const abstains: Changes = { expect: { avoid: [], kind: "none" } };
const any: Changes = { expect: { avoid: [], kind: "any" } };

const asking = (content: string, ...tools: string[]) => ({ ...asks(content), ...picks(...tools) });
const search: JsonObject = { name: "search_notes", description: "Finds the notes that contain a text." };
const read: JsonObject = { name: "read_note", description: "Returns one note." };
const withMeta = (key: string, value: unknown): JsonObject =>
  JSON.parse(JSON.stringify({ ...search, _meta: { [`anthropic/${key}`]: value } }));

const withList = (listed: readonly JsonObject[], ...cases: Changes[]): SuiteSubject => {
  return { ...aSuiteSubject(cases), listed };
};
const marked = ["Use the echo tool", "Call echo()", "`Echo` this", "/echo it"];
const mention = asking("Which file mentions the garden?", "search_notes");

const five = [picks("get_weather"), picks("get_weather"), picks("find_city"), abstains, abstains];
/** The queries of a skill package, as a suite. */
const queriesOf = (skill: string, ...cases: Changes[]): SuiteSubject => ({
  suite: { ...aSuiteSubject(cases).suite, name: `skill:${skill}` },
});
const sound = aSuiteSubject(five);

const withTools = (tools: readonly string[], ...cases: Changes[]): SuiteSubject => {
  return withList(
    tools.map((name) => ({ name })),
    ...cases,
  );
};

const listing = (
  name: string,
  description: string,
  properties: JsonObject,
  changes: Partial<Suite> = {},
): SuiteSubject => ({
  suite: { ...sound.suite, ...changes },
  listed: [{ name, description, inputSchema: { type: "object", properties } }],
});
const text = { type: "string" };
const nameAndArguments = { name: text, arguments: { type: "object" } };

const quoting = (query: string) => ({ name: "get_weather", description: `Returns the forecast, as in "${query}".` });

export const suiteCases: CasesOf<SuiteSubject> = {
  "dispatcher-undeclared": {
    clean: [
      sound,
      listing("execute_tool", "Calls a tool.", nameAndArguments, { dispatch: { execute_tool: { name: "name" } } }),
      listing("rename", "Renames a file.", { name: text, path: text }),
      listing("search_issues", "Finds issues.", { query: text }),
      listing("run", "Runs a program with parameters.", { name: text, parameters: { type: "object" } }),
    ],
    violations: {
      "a tool that calls others is under dispatch": [
        listing("execute_sentry_tool", "Executes a tool by its name.", nameAndArguments),
        listing("acr", "Commands for container registries.", {
          intent: text,
          command: text,
          parameters: { type: "object" },
          learn: { type: "boolean" },
        }),
      ],
      "a tool that searches for others is under dispatch": [
        listing("search_sentry_tools", "Finds tools by a text.", { query: text }),
      ],
    },
  },
  "suite-size": {
    clean: [sound],
    violations: { "at least 5 cases": [aSuiteSubject(five.slice(1)), aSuiteSubject([])] },
  },
  "negative-case": {
    // Where sentences alone are expected, nothing is picked that could be picked too often.
    clean: [
      ...[sound, aSuiteSubject([loads("a"), loads("none")]), aSuiteSubject([{ expectedBehavior: ["Asks."] }])],
      queriesOf("a", loads("a"), { expect: { avoid: ["skill:a"], kind: "avoid" } }),
    ],
    violations: {
      "some query needs no tool": [[picks("a")], [calls({ tools: ["a"] })], [any]].map((list) => aSuiteSubject(list)),
      "some query needs no skill": [aSuiteSubject([loads("a")]), queriesOf("a", loads("a"))],
    },
  },
  "query-in-description": {
    clean: [
      sound,
      withList([quoting("Will it rain?")], asking("Will it rain?", "get_weather")),
      withList([quoting("Will it rain in Rome?")], asking("Will it rain in Oslo?", "get_weather")),
    ],
    violations: {
      "no description of an expected tool contains the query of the case": [
        withList([quoting("will it  rain in Oslo?")], asking("Will it rain in Oslo", "get_weather")),
      ],
    },
  },
  "tool-coverage": {
    clean: [
      sound,
      withTools(["get_weather", "find_city"], ...five),
      withTools(["a", "b", "c"], picks("a", "b"), calls({ tools: ["c"] })),
    ],
    violations: {
      "every listed tool is expected by a case": [
        withTools(["a", "b"], picks("a")),
        withTools(["a"], any),
        withTools(["a"], { expect: { avoid: ["a"], kind: "avoid" } }),
      ],
    },
  },
  "duplicate-input": {
    clean: [
      sound,
      aSuiteSubject([asks("Will it rain?"), asks("Will it snow?")]),
      aSuiteSubject([
        asks("Hi"),
        { messages: [{ role: "system", content: "Be short." }, ...(asks("Hi").messages ?? [])] },
      ]),
      // Another list makes it another question.
      aSuiteSubject([asks("Hi"), { ...asks("Hi"), tools: [{ name: "a", inputSchema: {} }] }]),
    ],
    violations: {
      "no conversation twice": [aSuiteSubject([asks("Will it rain?"), asks("Bye"), asks("Will it rain?")])],
      "no two that differ only in case and white space": [
        aSuiteSubject([asks("Will it rain?"), asks("will  it\nrain? ")]),
      ],
    },
  },
  "answer-in-input": {
    clean: [
      sound,
      aSuiteSubject([asking('Echo the word "echo"', "echo")]),
      aSuiteSubject([asking("Get the sum, please", "get_sum")]),
      aSuiteSubject([asking("What does forget_summer mean?", "get_sum")]),
      aSuiteSubject([asking("Is get_weather a good name?", "find_city")]),
      aSuiteSubject([{ ...abstains, ...asks("What is get_weather?") }]),
      aSuiteSubject([
        {
          ...picks("get_sum"),
          messages: [
            { role: "assistant", content: "get_sum" },
            { role: "user", content: "Yes" },
          ],
        },
      ]),
    ],
    violations: {
      "a name of several words": [
        { ...picks("get_sum"), ...asks("Use get_sum on 1 and 2") },
        { ...picks("getSum"), ...asks("(getSum) 1 and 2") },
        { ...calls({ tools: ["a"] }, { tools: ["read-file"] }), ...asks("Then read-file it") },
        { ...loads("image-compressor"), ...asks("Run image-compressor on it") },
        { ...loads("image-compressor"), ...asks("Use the image compressor skill") },
      ].map((one) => aSuiteSubject([one])),
      "a name of one word that is marked as a name": marked.map((text) => aSuiteSubject([asking(text, "echo")])),
    },
  },
  "tool-not-searchable": {
    clean: [
      withList([search], asking("Find the garden in my notes", "search_notes")),
      withList([search], { ...mention, searches: ["notes"] }),
      withList([search, read], asking("Which one is in the garden?", "search_notes", "read_note")),
      withList([search], { ...mention, paraphrases: ["Which file mentions the garden?", "SEARCH my files"] }),
      // A later message of the user asks for the tool.
      withList([search], {
        ...asks("Hello!"),
        turns: [{ content: "Hello!" }, { content: "My notes?", ...picks("search_notes") }],
      }),
      withList([withMeta("searchHint", "file grep")], mention),
      withList([withMeta("alwaysLoad", true)], mention),
      // The tools are unknown, or the query has no word.
      withList([], mention),
      aSuiteSubject([mention]),
      withList([search], asking("???", "search_notes")),
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
};

import { describe, expect, it, test } from "vitest";
import { wordingRules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { alikeRules } from "../../../src/evals/inspection/lint/rules/siblings.ts";
import { aToolSubject, aToolsetSubject } from "./cases/cases.ts";
import { alikeCases, wordingCases } from "./cases/wording.ts";
import { describeViolations } from "./violations.ts";

describe.each(wordingRules)("$id", ({ id, check }) => {
  const cases = wordingCases[id] ?? { clean: [], violations: {} };
  it("finds nothing where nothing is wrong", () => {
    expect(cases.clean.map((subject) => [...check(subject)])).toEqual(cases.clean.map(() => []));
  });
  it.each(Object.entries(cases.violations))("finds what breaks: %s", (_, subjects) => {
    const found = subjects.map((subject) => [...check(subject)].length);
    expect(found).toEqual(found.map(() => 1));
    expect(found).not.toEqual([]);
  });
});

describe.each(alikeRules)("$id", ({ id, check }) => {
  const cases = alikeCases[id] ?? { clean: [], violations: {} };
  it("finds nothing where nothing is wrong", () => {
    expect(cases.clean.map((subject) => [...check(subject)])).toEqual(cases.clean.map(() => []));
  });
  it.each(Object.entries(cases.violations))("finds what breaks, in both tools: %s", (_, subjects) => {
    const found = subjects.map((subject) => [...check(subject)].map(({ at }) => at));
    expect(found).toEqual(found.map(() => [0, 1].map((index) => [index, "description"])));
    expect(found).not.toEqual([]);
  });
});

test("each finding says what is wrong and what to do", () => {
  expect(describeViolations(wordingRules, wordingCases)).toMatchInlineSnapshot(`
    {
      "description-docstring": [
        "$.description: The description has a section of a docstring: "Args:". -> Describe each parameter in its schema, and say here when to call the tool and what it does.",
        "$.description: The description has a tag of a docstring: ":param city:". -> Describe each parameter in its schema, and say here when to call the tool and what it does.",
        "$.description: The description has a heading of a docstring: "Parameters\\n----------". -> Describe each parameter in its schema, and say here when to call the tool and what it does.",
        "$.description: The description has a type of a programming language: "returns a dict". -> Describe each parameter in its schema, and say here when to call the tool and what it does.",
      ],
      "description-for-model": [
        "$.description: The description has the first person: "We look". -> Write it to the model: when to call the tool, and what it does.",
        "$.description: The description has advertising: "powerful". -> Write it to the model: when to call the tool, and what it does.",
        "$.description: The description has advice for developers: "Demonstrates". -> Write it to the model: when to call the tool, and what it does.",
      ],
      "description-implementation": [
        "$.description: The description mentions how the request is sent: "GET /w". -> Say what the tool does for the user, and leave out how.",
        "$.description: The description mentions the backend of the tool: "This endpoint". -> Say what the tool does for the user, and leave out how.",
        "$.description: The description mentions how data is stored: "SELECT * FROM". -> Say what the tool does for the user, and leave out how.",
        "$.description: The description mentions a name from the source code: "WeatherService". -> Say what the tool does for the user, and leave out how.",
        "$.description: The description mentions what the tool is built on: "using axios". -> Say what the tool does for the user, and leave out how.",
        "$.description: The description mentions inner workings: "internally". -> Say what the tool does for the user, and leave out how.",
        "$.description: The description mentions an internal address: "http://weather.internal". -> Say what the tool does for the user, and leave out how.",
        "$.description: The description mentions a note to colleagues: "TODO:". -> Say what the tool does for the user, and leave out how.",
      ],
      "description-what": [
        "$.description: The description does not say what the tool does. -> Start with it, verb first, such as "Returns the orders of a customer, newest first".",
        "$.description: The description does not say what the tool does. -> Start with it, verb first, such as "Returns the orders of a customer, newest first".",
      ],
      "description-when": [
        "$.description: The description does not say when to call the tool. -> Add the situation or the request that it is for: "Use this when the user asks ...".",
      ],
      "name-kind": [
        "$.name: "handle" in the name "handle_dialog" does not say whether the tool reads or changes something. -> Use a specific verb, such as get_, create_, update_ or send_; split a tool that does several of these.",
      ],
      "name-verb": [
        "$.name: The name "order_get" does not start with a verb. -> Put "get" first.",
      ],
      "sibling-exists": [
        "$.description: The description names the tool "get_tomorrow", which is not listed. -> Name a tool that is listed, or list this one.",
      ],
    }
  `);
  const [subject = aToolsetSubject()] = Object.values(alikeCases["description-sibling"]?.violations ?? {}).flat();
  expect(alikeRules.flatMap(({ check }) => [...check(subject)].slice(0, 1))).toMatchInlineSnapshot(`
    [
      {
        "at": [
          0,
          "description",
        ],
        "fix": "Say what it is not for, and name the tool for that.",
        "message": "The description does not distinguish the tool from "read_media_file".",
      },
    ]
  `);
});

test("name-verb says which verb goes first: not a noun that can be one", () => {
  const rule = wordingRules.find(({ id }) => id === "name-verb");
  const fixes = ["github_create_issue", "slack_post_message", "order_get"].map((name) =>
    [...(rule?.check(aToolSubject({ name })) ?? [])].map(({ fix }) => fix),
  );
  expect(fixes).toEqual([['Put "create" first.'], ['Put "post" first.'], ['Put "get" first.']]);
});

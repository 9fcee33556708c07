import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/evals/base/types/json.ts";
import { fillPlaceholders } from "../../../src/evals/input/suites/validate.ts";
import { complaint, load, loadYaml } from "./workspace.ts";

const values = 'values: { subscription: "My Sub", resource group: rg-1, count: 3 }';

describe("placeholders", () => {
  it("are filled in prompts, expectations and mocks", async () => {
    const { cases } = await loadYaml(`
${values}
mocks: { t: { args: { s: <subscription> }, result: "in <subscription>" } }
cases:
  - id: <subscription>
    input: ["List <count> accounts in <subscription>", "In <subscription>, <resource group>"]
    expect: { tool: t, args: { s: <subscription>, n: <count>, f: { $contains: "x <count>" }, other: "<b>" } }
  - turns: [{ input: "Use <subscription>", expect: { tool: t, args: { s: <subscription> } } }]
  - messages: [{ role: user, content: "In <resource group>" }]
    expect: { tool: none }
`);
    expect(cases[0]).toMatchObject({
      id: "<subscription>",
      paraphrases: ["List 3 accounts in My Sub", "In My Sub, rg-1"],
      expect: { call: { args: { s: "My Sub", n: 3, f: { $contains: "x 3" }, other: "<b>" } } },
      mocks: { list: [{ args: { s: "My Sub" }, result: { content: [{ text: "in My Sub" }] } }] },
    });
    expect(cases[1]?.turns).toMatchObject([{ content: "Use My Sub", expect: { call: { args: { s: "My Sub" } } } }]);
    expect(cases[2]?.messages).toEqual([{ role: "user", content: "In rg-1" }]);
  });

  it("without a value are refused with their line", async () => {
    const cases =
      "cases:\n  - input: In <subscripton>\n    expect: { tool: t }\n  - input: At <host>\n    expect: { tool: t }";
    expect(await complaint(load({ "s.yaml": `values: { subscription: a }\n${cases}` }))).toBe(
      's.yaml:3:12: error: The placeholder "<subscripton>" has no value.\n  Did you mean "<subscription>"?\n' +
        's.yaml:5:12: error: The placeholder "<host>" has no value.\n  Add "host" to "values".',
    );
  });

  it("are checked as operands of matchers once they are filled", async () => {
    const input = "values: { n: 5, p: ( }\ncases:\n  - input: Find <n> of <p>\n    expect:\n      tool: t\n";
    const args = "      args:\n        a: { $startsWith: <n> }\n        b: [{ $optional: { $matches: x<p> } }]\n";
    expect(await complaint(load({ "s.yaml": input + args }))).toMatchInlineSnapshot(`
      "s.yaml:7:27: error: "$startsWith" must be text, got 5.
        Put it in quotes.
      s.yaml:8:38: error: "$matches" is not a regular expression: error parsing regexp: missing closing ): \`x(\`.
        Use RE2 syntax, without look-around and back-references; in YAML put it in single quotes."
    `);
  });

  it("leave warnings about matchers as they are", async () => {
    const args = "      args: { a: { startsWith: <n> } }\n";
    const suite = "values: { n: x }\ncases:\n  - input: Find <n>\n    expect:\n      tool: t\n";
    const { suites, warnings } = await load({ "s.yaml": suite + args });
    expect(suites[0]?.cases[0]?.expect).toMatchObject({ call: { args: { a: { startsWith: "x" } } } });
    expect(warnings).toHaveLength(1);
  });

  it("that are a whole prompt are filled as text", async () => {
    const { cases } = await loadYaml(`
values: { year: 1999 }
cases:
  - { input: <year>, expect: { tool: t, args: { year: <year> } } }
  - { input: [<year>, In <year>], expect: { tool: t } }
  - { turns: [{ input: <year> }], expect: { tool: t } }
`);
    expect(cases.map(({ id, messages }) => [id, messages[0]?.content])).toEqual([
      ["1999", "1999"],
      ["1999-2", "1999"],
      ["1999-3", "1999"],
    ]);
    expect(cases[0]?.expect).toMatchObject({ call: { args: { year: 1999 } } });
    expect(cases[1]?.paraphrases).toEqual(["1999", "In 1999"]);
  });

  it("may stand in an expectation or a mock alone", async () => {
    const suite = "values: { file: a.md, note: b }\nmocks: { t: { result: <note> } }\n";
    const { warnings } = await load({
      "s.yaml": `${suite}cases:\n  - { input: Read it, expect: { tool: t, args: { name: <file> } } }\n`,
    });
    expect(warnings).toEqual([]);
  });

  it("are sent as they are without `values`, with one warning for all", async () => {
    const { suites, warnings } = await load({
      "s.yaml":
        "cases:\n  - { input: In <sub>, expect: { tool: t } }\n  - { input: In <group>, expect: { tool: t } }\n  - { input: 'Make <b>x</b> bold, 1 < 2 > 1', expect: { tool: t } }\n",
    });
    expect(suites[0]?.cases[0]?.messages[0]?.content).toBe("In <sub>");
    const message = 'The prompt contains "<sub>", which the model is sent as it is; so is another.';
    expect(warnings).toMatchObject([{ message, location: { line: 2 } }]);
    const spaced = await load({ "s.yaml": "cases: [{ input: In <resource group>, expect: { tool: t } }]" });
    expect([warnings, spaced.warnings].map(([one]) => one?.hint)).toEqual([
      "Give it a value: values: { sub: ... }.",
      'Give it a value: values: { "resource group": ... }.',
    ]);
  });

  it("are replaced in every text if they have a value, and only then", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const given = value as Json;
        expect(fillPlaceholders(given, {})).toEqual(given);
        expect(fillPlaceholders({ a: "<x>", b: given }, { x: true })).toEqual({
          a: true,
          b: fillPlaceholders(given, { x: true }),
        });
      }),
    );
  });
});

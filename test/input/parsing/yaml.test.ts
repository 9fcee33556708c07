import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { EvalsError } from "../../../src/evals/base/types/errors.ts";
import { parseJson } from "../../../src/evals/input/parsing/json.ts";
import { parseYaml } from "../../../src/evals/input/parsing/yaml.ts";
import { anyText } from "../../fakes/text.ts";

function complaintAbout(text: string): string {
  try {
    const { problems } = parseYaml(text, "s.yaml");
    return problems.map(({ message, location }) => `${location?.line}:${location?.column}: ${message}`).join("\n");
  } catch (error) {
    if (error instanceof EvalsError) return error.message;
    throw error;
  }
}

describe("the place of a value", () => {
  const yaml = parseYaml("a:\n  - b: 1\n    c: &c\n      d: x\n  - e: *c\nf:\n", "s.yaml");
  const json = parseJson('{"a": [\r\n\t{"b": 1, "c": {"d": "x"}}\r\n]}', "s.json");
  const at = (file: typeof yaml, path: readonly (string | number)[], part?: "key" | "value") => {
    const { line, column } = file.location(path, part);
    return [line, column];
  };

  it("is found in YAML, through aliases, and for a value or its key", () => {
    expect(at(yaml, [])).toEqual([1, 1]);
    expect(at(yaml, ["a", 0])).toEqual([2, 5]);
    expect(at(yaml, ["a", 0, "b"])).toEqual([2, 8]);
    expect(at(yaml, ["a", 0, "b"], "key")).toEqual([2, 5]);
    expect(at(yaml, ["a", 1, "e"])).toEqual([5, 8]);
    expect(at(yaml, ["a", 1, "e", "d"])).toEqual([4, 10]);
  });

  it("is that of the nearest enclosing value if the value is missing or empty", () => {
    expect(at(yaml, ["a", 0, "zzz", 3])).toEqual([2, 5]);
    expect(at(yaml, ["a", 7])).toEqual([2, 3]);
    expect(at(yaml, ["f"])).toEqual([6, 1]);
  });

  it("is found in JSON with tabs and Windows line ends", () => {
    expect(at(json, ["a", 0])).toEqual([2, 2]);
    expect(at(json, ["a", 0, "c", "d"])).toEqual([2, 22]);
    expect(at(json, ["a", 0, "c", "d"], "key")).toEqual([2, 17]);
  });
});

describe("YAML", () => {
  it("reads what a YAML writer wrote", () => {
    const value = fc.jsonValue({ maxDepth: 4 }).map((data): unknown => JSON.parse(JSON.stringify(data)));
    fc.assert(
      fc.property(value, (data) => {
        fc.pre(data !== null && !JSON.stringify(data).includes("__proto__"));
        expect(parseYaml(stringify(data), "s.yaml").value).toEqual(data);
      }),
    );
  });

  it("only throws EvalsError, for any text", () => {
    const piece = fc.oneof(
      anyText(),
      fc.constantFrom(
        ...["- ", "? ", "a: ", "\n", "  ", "&a ", "*a", "{", "}", "[", "]", "|\n", '"', "'", "!!set ", "<<: "],
        ...["---\n", "%YAML 1.1\n", "\t", "#"],
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        expect(complaintAbout(pieces.join(""))).toBeTypeOf("string");
      }),
    );
  });

  it("shares values by anchors, as often as needed", () => {
    const uses = Array.from({ length: 2000 }, () => "- *a");
    expect(parseYaml(`- &a {x: [1]}\n${uses.join("\n")}`, "s.yaml").value).toEqual(Array(2001).fill({ x: [1] }));
  });

  it.each([
    "a: 1\n---\nb: 2\n",
    "a: 1\nb: {c: 1, c: 2}\na: 3\n",
    "a: !mine b\n",
    "a: *b\n",
    "a: &a [*a]\n",
    "a: .nan\nb: -.inf\n",
    "? [a]\n: b\n",
    "# nothing\n",
    "%YAML 1.1\n---\na: 2001-01-01\n",
  ])("explains what is wrong with %j", (text) => {
    expect(complaintAbout(text)).toMatchSnapshot();
  });

  it("survives any depth", () => {
    const message = (column: number) =>
      `s.yaml:1:${column}: error: The value is nested more than 100 levels deep.\n  Flatten it.`;
    expect(complaintAbout("- ".repeat(20_000))).toBe(message(201));
    expect(complaintAbout("[".repeat(20_000))).toBe(message(101));
    expect(complaintAbout("? ".repeat(20_000))).toBe(message(201));
  });

  it("refuses more tokens than its limit without reading to the end", () => {
    expect(complaintAbout(`cases: [${"a,".repeat(1_000_000)}`)).toBe(
      "s.yaml: error: The file has more than 1,000,000 YAML tokens, which take long to read.\n  Write it as JSON. The cases of a suite can also be in a file in CSV or JSON Lines.",
    );
  });

  it("warns of a text that ends where YAML sees a comment, in the files of a user's own", () => {
    const text = 'a: Fix #12 now\nb: Read # a comment\nc: "x" #y\nd: [u, v #3\n  ]\ne: 4 #5\n';
    const { value, problems, warnings } = parseYaml(text, "s.yaml");
    expect(value).toEqual({ a: "Fix", b: "Read", c: "x", d: ["u", "v"], e: 4 });
    expect(problems).toEqual([]);
    expect(warnings?.map(({ severity, location, message }) => [severity, location?.line, message])).toEqual([
      ["warning", 1, 'YAML reads "#12 now" as a comment, so the text ends before it.'],
      ["warning", 4, 'YAML reads "#3" as a comment, so the text ends before it.'],
    ]);
    expect(parseYaml(text, "s.yaml", { lenient: true }).warnings).toEqual([]);
  });

  it("finds a long text without a closing quote", () => {
    for (const quote of ['"', "'"])
      expect(complaintAbout(`a: ${quote}${"b\n\n ".repeat(300_000)}`)).toContain(
        "error: Invalid YAML: Missing closing",
      );
  });

  it("explains very many mistakes in one walk over the file", () => {
    const complaints = complaintAbout("- [\n".repeat(8_000)).match(/^s\.yaml:\d+:1: error: /gm);
    expect(complaints).toHaveLength(20);
  });

  it("stops at an alias bomb", () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(", ")}]`,
    );
    expect(complaintAbout(["a0: &a0 x", ...levels].join("\n"))).toMatch(
      /^s\.yaml:\d+:\d+: error: The file holds more than 1,000,000 values \(aliases expanded\)\.$/,
    );
  });
});

describe("a syntax error in YAML", () => {
  it.each([
    "cases:\n  - input: Read: me\n    expect: { tool: a }\n",
    "cases:\n  - input: Read\n      expect: { tool: a }\n",
    'a: "b\nc: d\n',
    "a: 'b\nc: d\n",
    "- input: x\n  tool: [a, b\n  c: 1\n",
    "a: {x: 1\nb: 3\n",
    "a:\n\t- b\n",
    "input: @ada\n",
    'a: "\\d"\n',
    "- a\nb: 1\n",
    "cases\n  - x: 1\n",
    "x: foo # ok\n y: 1\n",
    'input: "He said "hi""\n',
    "input: 'It's'\n",
    'input: "Read this" now\n',
    "cases:\n  - id: a\n   expect: { tool: b }\n",
    `${"x".repeat(60)}: ${"y".repeat(60)}: ${"z".repeat(60)}`,
  ])("%j", (text) => {
    expect(complaintAbout(text)).toMatchSnapshot();
  });
});

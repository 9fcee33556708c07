import { describe, expect, it } from "vitest";
import { extractLiterals, fillArguments } from "../../src/evals/asking/models/lexical.ts";
import { createDispatchReader } from "../../src/evals/asking/scoring/dispatch.ts";
import { readJudgment } from "../../src/evals/asking/scoring/judge.ts";
import { inert } from "../../src/evals/base/text/display.ts";
import { EvalsError } from "../../src/evals/base/types/errors.ts";
import { parseExactJson } from "../../src/evals/base/types/json.ts";
import { formats } from "../../src/evals/input/imports/find.ts";
import { parseYaml } from "../../src/evals/input/parsing/yaml.ts";
import { parseSkill } from "../../src/evals/input/skills/package.ts";
import { checkSuite } from "../../src/evals/input/suites/validate.ts";
import { readQuery } from "../../src/evals/inspection/init/writer.ts";
import { parseCommandLine, shellTemplate } from "../../src/evals/inspection/shell.ts";
import { baselineFile } from "../../src/evals/records/baseline.ts";
import { aTool, aToolset } from "../fakes/suite.ts";

/** Long enough that quadratic time is minutes. */
const length = 1_000_000;
const fill = (piece: string) => piece.repeat(Math.ceil(length / piece.length));

const skill = (frontMatter: string, body = "") =>
  parseSkill(`---\n${frontMatter}\n---\n${body}`, { folder: "a", file: "a" });
const item = (text: string) => skill("name: a\ndescription: b", `## References\n\n${text}\n`);

function search(result: string) {
  const tools = aToolset(
    aTool("search", { inputSchema: { type: "object", properties: { query: { type: "string" } } } }),
  );
  const read = createDispatchReader({ search: { search: "query" } }, undefined, tools);
  const execution = {
    status: "executed" as const,
    ms: 1,
    result: { isError: false, content: [{ type: "text", text: result }] },
  };
  return read?.({ id: "1", tool: "search", arguments: { query: "x" }, execution });
}

function refused(use: () => unknown): unknown {
  try {
    return use();
  } catch (error) {
    if (error instanceof EvalsError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const cases: Record<string, () => unknown> = {
  "a message of carriage returns": () => inert(fill("\r")),
  "a command line with an unclosed quote": () => refused(() => parseCommandLine(`"${fill("\\\\")}`)),
  "references without an end": () => shellTemplate(fill(`\${v:-`)),
  "quotes of a query without an end": () => extractLiterals(fill("“ ")),
  "a query of marks": () =>
    fillArguments(
      aTool("say", { inputSchema: { type: "object", properties: { text: { type: "string" } } } }),
      `say ${fill("!")}x`,
    ),
  "an answer with an unclosed fence": () => readQuery(`\`\`\`${fill("\t")}n`),
  "a judgment with an unclosed fence": () =>
    readJudgment({ text: `\`\`\`${fill("\t")}n`, stop: "done" }, { questions: [], transcript: [] as never }),
  "the result of a search": () => search(fill("-")),
  "a suite name of dashes": () => baselineFile("", `a${fill("-.")}b`, "m"),
  "front matter of blank lines": () => skill(`${"\n".repeat(60_000)}#\r`),
  "a fence with backticks": () => item(`${fill("`")} ${fill("\v`")}`),
  "a bold line": () => item(`__a__${fill(" ")}**`),
  "an item of tabs": () => item(`*${fill("\t")}\r`),
  "an error of YAML in a long line": () => refused(() => parseYaml(`${fill("a")}: b: c`, "")),
  "a number with zeros": () => parseExactJson(`1.${fill("0")}1`),
  "many errors of YAML": () => refused(() => parseYaml(fill("a: %b\n"), "")),
};

describe("time is linear in", () => {
  it.each(Object.entries(cases))("%s", (_, run) => {
    // What takes more than linear time does not end.
    expect(run).not.toThrow();
  });

  it.each(["\r", "\n", "\n\t", "inputs:\n", "tasks:\nskill:\n\n", '"tasks" '])("a file of %j", (piece) => {
    for (const name of ["a.yaml", "a.json", "a.md", "evals.json", "prompts.yaml"])
      for (const format of formats)
        expect(() => format.recognizes({ path: `/${name}`, file: name, text: fill(piece) })).not.toThrow();
  });
});

describe("an object with 100,000 unknown keys", () => {
  const keys = Array.from({ length: 100_000 }, (_, at) => `k${at}`);

  it("is explained by its first 100", () => {
    const { problems } = checkSuite(Object.fromEntries(keys.map((key) => [key, 1])));
    const unknown = problems.filter(({ message }) => message.startsWith("Unknown key"));
    expect(unknown).toHaveLength(101);
    expect(unknown.at(-1)).toMatchObject({ path: ["k100"], message: 'Unknown key "k100", and 99899 more here.' });
  });

  it("has a place for each in YAML", () => {
    const { location } = parseYaml(keys.map((key) => `${key}: 1`).join("\n"), "a.yaml");
    for (const [at, key] of keys.entries()) expect(location([key], "key").line).toBe(at + 1);
  });
});

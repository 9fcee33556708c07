import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EvalsError } from "../../../src/evals/base/types/errors.ts";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { complaint, type Files, workspace } from "./workspace.ts";

const load = async (files: Files) => loadSuites(["s.yaml"], { cwd: await workspace(files) });

const suite = (file: string) => ({ "s.yaml": `server: { command: x }\ncases: ${file}\n` });
const csv = (text: string) => load({ ...suite("cases.csv"), "cases.csv": text });
const jsonl = (text: string) => load({ ...suite("cases.jsonl"), "cases.jsonl": text });

describe("cases in a CSV file", () => {
  it("are those of the same suite in YAML, with the line of each", async () => {
    const text =
      '\ufeffid,input,tool,args,trials\n,"Say ""hi"",\nplease",echo|say,"{""text"": ""hi""}",3\n\nbye,Good bye,none,,\n';
    const [read] = (await csv(text)).suites;
    expect(
      read?.cases.map(({ id, expect: expected, trials, location }) => ({ id, expected, trials, line: location.line })),
    ).toEqual([
      {
        id: "say-hi-please",
        expected: expect.objectContaining({ call: { tools: ["echo", "say"], args: { text: "hi" } } }),
        trials: 3,
        line: 2,
      },
      { id: "bye", expected: { kind: "none", avoid: [] }, trials: 5, line: 5 },
    ]);
    expect(read?.cases[0]?.location.file).toBe("cases.csv");
  });

  it("have their cells without the white space around them, and their numbers as numbers", async () => {
    const { suites } = await csv("input , tool, maxTurns,passRate\n hi , echo , 3,0.5 \n");
    expect(suites[0]?.cases).toMatchObject([
      { messages: [{ content: "hi" }], expect: { call: { tools: ["echo"] } }, maxTurns: 3, passRate: 0.5 },
    ]);
  });

  it.each([
    ["Windows line breaks", 'input,tool\r\n"Say\r\nhi",echo\r\nbye,none\r\n'],
    ["both kinds of line breaks", 'input,tool\n"Say\r\nhi",echo\r\nbye,none\r\n'],
  ])("have their lines with %s", async (_, text) => {
    const { suites } = await csv(text);
    expect(suites[0]?.cases.map(({ messages, location }) => [messages[0]?.content, location.line])).toEqual([
      ["Say\nhi", 2],
      ["bye", 4],
    ]);
  });

  it("take any text", async () => {
    const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
    const cell = fc.string({ minLength: 1, maxLength: 20 }).filter((one) => one.trim() !== "" && !one.includes("\0"));
    await fc.assert(
      fc.asyncProperty(fc.array(cell, { minLength: 1, maxLength: 4 }), async (inputs) => {
        const { suites } = await csv(`input,tool\n${inputs.map((one) => `${quote(one)},echo`).join("\n")}\n`);
        expect(suites[0]?.cases.map(({ messages }) => messages[0]?.content)).toEqual(
          inputs.map((one) => one.trim().replaceAll("\r\n", "\n")),
        );
      }),
      { numRuns: 30 },
    );
  });

  it.each(["\n", "\r\n", "\r"])("may have %j as line breaks", async (end) => {
    const { suites } = await csv(["input,tool", '"a, ""b""",echo', "c,echo", ""].join(end));
    expect(suites[0]?.cases.map(({ messages, location }) => [messages[0]?.content, location.line])).toEqual([
      ['a, "b"', 2],
      ["c", 3],
    ]);
  });

  it("are refused with arguments nested too deeply", async () => {
    const deep = `${'{""a"":'.repeat(5_000)}1${"}".repeat(5_000)}`;
    expect(await complaint(csv(`input,tool,args\nhi,echo,"${deep}"\n`))).toBe(
      'cases.csv:2: error: "args" is not a JSON object: it is nested more than 100 levels deep.',
    );
  });

  it.each([
    ["input,tol\nhi,echo\n", 'cases.csv:1: error: Unknown column "tol".\n  Did you mean "tool"?'],
    ["prompt,tool\nhi,echo\n", 'cases.csv:1: error: Unknown column "prompt".\n  Did you mean "input"?'],
    ["input,expected_tool\nhi,echo\n", 'cases.csv:1: error: Unknown column "expected_tool".\n  Did you mean "tool"?'],
    ["input;tool\nhi;echo\n", 'cases.csv:1: error: There is no column "input".\n  Separate the columns with commas.'],
    ["tool\necho\n", /^cases.csv:1: error: There is no column "input"/],
    ['input,tool,args\nhi,echo,"{"\n', /^cases.csv:2: error: "args" is not a JSON object: /],
    ["input,tool,trials\nhi,echo,many\n", 'cases.csv:2: error: "trials" is not a number: "many".'],
    ["input,tool\nhi,echo,more\n", /^cases.csv:2: error: Invalid CSV: .*\.\n {2}Put cells/],
    ["input,tool\nhi,\n", /^cases.csv:2: error: The case is not gradable/],
  ])("%j is refused with its line", async (text, message) => {
    expect(await complaint(csv(text))).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
  });
});

describe("cases in a JSON Lines file", () => {
  it("have the flat form or that of a suite", async () => {
    const { suites } = await jsonl('{"input":"a","tool":"echo"}\n\n{"input":"b","expect":{"tool":"none"}}\n');
    expect(suites[0]?.cases.map(({ expect: expected, location }) => [expected?.kind, location.line])).toEqual([
      ["tool", 1],
      ["none", 3],
    ]);
  });

  it("are refused with their lines", async () => {
    expect(await complaint(jsonl('{"input":"a"\n[]\n'))).toMatch(
      /^cases.jsonl:1: error: Invalid JSON: .*\n.*\ncases.jsonl:2: error: This line is not a JSON object\.$/,
    );
    const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`;
    expect(await complaint(jsonl(`{"input":"a","tool":"echo","args":${deep}}`))).toMatch(
      /^cases.jsonl:1: error: Invalid JSON: it is nested more than 100 levels deep\.\n/,
    );
  });
});

it("names the endings that a file of cases may have", async () => {
  expect(await complaint(load(suite("cases.txt")))).toContain('"cases" names "cases.txt", which is neither a .csv nor');
  expect(await complaint(load(suite("none.csv")))).toContain("none.csv: error: The file of cases cannot be read");
});

it.each(["cases.csv", "cases.jsonl"])("%s is no suite by itself", async (file) => {
  const cwd = await workspace({ [file]: "input,tool\nhi,echo\n" });
  expect(await complaint(loadSuites([file], { cwd }))).toBe(
    `${file}: error: This is a list of cases, and not a suite.\n  Name it in a suite beside the server: \`cases: ${file}\`.`,
  );
});

describe("a very long file of cases", () => {
  it("is refused above 300,000 cases", async () => {
    const message = "s.yaml:2:1: error: There are more than 300,000 cases.\n  Split them into several suites.";
    expect(await complaint(csv(`input\n${"a\n".repeat(300_001)}`))).toBe(message);
    expect(await complaint(jsonl("{}\n".repeat(300_001)))).toBe(message);
  });

  it("is not checked to its end when 1,000 of its cases are wrong", async () => {
    const count = async (loading: Promise<unknown>) => {
      const error = await loading.catch((thrown: unknown) => thrown);
      return error instanceof EvalsError ? error.problems.map(({ message }) => message) : [];
    };
    expect(await count(jsonl("x\n".repeat(5_000)))).toHaveLength(1_000);
    expect(await count(csv(`input,trials\n${"a,x\n".repeat(5_000)}`))).toHaveLength(1_000);
    expect(await count(csv(`input${",a".repeat(5_000)}\n`))).toHaveLength(1_000);
    const problems = await count(jsonl('{"input": "a"}\n'.repeat(5_000)));
    expect(problems).toHaveLength(1_001);
    expect(problems.at(-1)).toBe("The cases from here on are not checked, because 1,000 are wrong.");
  });
});

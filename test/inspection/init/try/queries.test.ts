import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sampleArguments } from "../../../../src/evals/base/jsonSchema/sample.ts";
import { compileSchema } from "../../../../src/evals/base/jsonSchema/validate.ts";
import type { Tool } from "../../../../src/evals/base/types/tool.ts";
import {
  buildTasks,
  checkQuery,
  draftQueries,
  hashWriting,
  planQueries,
  readQueries,
} from "../../../../src/evals/inspection/init/try/queries.ts";

const aTool = (name: string, description: string, properties = {}, required: string[] = []): Tool => ({
  name,
  description,
  inputSchema: { type: "object", properties, required },
});
const tools = [
  aTool("read_file", "Reads the text of one file.", { path: { type: "string" } }, ["path"]),
  aTool("read_folder", "Reads the names of the files in one folder.", { path: { type: "string" } }, ["path"]),
  aTool("forecast", "Returns the weather.", { unit: { enum: ["celsius", "kelvin"] }, days: { type: "integer" } }, [
    ...["unit", "days"],
  ]),
  aTool("merge", "Merges two records.", { record: { type: "object" } }, ["record"]),
];

describe("the plan of queries", () => {
  it("covers each tool, near misses in both directions, and queries that need no tool", () => {
    const { wanted, left } = planQueries(tools, 2, 1);
    const labels = wanted.map((one) => (one.tool ? [one.tool.name, one.near?.tool ?? ""].join(" ").trim() : one.kind));
    expect(labels.slice(0, 8).sort()).toEqual(
      ["forecast", "merge", "read_file", "read_folder"].flatMap((name) => [name, name]),
    );
    expect(labels.slice(8)).toEqual([
      ...["read_file read_folder", "read_folder read_file"],
      ...["small talk", "knowledge", "writing", "out of scope"],
    ]);
    expect(left).toEqual([]);
    expect(planQueries(tools, 2, 1)).toEqual({ wanted, left });
  });

  it("samples arguments that are valid for the schema, or none", () => {
    const validators = new Map(tools.map(({ name, inputSchema }) => [name, compileSchema(inputSchema)]));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 }), (seed) => {
        for (const one of planQueries(tools, 3, seed).wanted) {
          if (!one.tool) continue;
          const validate = validators.get(one.tool.name);
          const isEmpty = Object.keys(one.args).length === 0;
          expect(isEmpty).toBe(one.tool.name === "merge");
          if (!isEmpty && typeof validate === "function") expect(validate(one.args, "args").kind).toBe("valid");
        }
      }),
      { numRuns: 20 },
    );
  });

  it("omits tools beyond the first 30", () => {
    const many = Array.from({ length: 34 }, (_, at) => aTool(`tool_${at}`, `Does thing number ${at}.`));
    const { wanted, left } = planQueries(many, 1, 1);
    expect([new Set(wanted.flatMap(({ tool }) => tool?.name ?? [])).size, left.length]).toEqual([30, 4]);
  });
});

it("samples an argument from examples, defaults and enumerations first", () => {
  const schema = {
    properties: {
      a: { type: "string", default: "d" },
      b: { enum: ["x", "y"] },
      c: { type: "array", items: { type: "integer", minimum: 20 } },
      d: { type: "object" },
    },
    required: ["a", "b", "c", "d"],
  };
  expect(sampleArguments(schema, (n) => n - 1)).toEqual({ args: { a: "d", b: "y", c: [20] }, unfilled: ["d"] });
});

it.each([
  ["ISO 4217 code, for example EUR", "EUR"],
  ["Zone (e.g., 'America/New_York', 'Europe/London')", "America/New_York"],
  ['Order, such as "score desc, name asc"', "score desc, name asc"],
  ["First day, YYYY-MM-DD", "2026-01-15"],
  ["Month as YYYY-MM", "2026-01"],
  ["A place such as the root", "hello"],
])("the argument described by %j is %j", (description, value) => {
  const schema = { type: "object", required: ["x"], properties: { x: { type: "string", description } } };
  expect(sampleArguments(schema, () => 0).args).toEqual({ x: value });
});

describe("a writing task", () => {
  it("shows the writer one tool and the names of the others", () => {
    const [task] = buildTasks([{ tool: tools[0] as Tool, args: { path: "notes.txt" } }], tools);
    const text = task?.messages.map((message) => ("content" in message ? message.content : "")).join("\n") ?? "";
    expect(text).toContain("Reads the text of one file.");
    expect(text).not.toContain("Returns the weather.");
    expect(text).toContain("Other tools beside it: read_folder, forecast, merge.");
    expect(text).toContain('1. arguments {"path":"notes.txt"}');
  });

  it("groups the queries of a tool, and those that need none", () => {
    const { wanted } = planQueries(tools, 2, 1);
    const sizes = buildTasks(wanted, tools).map((task) => task.wanted.length);
    expect(sizes.toSorted()).toEqual([2, 2, 3, 3, 4]);
  });

  it.each([
    ["text", "no JSON", "the writer's answer is not JSON"],
    ["another form", '{"query": "a"}', "the writer's answer has the wrong form"],
    ["too few", '{"queries": ["a"]}', "the writer wrote 1 of 2 queries"],
  ])("refuses %s", (_, text, why) => {
    expect(readQueries(text, { wanted: [{ kind: "writing" }, { kind: "knowledge" }] })).toEqual({ why });
  });

  it("reads a fenced answer", () => {
    const wanted = [{ kind: "writing" as const }];
    expect(readQueries('```json\n{"queries": ["  Write\\n a poem "]}\n```', { wanted })).toEqual(["Write a poem"]);
  });

  it("has a hash of the instructions to the writer", () => {
    expect(hashWriting()).toMatch(/^[0-9a-f]{12}$/);
  });
});

describe("a written query", () => {
  const names = tools.map(({ name }) => name);
  const read = { tool: tools[0] as Tool, args: { path: "notes.txt" } };
  const forecast = { tool: tools[2] as Tool, args: { unit: "celsius", days: 3 } };

  it("is kept with the arguments that it states", () => {
    expect(checkQuery("What is in Notes.txt?", read, names)).toEqual({
      wanted: read,
      input: "What is in Notes.txt?",
      args: { path: "notes.txt" },
    });
    expect(checkQuery("How warm will it be in the next 3 days?", forecast, names)).toMatchObject({ args: { days: 3 } });
  });

  it.each([
    ["that is empty", "", "it is empty"],
    ["that names a tool", "Call read_file for notes.txt", "it names the tool read_file"],
    ["that does not say an argument", "What is in my file?", 'it does not say path ("notes.txt")'],
    ["that is very long", "a ".repeat(1001), "it is longer than 2,000 characters"],
  ])("is dropped %s", (_, input, dropped) => {
    expect(checkQuery(input, read, names)).toEqual({ dropped });
  });
});

it("drafts one query for each tool without a writer", () => {
  const { wanted } = planQueries(tools, 2, 1);
  const queries = draftQueries(wanted, tools);
  expect(queries).toHaveLength(6);
  expect(queries.map(({ input }) => input)).toContain("Read the text of one file");
});

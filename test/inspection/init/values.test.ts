import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isJsonObject, type Json, type JsonObject } from "../../../src/evals/base/types/json.ts";
import type { Tool } from "../../../src/evals/base/types/tool.ts";
import { sampleArguments } from "../../../src/evals/inspection/init/values.ts";

const sample = (parameter: string, schema: JsonObject, tool: Partial<Tool> = {}) =>
  sampleArguments(
    {
      name: "act",
      ...tool,
      inputSchema: { type: "object", properties: { [parameter]: schema }, required: [parameter] },
    },
    () => true,
  ).args[parameter];

const text = (description?: string) => ({ type: "string", ...(description && { description }) });

it.each<[string, JsonObject, Json | undefined]>([
  ["mode", { type: "string", enum: ["fast", "slow"] }, "fast"],
  ["unit", { type: "string", default: "celsius" }, "celsius"],
  ["currency", text("The currency (e.g. 'CHF', 'USD')."), "CHF"],
  ["location", text("The city and state, e.g. San Diego, CA."), "San Diego"],
  ["when", { type: "string", format: "date-time" }, "2026-03-02T09:00:00Z"],
  ["day", text("The day as MM/DD/YYYY."), "03/02/2026"],
  ["sql", text(), "SELECT name FROM customers LIMIT 10"],
  ["manifest", text(), "{ kind: Namespace, metadata: { name: staging } }"],
  ["base_url", text(), "https://example.com/pricing"],
  ["branch_name", text(), "feature/login"],
  ["repo_path", text(), "projects/website"],
  ["height", { type: "integer" }, 1280],
  ["key", text("The key to press, such as `ArrowLeft`."), "ArrowLeft"],
  ["paths", { type: "array", items: { type: "string" } }, ["notes.txt"]],
  ["code", { type: "string", pattern: "^\\d\\+" }, undefined],
  ["code", { type: "string", pattern: "^\\d \\+" }, "2 + 2"],
  ["limit", { type: "integer", maximum: 5 }, 3],
  ["id", { type: "string", minLength: 3 }, "1207"],
  ["api_key", text(), undefined],
  ["room_type", text(), undefined],
  ["room_type", text("Possible values are: single, double."), "single"],
  ["profile", text("The profile. Options:\n- driving: by car\n- walking: on foot"), "driving"],
  ["mode", text("Output options: see the manual."), undefined],
  ["player_name", text(), undefined],
  ["options", { type: "object" }, undefined],
])("chooses a value for %s %j", (parameter, schema, expected) => {
  expect(sample(parameter, schema)).toEqual(expected);
});

it("reads what a tool is about", () => {
  expect(sample("query", text(), { description: "Runs a query on PostgreSQL." })).toMatch(/^SELECT/);
  expect(sample("query", text(), { description: "Execute an UPDATE or DELETE on SQLite." })).toMatch(/^UPDATE/);
  expect(sample("query", text(), { name: "create_table", description: "Creates a table with SQL." })).toMatch(
    /^CREATE/,
  );
  expect(sample("q", text("What to geocode."), { description: "Geocodes." })).toBe("Brandenburg Gate, Berlin");
  expect(sample("query", text(), { description: "Searches PubMed." })).toBe("sleep and memory");
  expect(sample("path", text(), { name: "list_directory" })).toBe("docs");
  expect(sample("filename", text(), { name: "find_text", description: "In a Word document." })).toBe("report.docx");
  expect(sample("svg_path", text(), { name: "insert_svg", description: "Into a presentation." })).toBe("logo.svg");
  const paths = { type: "array", items: { type: "string" } };
  expect(sample("paths", paths, { name: "read_multiple_files" })).toEqual(["notes.txt", "report.md"]);
  expect(sample("destination", text(), { description: "Moves files." })).toBe("notes.txt");
});

it("gives two parameters of one kind two values, and a second query others", () => {
  const properties = { from_date: text(), to_date: text() };
  const tool = { name: "act", inputSchema: { type: "object", properties, required: ["from_date", "to_date"] } };
  expect(sampleArguments(tool, () => true).args).toEqual({ from_date: "2026-03-02", to_date: "2026-03-05" });
  const one = { ...tool, inputSchema: { ...tool.inputSchema, required: ["to_date"] } };
  expect(sampleArguments(one, () => true, 1).args).toEqual({ to_date: "2026-03-05" });
});

/** The functions of a benchmark, and lists of servers, with JSON Schema's names of types. */
function listAll(): Tool[] {
  const fixtures = join(import.meta.dirname, "../../fixtures");
  const types: Record<string, string> = { dict: "object", float: "number", any: "string", tuple: "array" };
  const translate = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(translate);
    if (!isJsonObject(value)) return value;
    const members = Object.entries(value).map(([key, one]) => [
      key,
      key === "type" && typeof one === "string" ? (types[one] ?? one) : translate(one),
    ]);
    return Object.fromEntries(members);
  };
  const lines = readFileSync(join(fixtures, "bfcl/cases.jsonl"), "utf8").split("\n").filter(Boolean);
  const functions = lines.flatMap((line) => (JSON.parse(line) as { tools?: JsonObject[] }).tools ?? []);
  const lists = ["filesystem", "everything"].map((name) =>
    JSON.parse(readFileSync(join(fixtures, `lint/${name}.json`), "utf8")),
  ) as (Tool[] | { tools: Tool[] })[];
  return [
    ...functions.map((one) => ({ ...one, inputSchema: translate(one.parameters ?? {}) }) as unknown as Tool),
    ...lists.flatMap((list) => (Array.isArray(list) ? list : list.tools)),
  ];
}

it("samples no plain sentence where a form is meant, over all lists", () => {
  const sampled = listAll().flatMap((tool) => {
    const { args, unfilled } = sampleArguments(tool, () => true);
    return [...Object.entries(args), ...unfilled.map((name) => [name, undefined] as const)];
  });
  const formed = sampled.filter(([name]) => /sql|path|url|date(?!base)|email/i.test(name));
  const sentences = formed.filter(([, value]) => typeof value === "string" && /^[a-z]+ [a-z ]+[.!?]?$/i.test(value));
  expect(sentences).toEqual([]);
  const filled = sampled.filter(([, value]) => value !== undefined).length;
  expect({ parameters: sampled.length, filled, formed: formed.length }).toMatchSnapshot();
});

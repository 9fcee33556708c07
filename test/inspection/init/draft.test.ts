import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Tool } from "../../../src/evals/base/types/tool.ts";
import { parseYaml } from "../../../src/evals/input/parsing/yaml.ts";
import { loadInlineSuites } from "../../../src/evals/input/suites/load.ts";
import { checkSuite } from "../../../src/evals/input/suites/validate.ts";
import { differInEffect, draftCases, isDeprecated, makeRequest } from "../../../src/evals/inspection/init/draft.ts";
import { renderSuite } from "../../../src/evals/inspection/init/suite.ts";
import { runRules } from "../../../src/evals/inspection/lint/rule.ts";
import { rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { anyText } from "../../fakes/text.ts";

const root = join(import.meta.dirname, "../..");
const labeled = join(root, "inspection/lint/labelled/lists");
const files = [
  ...readdirSync(labeled).map((name) => join(labeled, name)),
  ...["filesystem", "everything"].map((name) => join(root, `fixtures/lint/${name}.json`)),
];

function readList(file: string): Tool[] {
  const read = JSON.parse(readFileSync(file, "utf8")) as Tool[] | { tools: Tool[] };
  return Array.isArray(read) ? read : read.tools;
}
const filesystem = readList(join(root, "fixtures/lint/filesystem.json"));

const server = { command: "node", args: ["server.mjs"], cwd: ".." };
const render = (tools: readonly Tool[]) =>
  renderSuite(draftCases(tools), { server, name: "a server", toProject: "../", dispatch: {} });

describe("a drafted suite", () => {
  it("has a case for each tool, near misses and queries that need no tool", () => {
    expect(render(filesystem)).toMatchSnapshot();
  });

  it.each(files)("passes lint for the list %s", async (file) => {
    const tools = readList(file);
    const { value } = parseYaml(render(tools), "s.yaml");
    const { suites } = await loadInlineSuites([value], { cwd: root });
    const [suite] = suites;
    if (!suite) throw new Error("the draft is no suite");
    const names = tools.map(({ name }) => name);
    const subject = { suite, tools: names, listed: tools as never };
    const target = { kind: "suites" as const, subject, names: [], settings: [], where: () => ({}) };
    const findings = runRules([target], rules).findings.filter(({ severity }) => severity !== "info");
    expect(findings.map(({ message }) => message)).toEqual([]);
  });

  it("is a valid suite that expects only listed tools, for any list", () => {
    const tool = fc.record({
      name: fc.string({ minLength: 1, maxLength: 20 }),
      description: anyText({ maxLength: 80 }),
      inputSchema: fc.record({
        required: fc.array(fc.string({ maxLength: 8 }), { maxLength: 3 }),
        properties: fc.dictionary(
          fc.string({ maxLength: 8 }),
          fc.record({
            type: fc.constantFrom("string", "integer", "boolean", "array", "object"),
            default: fc.jsonValue({ maxDepth: 2 }),
          }),
        ),
      }),
    });
    const list = fc.uniqueArray(tool, { selector: ({ name }) => name, minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(list, (tools) => {
        fc.pre(!JSON.stringify(tools).includes("__proto__"));
        const text = render(tools as unknown as Tool[]);
        expect(text).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]/u);
        const { problems, checked } = checkSuite(parseYaml(text, "s.yaml").value);
        expect(problems.filter(({ severity }) => severity !== "warning")).toEqual([]);
        const names = new Set(["none", ...tools.map(({ name }) => name)]);
        for (const { content } of checked?.cases ?? []) expect(names).toContain(content.expect?.tool);
      }),
    );
  });

  it("quotes the names of tools that are reserved in suites", () => {
    const tools = ["none", "any", "null"].map((name) => {
      return { name, description: `Sets the status to ${name}.`, inputSchema: { type: "object" } };
    });
    const { value } = parseYaml(render(tools), "s.yaml");
    const { cases } = value as { cases: { id: string; expect: { tool: string } }[] };
    expect(cases.map(({ id, expect: { tool } }) => `${id}: ${tool}`)).toEqual(
      expect.arrayContaining(['none: "none"', 'any: "any"', "null: null", "no-tool-1: none"]),
    );
  });

  it("has at most 30 tools, first those with the shortest names, and names the others", () => {
    const basic = ["git_status", "git_commit", "git_log", "git_diff", "git_add"];
    const others = Array.from({ length: 40 }, (_, at) => `git_worktree_item_${at}`);
    const tools = [...others, ...basic].map((name) => ({ name, description: `Does ${name}.`, inputSchema: {} }));
    const { cases, left } = draftCases(tools);
    const named = cases.filter(({ tool, avoid }) => tool && !avoid).map(({ id }) => id);
    expect(named).toEqual(expect.arrayContaining(basic));
    expect([named.length, left.length]).toEqual([30, 15]);
  });

  it("holds no text that may not be written, and no mark in its place", () => {
    const isUsable = (text: string) => !/notes\.txt|detailed/.test(text);
    const { cases } = draftCases(filesystem, isUsable);
    expect(cases.find(({ id }) => id === "list_directory")?.input).toBe('Please list directory, with path "docs"');
    expect(cases.find(({ id }) => id === "read_text_file")?.args).toEqual({ path: "report.md" });
    expect(JSON.stringify(cases)).not.toMatch(/notes\.txt|detailed|redacted/);
  });
});

it("takes no example and no placeholder of a description into the request, and does not end at an abbreviation", () => {
  const request = (description: string) => makeRequest({ name: "click", description });
  expect(request("Click on an element by its ref (e.g. @e1) or coordinates. Fast.")).toBe(
    "Please click on an element by its ref",
  );
  expect(request("Run several tools, e.g. click. Then stop.")).toBe("Please run several tools");
  expect(request("Shows what is in <revision>:<path>")).toBe("Please show what is in revision:path");
  expect(request("Resizes the page")).toBe("Please resize the page");
  expect(request("Unstages all staged changes")).toBe("Please unstage all staged changes");
});

it("leaves words of most names out of a request, and small words out of its end", () => {
  const tools = ["pubmed_fetch_articles", "pubmed_lookup_mesh", "pubmed_find_related"].map((name): Tool => {
    return { name, description: "", inputSchema: { type: "object" } };
  });
  expect(
    draftCases(tools)
      .cases.map(({ input }) => input)
      .slice(0, 3),
  ).toEqual(["Please fetch articles", "Please lookup mesh", "Please find related"]);
  const long = "area".repeat(36);
  expect(makeRequest({ name: "x", description: `Computes ${long} in GeoJSON` })).toBe(`Please compute ${long}`);
});

it.each([
  ["get_page", "set_page", true],
  ["start_trace", "stop_trace", true],
  ["tab_close", "tab_open", true],
  ["get_page", "list_pages", false],
  ["start_trace", "stop_all_traces", false],
])("%s and %s differ in effect: %s", (one, other, differ) => {
  expect(differInEffect(one, other)).toBe(differ);
});

describe("a deprecated tool", () => {
  it.each([
    "Read the text of one file. Deprecated.",
    "DEPRECATED: Use read_text_file instead.",
    "Reads a file as text. DEPRECATED: Use read_text_file instead.",
    "[Deprecated] Reads a file.",
    "Reads a file (deprecated).",
    "**Deprecated** in favor of read_text_file.",
    "This tool is deprecated; use read_text_file.",
    "Reads a file.\nDeprecated since 2.0.",
  ])("is one that says so: %s", (description) => {
    expect(isDeprecated({ description })).toBe(true);
  });

  it.each([
    "Reads a file. This Acme MCP server (@acme/mcp) is deprecated and no longer receives feature work.",
    "Lists deprecated fields of a schema.",
    "Finds calls of functions that were deprecated.",
    "Marks a package version as deprecated.",
    "Includes enum values. Deprecated fields are left out.",
  ])("is not one that says it of something else: %s", (description) => {
    expect(isDeprecated({ description })).toBe(false);
  });
});

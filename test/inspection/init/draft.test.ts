import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Tool } from "../../../src/evals/base/types/tool.ts";
import { parseYaml } from "../../../src/evals/input/parsing/yaml.ts";
import { checkSuite } from "../../../src/evals/input/suites/validate.ts";
import { draftCases } from "../../../src/evals/inspection/init/draft.ts";
import { renderSuite } from "../../../src/evals/inspection/init/suiteText.ts";
import { anyText } from "../../fakes/text.ts";

const server = { command: "node", args: ["server.mjs"], cwd: ".." };
const lists = join(import.meta.dirname, "../lint/labelled/lists");

function readList(name: string): Tool[] {
  const read = JSON.parse(readFileSync(join(lists, `${name}.json`), "utf8")) as Tool[] | { tools: Tool[] };
  return Array.isArray(read) ? read : read.tools;
}

const render = (tools: readonly Tool[]) =>
  renderSuite(draftCases(tools), { server, name: "a server", toProject: "../" });

describe("a drafted suite", () => {
  it.each(["memory", "filesystem", "context7", "github"])("for the tools of %s", (name) => {
    expect(render(readList(name))).toMatchSnapshot();
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
        const { problems, checked } = checkSuite(parseYaml(text, "s.yaml").value);
        expect(problems.filter(({ severity }) => severity !== "warning")).toEqual([]);
        const names = new Set(["none", ...tools.map(({ name }) => name)]);
        for (const { content } of checked?.cases ?? []) expect(names).toContain(content.expect?.tool);
      }),
    );
  });

  it("expects the tool of the near miss and no other", () => {
    const near = draftCases(readList("filesystem")).cases.find(({ avoid }) => avoid);
    expect(near).toMatchObject({ tool: "list_directory", avoid: { tool: "list_directory_with_sizes" } });
  });

  it("has at most eight tools, and names the others", () => {
    const tools = readList("github");
    const { cases, left } = draftCases(tools);
    expect(cases.filter(({ tool }) => tool !== undefined)).toHaveLength(8);
    expect(left).toHaveLength(tools.length - 8);
  });
});

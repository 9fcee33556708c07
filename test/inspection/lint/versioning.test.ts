import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { versioningRules } from "../../../src/evals/inspection/lint/rules/versioning.ts";

function found(before: readonly JsonObject[], after: readonly JsonObject[]) {
  const subject = { before, after };
  return versioningRules.flatMap(({ id, check }) => [...check(subject)].map((one) => ({ rule: id, ...one })));
}

const { tools }: { tools: JsonObject[] } = JSON.parse(
  readFileSync(new URL("../../fixtures/lint/filesystem.json", import.meta.url), "utf8"),
);

/** The real list with another text in the place of one. */
function edited(old: string, text: string): JsonObject[] {
  const before = JSON.stringify(tools);
  expect(before).toContain(old);
  return JSON.parse(before.replace(old, text));
}

describe("the versioning rules on a real list", () => {
  it("find nothing where nothing changed, or only for the better", () => {
    expect(found(tools, structuredClone(tools))).toEqual([]);
    expect(found(tools, tools.toReversed())).toEqual([]);
    expect(found(tools, [...tools, { name: "read_file_v2", inputSchema: { type: "object" } }])).toEqual([]);
    expect(found(tools, edited('"enum":["name","size"]', '"enum":["name","size","date"]'))).toEqual([]);
  });

  it("distinguish a removed tool from a renamed and from a deprecated one", () => {
    const rename = edited('"name":"write_file"', '"name":"save_file"');
    expect(found(tools, rename)).toEqual([
      {
        rule: "version-tool-removed",
        at: ["write_file"],
        message: "write_file was renamed to save_file: calls of the old name fail.",
        fix: 'List write_file too for a while, with a description that starts "DEPRECATED: use save_file".',
      },
    ]);
    const deprecated = tools.map((tool) =>
      tool.name === "write_file" ? { ...tool, description: "DEPRECATED: use save_file. Writes." } : tool,
    );
    const both = [...deprecated, ...rename.filter(({ name }) => name === "save_file")];
    expect([found(tools, both), found(both, rename)]).toEqual([[], []]);
  });
});

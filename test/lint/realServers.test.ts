import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { annotationRules } from "../../src/evals/lint/rules/annotations.ts";
import { descriptionRules } from "../../src/evals/lint/rules/descriptions.ts";
import { nameRules } from "../../src/evals/lint/rules/names.ts";
import { propertyRules } from "../../src/evals/lint/rules/properties.ts";
import { schemaRules } from "../../src/evals/lint/rules/schemas.ts";
import { jsonPath } from "../../src/evals/lint/where.ts";
import type { JsonObject } from "../../src/evals/types/json.ts";
import { realFindings } from "./cases/realServers.ts";

const rules = [...nameRules, ...descriptionRules, ...schemaRules, ...propertyRules, ...annotationRules];

function toolsOf(server: string): JsonObject[] {
  const file = join(import.meta.dirname, `../fixtures/lint/${server}.json`);
  return JSON.parse(readFileSync(file, "utf8")).tools;
}

const found = ["everything", "filesystem"].flatMap((server) =>
  toolsOf(server).flatMap((tool) => {
    const subject = { server, tool, siblings: new Set<string>(), shownName: `mcp__${server}__${tool.name}` };
    return rules.flatMap(({ id, check }) =>
      [...check(subject)].map(({ at }) => ({ server, tool: `${tool.name}`, rule: id, path: jsonPath(at) })),
    );
  }),
);

test("finds on two real servers what was reviewed by hand, and nothing else", () => {
  expect(found).toEqual(realFindings.map(({ server, tool, rule, path }) => ({ server, tool, rule, path })));
});

test("is wrong in less than one finding of twenty", () => {
  const wrong = realFindings.filter(({ verdict }) => verdict === "false positive");
  expect(wrong.length / realFindings.length).toBeLessThan(0.05);
});

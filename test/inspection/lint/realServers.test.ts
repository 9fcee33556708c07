import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeToolList } from "../../../src/evals/inspection/lint/collect.ts";
import { runRules } from "../../../src/evals/inspection/lint/rule.ts";
import { rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { rules as labeledRules } from "./labelled/measure.ts";

/** The rules whose findings on these lists the labels in `labelled/` do not judge. */
const others = new Set([...rules.tools, ...rules.toolsets].map(({ id }) => id));
for (const { id } of labeledRules) others.delete(id);

test.each(["everything", "filesystem"])("what the other rules find on %s was read by hand, and is right", (server) => {
  const file = join(import.meta.dirname, `../../fixtures/lint/${server}.json`);
  const items = JSON.parse(readFileSync(file, "utf8")).tools;
  const { subjects } = describeToolList({ server, items, settings: [{ profile: "spec" }] });
  const found = runRules(subjects, rules).findings.filter(({ rule }) => others.has(rule));
  expect(found.map(({ rule, location: { tool, path } }) => `${rule} ${tool} ${path}`)).toMatchSnapshot();
});

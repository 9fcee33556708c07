import { describe, expect, it } from "vitest";
import { severitySchema } from "../../../src/evals/base/types/finding.ts";
import { catalogue, explainUnknownRule, rules } from "../../../src/evals/inspection/lint/rules/index.ts";

const list = catalogue(rules);

describe("the registry", () => {
  it("names each rule once, over all families", () => {
    const ids = list.map(({ id }) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  it.each(list)("says of $id what, why and by what source", ({ id, severity, why, docs }) => {
    expect(id).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
    expect(severitySchema.options).toContain(severity);
    expect(why).toMatch(/^[^a-z\n][^\n]+\.$/);
    expect(docs).toMatch(/^(https:\/\/[^\s/]+\.[^\s]+|docs\/lint-rules\.md)$/);
  });

  it("has no two rules with one reason", () => {
    expect(new Set(list.map(({ why }) => why)).size).toBe(list.length);
  });
});

describe("an unknown rule id", () => {
  it.each([
    ["name-lenght", 'Did you mean "name-length"?'],
    ["no-such-thing-at-all", "List all rules with `evals lint --rules`."],
  ])("%s is reported with a hint", (id, hint) => {
    expect(explainUnknownRule(id, rules)).toEqual({ message: `There is no rule "${id}".`, hint });
  });

  it("is not one that exists", () => {
    expect(explainUnknownRule("suite-size", rules)).toBeUndefined();
  });
});

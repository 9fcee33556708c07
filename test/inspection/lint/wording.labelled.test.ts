import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { nameWordingRules } from "../../../src/evals/inspection/lint/rules/names.ts";
import { type Group, labels, measured, rules, table, toolsOf } from "./labelled/measure.ts";

const { tally, wrong, missed } = measured();

test("every tool of every list is labeled, with rules that there are", () => {
  const ids = new Set(rules.map(({ id }) => id));
  for (const [list, byTool] of Object.entries(labels)) {
    expect(Object.keys(byTool).sort()).toEqual(
      toolsOf(list)
        .map(({ name }) => name)
        .sort(),
    );
    expect(
      Object.values(byTool)
        .flat()
        .filter((id) => !ids.has(id)),
    ).toEqual([]);
  }
});

test("the table of precision and recall", async () => {
  await expect(table()).toMatchFileSnapshot("./labelled/measured.md");
});

test("what rules find and a reader does not, and the other way round", () => {
  expect({ wrong, missed }).toMatchSnapshot();
});

const of = (id: string, groups: readonly Group[]) =>
  groups
    .map((group) => tally(id, group))
    .reduce((sum, one) => ({ both: sum.both + one.both, rule: sum.rule + one.rule, reader: sum.reader + one.reader }));

describe.each(rules)("$id ($severity)", ({ id, severity }) => {
  it("is right in what it finds", () => {
    const { both, rule } = of(id, ["real", "later", "made"]);
    expect(both / (both + rule)).toBeGreaterThanOrEqual(severity === "info" ? 0.8 : 0.9);
  });

  it("is right in 19 of 20 findings on the real lists", () => {
    const { both, rule } = of(id, ["real", "later"]);
    expect(rule).toBeLessThanOrEqual(both / (id === "description-sibling" ? 10 : 19));
  });

  it("finds most of what is broken", () => {
    const { both, reader } = of(id, ["real", "later", "made"]);
    expect(both / (both + reader)).toBeGreaterThanOrEqual(id === "description-sibling" ? 0.4 : 0.75);
  });
});

/** A second set for the names alone: what 514 tools of the Berkeley leaderboard start with. */
test("verbs at the start of 514 other names", () => {
  const { verbs, exceptions }: { verbs: string[]; exceptions: string[] } = JSON.parse(
    readFileSync(join(import.meta.dirname, "labelled/names.json"), "utf8"),
  );
  const cases = readFileSync(join(import.meta.dirname, "../../fixtures/bfcl/cases.jsonl"), "utf8")
    .trim()
    .split("\n");
  const tools = new Map<string, string>();
  for (const line of cases) for (const { name, description } of JSON.parse(line).tools) tools.set(name, description);
  const apart = (name: string) =>
    name
      .replace(/([a-z])([A-Z])/g, "$1_$2")
      .toLowerCase()
      .split(/[^a-z\d]/)[0] ?? "";
  const starts = (name: string) => [name, name.split(".").at(-1) ?? ""].some((part) => verbs.includes(apart(part)));
  const [rule] = nameWordingRules;
  const sum = { both: 0, rule: [] as string[], reader: [] as string[] };
  for (const [name, description] of tools) {
    const labeled = exceptions.includes(name) || !starts(name);
    const subject = { server: "", tool: { name, description }, names: new Set<string>(), shownName: name };
    const finds = [...(rule?.check(subject) ?? [])].length > 0;
    if (finds && labeled) sum.both++;
    else if (finds) sum.rule.push(name);
    else if (labeled) sum.reader.push(name);
  }
  expect(tools.size).toBe(514);
  const { both, rule: found, reader } = sum;
  expect([both, found.join(), reader.join()]).toEqual([
    157,
    "buscar_internet,comprobar_ip,buscar_exploit",
    "total_revenue,group_dynamics.pattern,uber.ride,contact,RideSharing_2_GetRide,SavScr,type.of.food",
  ]);
});

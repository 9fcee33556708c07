import { describe, expect, it } from "vitest";
import { applyOverrides, type Overrides } from "../../../src/evals/experiments/workspace/suites.ts";
import { loadYaml } from "./workspace.ts";

const suite = () =>
  loadYaml(`
trials: 2
cases:
  - { id: read-one, input: a, expect: { tool: x } }
  - { id: read-all, input: b, expect: { tool: x } }
  - { id: no-tool, input: c, expect: { tool: none } }
`);

const idsKept = async (cases: string[]) => applyOverrides(await suite(), { cases }).cases.map(({ id }) => id);

describe("override", () => {
  it("changes nothing without overrides", async () => {
    const loaded = await suite();
    expect(applyOverrides(loaded, {})).toEqual(loaded);
  });

  it("takes precedence over the file", async () => {
    const overrides: Overrides = { trials: 7, passRate: 0.5, maxTurns: 3, execute: "never" };
    const { cases, execute } = applyOverrides(await suite(), overrides);
    expect(execute).toBe("never");
    expect(cases.map(({ trials, passRate, maxTurns }) => [trials, passRate, maxTurns])).toEqual(
      Array(3).fill([7, 0.5, 3]),
    );
  });

  it("changes the hash if it can change an outcome, and only then", async () => {
    const loaded = await suite();
    const hashes = (overrides: Overrides) => {
      const changed = applyOverrides(loaded, overrides);
      return [changed.hash !== loaded.hash, changed.cases[0]?.hash !== loaded.cases[0]?.hash];
    };
    expect(hashes({ trials: 9, passRate: 0 })).toEqual([false, false]);
    expect(hashes({ execute: "all" })).toEqual([true, false]);
    expect(hashes({ maxTurns: 5 })).toEqual([true, true]);
    expect(hashes({ cases: ["one"] })).toEqual([true, false]);
  });

  it.each([
    [["read"], ["read-one", "read-all"]],
    [["o"], ["read-one", "no-tool"]],
    [
      ["no-*", "read-one"],
      ["read-one", "no-tool"],
    ],
    [["*-al?"], ["read-all"]],
    [["read-?"], []],
    [["*"], ["read-one", "read-all", "no-tool"]],
    [["*d*n*"], ["read-one"]],
    [[], []],
  ])("keeps with %j the cases %j", async (filters, ids) => {
    expect(await idsKept(filters)).toEqual(ids);
  });
});

import { expect, it } from "vitest";
import type { PlannedCase } from "../../../src/evals/asking/trials/plan.ts";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import type { Expectation } from "../../../src/evals/base/types/suite.ts";
import type { Surface } from "../../../src/evals/base/types/suiteFile.ts";
import { addDistractorArms, addSurfaceArms, listSurfaces } from "../../../src/evals/experiments/workspace/arms.ts";
import type { Source } from "../../../src/evals/servers/source.ts";
import { aCase, aSuite, aTool, aToolset } from "../../fakes/suite.ts";

const rules = { avoid: [], extras: false, argsMode: "partial" } as const;
const picks = (...tools: string[]): Expectation => ({ ...rules, kind: "tool", call: { tools } });
const list = { tools: "list.json" };
const cases = [
  aCase("list", { expect: { ...picks("account_list"), avoid: ["account_create"] } }),
  aCase("create", { expect: picks("account_create", "account_add") }),
  aCase("none", { expect: { kind: "none", avoid: [] } }),
];
const source = (...names: string[]): Source => ({
  tools: names.map((name) => aTool(name, { origin: "static" })),
  reopen: async () => Promise.reject(new Error("no server")),
  warnings: [],
  close: async () => {},
});

function plan(surface: Surface, ...names: string[]) {
  const suite = aSuite("azure", cases, { surfaces: [surface], dispatch: { run: { name: "name" } }, catalog: "c.json" });
  const toolset = aToolset(aTool("account_list"), aTool("account_create"), aTool("account_add"));
  const heads = cases.map((one): PlannedCase => ({ suite, case: one, arm: "head", toolset }));
  const opened = listSurfaces([suite]).map((one) => ({
    ...one,
    opened: { suite: one.suite, source: source(...names) },
  }));
  const { cases: planned, problems } = addSurfaceArms(heads, opened, new Map());
  return { suite, planned, problems: problems.map(formatProblem) };
}

it("asks each case on a surface after the case itself, with the names that its tools have there", () => {
  const names = { account_list: "storage", account_create: ["storage", "create"], account_add: "storage" };
  const { suite, planned, problems } = plan({ name: "consolidated", server: list, names }, "storage", "create");
  expect(problems).toEqual([
    'azure.yaml: warning: Surface "consolidated": 1 of 3 cases are not asked there. The first: Case "list": tool "storage" is both expected and avoided: a call of it can never pass.\n  Map names under `names` of the surface, where its tools have others.',
  ]);
  expect(planned.map((one) => [one.case.id, one.arm])).toEqual([
    ["list", "head"],
    ["create", "head"],
    ["create", "consolidated"],
    ["none", "head"],
    ["none", "consolidated"],
  ]);
  const create = planned[2];
  expect(create?.case.expect).toMatchObject({ kind: "tool", call: { tools: ["storage", "create"] } });
  expect(create?.suite).toBe(suite);
  // The calls of the arm are those of the surface's server, and the dispatchers of the suite are not its own.
  expect(create?.source).toMatchObject({ server: list });
  expect(create?.source?.catalog).toBeUndefined();
  expect(create?.case.dispatch).toBeUndefined();
});

it("omits cases whose tools a surface lacks, without a warning if the author declared that", () => {
  const silent = plan(
    { name: "read-only", server: list, names: { account_create: null, account_add: null } },
    "account_list",
  );
  expect(silent.planned.map((one) => `${one.case.id} ${one.arm}`)).toEqual([
    "list head",
    "list read-only",
    "create head",
    "none head",
    "none read-only",
  ]);
  expect(silent.problems).toEqual([]);
  const losses = plan({ name: "read-only", server: list }, "account_list", "account_create");
  expect(losses.problems.join()).toContain('1 of 3 cases are not asked there. The first: Case "create"');
});

it("reports a surface on which no case can be asked as an error", () => {
  const suite = aSuite("azure", [cases[0] ?? aCase("a")], { surfaces: [{ name: "other", server: list }] });
  const heads = suite.cases.map(
    (one): PlannedCase => ({ suite, case: one, arm: "head", toolset: aToolset(aTool("account_list")) }),
  );
  const [surface] = listSurfaces([suite]);
  if (!surface) throw new Error("no surface");
  const opened = { suite: surface.suite, source: source("storage") };
  const { problems } = addSurfaceArms(heads, [{ ...surface, opened }], new Map());
  expect(problems.map(({ severity }) => severity)).toEqual(["error"]);
});

it("adds distractors in one order, the shorter list in the longer one", () => {
  const foreign = ["a", "b", "c", "d"].map((name) => aTool(name, { origin: "distractor", server: "other" }));
  const suite = aSuite("files", [aCase("list")]);
  const [one = aCase("list")] = suite.cases;
  const planned = (tools: typeof foreign): PlannedCase[] => [
    { suite, case: one, arm: "head", toolset: aToolset(aTool("own"), ...tools) },
  ];
  const listArms = (tools: typeof foreign, text: string) => {
    const { cases: heads, armCases } = addDistractorArms(planned(tools), text, new Map());
    return [...heads, ...armCases].map(({ arm, toolset }) => [arm, toolset.tools.map(({ name }) => name).sort()]);
  };
  const arms = listArms(foreign, "4,0, 2");
  expect(arms.map(([arm]) => arm)).toEqual(["head", "distractors-2", "distractors-4"]);
  expect(arms[0]?.[1]).toEqual(["own"]);
  expect(arms[2]?.[1]).toEqual(["a", "b", "c", "d", "own"]);
  expect(arms[1]?.[1]).toHaveLength(3);
  expect(listArms(foreign.toReversed(), "0,2,4")).toEqual(arms);
  for (const [text, message] of [
    ["0,ten", '--distractors: "ten" is not a number of tools.'],
    ["0,5", '--distractors 5: the suite "files" has only 4 distractors.'],
  ] as const)
    expect(() => listArms(foreign, text)).toThrow(message);
  expect(() => listArms([], "0,1")).toThrow("--distractors: no suite has other tools to add.");
});

it("adds the other servers of a configuration in its order, for cases about one server", () => {
  const suite = aSuite("all", [aCase("one"), aCase("none")]);
  const members = [{ name: "x" }, { name: "y" }, { name: "gone", failure: "It ended." }, { name: "z" }];
  const toolset = aToolset(...["x", "y", "z"].map((server) => aTool(`${server}__do`, { server })));
  const planned = suite.cases.map((one, at): PlannedCase => {
    return { suite, case: one, arm: "head", toolset, ...(at === 0 && { owner: "y" }) };
  });
  const { cases: heads, armCases } = addDistractorArms(planned, "0,1,2", new Map([["all", members]]));
  const servers = ({ toolset: { tools } }: PlannedCase) => tools.map(({ server }) => server).sort();
  expect(heads.map(servers)).toEqual([["y"], ["x", "y", "z"]]);
  expect(armCases.map(servers)).toEqual([
    ["x", "y"],
    ["x", "y", "z"],
  ]);
});

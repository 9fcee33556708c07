import { expect, it } from "vitest";
import type { ServersSummary } from "../../../src/evals/base/types/arms.ts";
import type { RunManifest } from "../../../src/evals/base/types/run.ts";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";
import type { Score, Trial } from "../../../src/evals/base/types/trial.ts";
import { ServersTally, serverBlocks } from "../../../src/evals/experiments/arms/servers.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { aManifest, aTrial, passed } from "../../fakes/record.ts";
import { aTool } from "../../fakes/suite.ts";
import { caseOf, suiteOf } from "../../reports/samples.ts";

const offered = (server: string, ownName: string, more: Partial<OfferedTool> = {}) =>
  aTool(`${server}__${ownName}`, { server, ownName, ...more });

/** Two servers that both have `find`, a third that did not start, and a case for each, for both, and for none. */
function aConfiguration(): { manifest: RunManifest; tally: ServersTally } {
  const manifest = aManifest("notes", "mail", "down", "both", "none");
  const [suite] = manifest.suites;
  if (!suite) throw new Error("no suite");
  const tools = {
    notes: ["notes__find"],
    mail: ["mail__send"],
    down: ["down__x"],
    both: ["notes__find", "mail__find"],
  };
  suite.cases = suite.cases.map((one) => {
    const expectedTools = tools[one.id as keyof typeof tools] ?? [];
    const isOfOne = expectedTools.length === 1;
    return { ...one, expectedTools, ...(isOfOne && { server: one.id }) };
  });
  suite.servers = [{ name: "notes" }, { name: "mail" }, { name: "down", failure: "it ended with code 1" }];
  manifest.toolsets = {
    list: [
      offered("notes", "find"),
      offered("notes", "read"),
      offered("notes", "notes", { origin: "instructions", description: "Ask before you write." }),
      offered("mail", "find"),
      offered("mail", "send"),
    ],
  };
  return { manifest, tally: new ServersTally(suite, suite.servers, manifest.toolsets) };
}

/** A trial that called these tools, and picked the last of them. */
function calling(caseId: string, verdict: Score, ...names: string[]): Trial {
  const trial = aTrial(caseId, 1);
  const calls = names.map((tool, at) => ({ id: `call-${at}`, tool, arguments: {} }));
  return { ...trial, verdict, turns: trial.turns.map((turn) => ({ ...turn, calls })) };
}
const wrong = (expected: string, picked: string, selection: Score["selection"] = "wrong-tool"): Score => {
  return { ...passed, grade: "fail", selection, expected, picked };
};

it("counts what each server loses to the others, and takes from them", () => {
  const { tally } = aConfiguration();
  tally.add(calling("notes", passed, "notes__find"));
  tally.add(calling("notes", wrong("notes__find", "mail__find"), "mail__find"));
  tally.add(calling("notes", wrong("notes__find", "mail__send"), "notes__read", "mail__send"));
  tally.add(calling("notes", wrong("notes__find", "notes__read"), "notes__read"));
  tally.add(calling("mail", wrong("mail__send", "none", "no-call")));
  tally.add(calling("mail", wrong("mail__send", "made_up", "unknown-tool"), "made_up"));
  tally.add(calling("none", wrong("none", "mail__find", "over-triggered"), "mail__find"));
  const { servers, lost } = tally.summary();
  const counts = ({ passed: part, trials }: { passed: number; trials: number }) => `${part}/${trials}`;
  expect(
    servers.map(({ name, right, lost: gone, taken }) => ({
      ...{ name, right: counts(right), lost: counts(gone), taken: counts(taken) },
    })),
  ).toEqual([
    { name: "notes", right: "1/4", lost: "2/4", taken: "0/3" },
    { name: "mail", right: "0/2", lost: "0/2", taken: "3/5" },
    { name: "down", right: "0/0", lost: "0/0", taken: "0/7" },
  ]);
  // Ranked by share: the one case without a tool was lost at each try.
  expect(lost.map(({ from, to, share, confusions }) => [from, to, counts(share), confusions])).toEqual([
    [null, "mail", "1/1", [{ expected: "none", picked: "mail__find", n: 1 }]],
    [
      "notes",
      "mail",
      "2/4",
      [
        { expected: "notes__find", picked: "mail__find", n: 1 },
        { expected: "notes__find", picked: "mail__send", n: 1 },
      ],
    ],
  ]);
});

it("has no rate for a server without graded trials: broken and ungradable ones are in none", () => {
  const { tally } = aConfiguration();
  const { verdict: _, ...trial } = aTrial("down", 1);
  tally.add({ ...trial, outcome: { kind: "broken", stage: "server", message: "it ended with code 1" } });
  tally.add(aTrial("mail", 1, { verdict: { ...passed, grade: "not-gradable", reason: "no expectation" } }));
  const { servers } = tally.summary();
  expect(servers[2]).toMatchObject({
    ...{ failure: "it ended with code 1", broken: 1, tools: 0 },
    right: { passed: 0, trials: 0, interval: null },
  });
  expect(servers[1]).toMatchObject({ broken: 0, right: { trials: 0, interval: null } });
});

it("describes the lists: their size with instructions, names on several servers, cases about several", () => {
  const { tally } = aConfiguration();
  const { servers, clashes, several } = tally.summary();
  expect(servers.map(({ name, tools, cases }) => [name, tools, cases])).toEqual([
    ["notes", 2, 1],
    ["mail", 2, 1],
    ["down", 0, 1],
  ]);
  expect(servers[0]?.tokens).toBeGreaterThan(servers[1]?.tokens ?? 0);
  expect(clashes).toEqual([{ name: "find", servers: ["notes", "mail"] }]);
  expect(several).toBe(1);
});

it("does not count the trials of a case about several servers", () => {
  const { tally } = aConfiguration();
  tally.add(calling("both", wrong("notes__find", "mail__send"), "mail__send"));
  expect(tally.summary().lost).toEqual([]);
});

const of = (passed: number, trials: number, interval: [number, number] | null = null) => ({ passed, trials, interval });

const summary: ServersSummary = {
  servers: [
    {
      ...{ name: "notes", tools: 2, tokens: 1200, cases: 4, broken: 0 },
      ...{ right: of(16, 20, [0.584, 0.919]), lost: of(2, 20, [0.028, 0.301]), taken: of(0, 10, [0, 0.278]) },
    },
    {
      ...{ name: "mail\u001b[2J", tools: 3, tokens: 90, cases: 2, broken: 0 },
      ...{ right: of(10, 10, [0.722, 1]), lost: of(0, 10, [0, 0.278]), taken: of(3, 25, [0.042, 0.3]) },
    },
    {
      ...{ name: "down", failure: "it ended with code 1", tools: 0, tokens: 1, cases: 1 },
      ...{ ownTool: 0, noTool: 0, broken: 5, right: of(0, 0), lost: of(0, 0), taken: of(0, 30) },
    },
  ],
  lost: [
    {
      ...{ from: null, to: "mail\u001b[2J", share: of(1, 5, [0.036, 0.624]) },
      confusions: [{ expected: "none", picked: "mail__send", n: 1 }],
    },
    {
      ...{ from: "notes", to: "mail\u001b[2J", share: of(2, 20, [0.028, 0.301]) },
      confusions: ["a", "b", "c", "d"].map((picked) => ({ expected: "notes__find", picked, n: 1 })),
    },
  ],
  clashes: Array.from({ length: 10 }, (_, at) => ({ name: `find_${at}`, servers: ["notes", "mail"] })),
  several: 2,
};
const suite = suiteOf({ name: "all", cases: [caseOf({ id: "a", input: "a", expected: "notes__find" })] });
const render = (servers: ServersSummary) =>
  renderTerminal(serverBlocks({ ...suite, servers }), { width: 100, color: false, unicode: true });

it("shows lost and taken trials, name clashes, and servers that did not start", async () => {
  await expect(render(summary)).toMatchFileSnapshot("snapshots/servers.txt");
});

it("omits empty parts", () => {
  expect(serverBlocks(suite)).toEqual([]);
  const [notes] = summary.servers;
  const alone = render({ servers: notes ? [notes] : [], lost: [], clashes: [], several: 0 });
  expect(alone).not.toMatch(/several servers|did not start|excluded/);
});

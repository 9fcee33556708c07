import { expect, it } from "vitest";
import type { ServersSummary } from "../../../src/evals/base/types/arms.ts";
import { serverBlocks } from "../../../src/evals/experiments/arms/serversReport.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { caseOf, suiteOf } from "../../reports/samples.ts";

const of = (passed: number, trials: number, interval: [number, number] | null = null) => ({ passed, trials, interval });

const summary: ServersSummary = {
  servers: [
    {
      ...{ name: "notes", tools: 2, tokens: 1200, cases: 4, ownTool: 1, noTool: 1, broken: 0 },
      ...{ right: of(16, 20, [0.584, 0.919]), lost: of(2, 20, [0.028, 0.301]), taken: of(0, 10, [0, 0.278]) },
    },
    {
      ...{ name: "mail\u001b[2J", tools: 3, tokens: 90, cases: 2, ownTool: 0, noTool: 0, broken: 0 },
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
  renderTerminal(serverBlocks({ ...suite, servers }), {
    width: 100,
    color: false,
    unicode: true,
  });

it("shows lost and taken trials, name clashes, and servers that did not start", () => {
  expect(render(summary)).toMatchInlineSnapshot(`
    "Servers
    server       tools  tokens  right tool            lost          taken
    ────────────────────────────────────────────────────────────────────────────
    notes        2      1,200   16/20 80% (58-92%)    2/20 (3-30%)  0/10 (0-28%)
    mail\\x1b[2J  3      90      10/10 100% (72-100%)  0/10 (0-28%)  3/25 (4-30%)
    down         -      -       not started           -             -

      Cases that expect no tool lost to mail\\x1b[2J: 1/5 20% (4-62%)
        1x expected none, picked mail__send
      notes lost to mail\\x1b[2J: 2/20 10% (3-30%)
        1x expected notes__find, picked a
        1x expected notes__find, picked b
        1x expected notes__find, picked c
        … and 1 more pair

    10 names on several servers: find_0 (notes, mail); find_1 (notes, mail); find_2 (notes, mail);
      find_3 (notes, mail); find_4 (notes, mail); find_5 (notes, mail); find_6 (notes, mail); find_7
      (notes, mail); and 2 more names.

    down did not start, 5 trials broken: it ended with code 1

    2 cases with tools of several servers: excluded.

    With 95% confidence intervals. Right tool: trials of the cases of a server that picked an expected
      tool. Lost: they called another server's tool instead. Taken: trials of all other cases that
      called its tool instead.
    "
  `);
});

it("omits empty parts", () => {
  expect(serverBlocks(suite)).toEqual([]);
  const [notes] = summary.servers;
  const alone = render({ servers: notes ? [notes] : [], lost: [], clashes: [], several: 0 });
  expect(alone).not.toMatch(/several servers|did not start|excluded/);
});

import { expect, it } from "vitest";
import { createExecutor } from "../../src/evals/asking/trials/execution.ts";
import type { ElicitAnswer } from "../../src/evals/base/types/suiteFile.ts";
import { openSource } from "../../src/evals/servers/source.ts";
import { later } from "../fakes/later.ts";
import { aTool, aToolset } from "../fakes/suite.ts";
import { fixture, never, tidyUp } from "./servers.ts";

tidyUp();

/** The results of calls of `save` by a trial whose case has these answers. */
async function call(kind: string, elicit: readonly ElicitAnswer[] | undefined, calls = 1) {
  const server = fixture("asking.mjs", kind);
  const source = await openSource({ server, distractors: [], dir: ".", elicits: elicit !== undefined, name: "sut" }, {
    env: process.env,
    signal: never,
    cwd: ".",
  } as never);
  later(() => source.close());
  const pool = {
    acquire: async () => ({ server: await source.reopen(never), release: async () => {} }),
    close: async () => {},
  };
  const executor = createExecutor(aToolset(aTool("save")), { policy: "read-only", pool, elicit });
  const results: unknown[] = [];
  for (let at = 0; at < calls; at++) {
    const executed = await executor.execute({ id: `${at}`, tool: "save", arguments: {} }, never);
    results.push(
      "kind" in executed || executed.status === "skipped"
        ? executed
        : JSON.parse(executed.result.content[0]?.text ?? ""),
    );
  }
  return results;
}

const broken = (needs: string) => ({
  kind: "broken",
  stage: "setup",
  message: `Server "sut", called for "save", needs ${needs}`,
});
const fits: ElicitAnswer = { action: "accept", content: { book: "garden" } };

it.each<[string, readonly ElicitAnswer[] | undefined, unknown[]]>([
  ["an accepted form", [fits], [{ action: "accept", content: { book: "garden" } }]],
  ["a declined one", [{ action: "decline" }], [{ action: "decline" }]],
  ["a cancelled one", [{ message: "notebook", action: "cancel" }], [{ action: "cancel" }]],
  [
    "answers in their order, those for other messages left out",
    [{ message: "password", action: "cancel" }, fits, { action: "decline" }],
    [{ action: "accept", content: { book: "garden" } }, { action: "decline" }],
  ],
  [
    "content that the form refuses",
    [{ action: "accept", content: { book: 7 } }],
    [
      broken(
        'an answer to "Which notebook is it?", which does not fit: content.book must be string, got 7 (`elicit` in the case).',
      ),
    ],
  ],
  [
    "no answer that fits",
    [{ message: "password", action: "accept", content: {} }],
    [broken('an answer to "Which notebook is it?", which is missing (`elicit` in the case).')],
  ],
  [
    "a case without answers",
    undefined,
    [
      expect.objectContaining({
        kind: "broken",
        stage: "setup",
        message: expect.stringContaining("not supported by the harness"),
      }),
    ],
  ],
])("%s", async (_, elicit, results) => {
  for (const kind of ["old-stdio", "stdio"]) expect(await call(kind, elicit, results.length)).toEqual(results);
});

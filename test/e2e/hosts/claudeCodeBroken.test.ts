import { describe, expect, it } from "vitest";
import { claudePath, endpoint, host, needsClaude, steps } from "./claude.ts";
import { wrap } from "./contract.ts";
import { never, reads, tidyFolders, trialOf } from "./support.ts";

needsClaude();
const at = tidyFolders();

describe("a trial that Claude Code breaks", () => {
  it("is broken by the server that breaks under a call", async () => {
    const service = await endpoint(steps({ calls: [{ name: "mcp__my_notes__notes_read", input: { path: "a" } }] }));
    const died = { kind: "broken", stage: "server", message: "the server died" } as const;
    const { outcome, turns } = await (await host(service)).converse(
      trialOf({ tools: [reads], execute: async () => died }),
      never,
    );
    expect(outcome).toEqual(died);
    expect(turns[0]?.calls).toEqual([{ id: "toolu_1_1", tool: "notes.read", arguments: { path: "a" } }]);
  });

  it("is ended with all of its processes when it is cancelled", async () => {
    const { wrapper, expectNoProcess } = wrap(at("claude"), claudePath(), 'trap "" TERM');
    let asked = () => {};
    const service = await endpoint(() => {
      asked();
      return { fault: "hang" };
    });
    const controller = new AbortController();
    const model = await host(service, {}, wrapper);
    const underway = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const answer = model.converse(trialOf(), controller.signal);
    await underway;
    controller.abort();
    expect((await answer).outcome).toEqual({ kind: "broken", stage: "cancelled", message: "the trial was cancelled" });
    await expectNoProcess();
  });
});

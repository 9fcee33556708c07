import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { claudePath, endpoint, host, needsClaude, steps } from "./claude.ts";
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
    const wrapper = at("claude");
    const pidFile = at("pid");
    writeFileSync(
      wrapper,
      `#!/bin/sh\ntrap "" TERM\n[ "$1" = --version ] || { echo $$ > ${pidFile}; sleep 600 & }\n"${claudePath()}" "$@"\n`,
    );
    chmodSync(wrapper, 0o755);
    let asked = () => {};
    const service = await endpoint(() => {
      asked();
      return { fault: "hang" };
    });
    // The group's number is that of its first process; what was killed may still have to be collected by init.
    const isGone = () => {
      const group = readFileSync(pidFile, "utf8").trim();
      const alive = execFileSync("ps", ["-axo", "pgid=,stat=,args="], { encoding: "utf8" }).split("\n");
      expect(alive.filter((line) => new RegExp(`^ *${group} +[^Z]`).test(line))).toEqual([]);
    };
    const controller = new AbortController();
    const model = await host(service, { claudePath: wrapper });
    const underway = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const answer = model.converse(trialOf(), controller.signal);
    await underway;
    controller.abort();
    expect((await answer).outcome).toEqual({ kind: "broken", stage: "cancelled", message: "the trial was cancelled" });
    await vi.waitFor(isGone, { timeout: 600_000 });
  });
});

import { describe, expect, it } from "vitest";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { anIo, type TestIo } from "../../fakes/io.ts";
import { project, runDefaults } from "./project.ts";

/** Stops at the first wait for changes. */
function stopWhenWaiting(world: TestIo): TestIo {
  const err = (text: string) => {
    world.err(text);
    if (text.startsWith("Watching")) world.stop();
  };
  return { ...world, err };
}

describe("evals run --watch", () => {
  it("clears its line on a terminal, and ends with 0 when the user stops it while it waits", async () => {
    const { dir } = project();
    const world = anIo({ cwd: dir, env: { HOME: dir }, errIsTerminal: true });
    const options = { ...runDefaults, json: false, watch: true, reporter: [] };
    expect(await run(options, stopWhenWaiting(world))).toBe(0);
    const waiting = world.warned().split("\r\x1b[K").slice(-2);
    expect(waiting).toEqual([
      expect.stringMatching(/^Watching \d+ files \(3 trials so far\)\. Press Ctrl-C to stop\.$/),
      "Stopped watching after 1 run (3 trials). Records: reports/partial\n",
    ]);
    expect(world.printed()).toContain("partial run");
  });

  it("refuses options that need a whole run", async () => {
    const { dir } = project();
    for (const [name, flag] of [
      ["changed", "--changed"],
      ["watch", "--watch"],
    ] as const) {
      const given = new Set([name, "accept"]);
      const asked = run({ ...runDefaults, [name]: true, accept: true, given }, anIo({ cwd: dir, env: { HOME: dir } }));
      await expect(asked).rejects.toThrow(`${flag} asks a part of the cases, and --accept needs a whole run.`);
    }
  });
});

import { describe, expect, it } from "vitest";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { anIo, type TestIo } from "../../fakes/io.ts";
import { filesSuite, list, project, read, runDefaults } from "./project.ts";

/** Stops at the first wait for changes. */
function stopWhenWaiting(world: TestIo): TestIo {
  const err = (text: string) => {
    world.err(text);
    if (text.startsWith("Watching")) world.stop();
  };
  return { ...world, err };
}

describe("evals run --watch", () => {
  it("ends with 0 when the user stops it while it waits", async () => {
    const { dir } = project();
    const world = anIo({ cwd: dir, env: { HOME: dir } });
    const options = { ...runDefaults, json: false, watch: true, reporter: [] };
    expect(await run(options, stopWhenWaiting(world))).toBe(0);
    expect(world.warned()).toMatch(
      /Watching the files of this folder\. Press Ctrl-C to stop\.\nStopped watching after 1 run\. Records: reports\/partial\n$/,
    );
    expect(world.printed()).toContain("partial run");
  });

  it("asks what was saved while a run found nothing to ask", async () => {
    const { dir, write } = project();
    const world = anIo({ cwd: dir, env: { HOME: dir } });
    let waits = 0;
    const err = (text: string) => {
      world.err(text);
      if (text.startsWith("Watching") && ++waits === 1)
        write("evals/files.json", ` ${JSON.stringify(filesSuite([read]))}`);
      // The run has read the suite before it says this.
      if (text.startsWith("No case is asked")) write("evals/files.json", filesSuite([list]));
      if (waits === 2 && text.startsWith("Asking")) world.stop();
    };
    write("evals/files.json", filesSuite([read]));
    const options = { ...runDefaults, json: false, watch: true, reporter: [] };
    await run(options, { ...world, err });
    expect(world.warned()).toContain("Asking 1 of 1 case.\n  list: new\n");
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

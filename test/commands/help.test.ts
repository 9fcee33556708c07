import { expect, test } from "vitest";
import { commands, runCommandLine } from "../../src/evals/commands/index.ts";
import { anIo } from "../fakes/io.ts";

const names = commands.map(({ command }) => command.split(" ")[0] ?? "");

test.each(["", ...names])("evals %s --help", async (name) => {
  const io = anIo();
  await runCommandLine([...name.split(" "), "--help"].filter(Boolean), io, "0.1.0");
  expect(io.printed()).toMatchSnapshot();
});

test("every flag, argument and example is described in one style", () => {
  const described = commands.flatMap(({ positionals, flags }) => [
    ...Object.entries(positionals),
    ...Object.entries(flags),
  ]);
  for (const [name, { describe }] of described) expect([name, describe]).toEqual([name, expect.stringMatching(style)]);
  for (const { describe, examples } of commands)
    for (const text of [describe, ...examples.map(([, purpose]) => purpose)]) expect(text).toMatch(style);
});

/** A capital letter (or a quoted choice) first, no full stop at the end. */
const style = /^([A-Z]|accept \[run\]|check: |list: |show ).*([^.]|\.\.\.)$/s;

import { expect, test } from "vitest";
import { commands, runCommandLine } from "../../src/evals/commands/index.ts";
import { anIo } from "../fakes/io.ts";

const names = commands.map(({ command }) => command.split(" ")[0] ?? "");

test.each(["", ...names])("evals %s --help", async (name) => {
  const io = anIo();
  await runCommandLine([...name.split(" "), "--help"].filter(Boolean), io, "0.1.0");
  expect(io.printed()).toMatchSnapshot();
});

test("evals --help wraps between words on a narrow terminal", async () => {
  const io = anIo({ width: 60 });
  await runCommandLine(["--help"], io, "0.1.0");
  const lines = io.printed().split("\n");
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  expect(lines).toContain("            tools, and draft a first suite");
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

test("the parser can print every example and epilogue as it is written, on 80 columns", () => {
  const lineBreakWithinParagraph = /\S\n\S/;
  for (const { command, epilogue = "", examples } of commands) {
    expect([command, epilogue]).toEqual([command, expect.not.stringMatching(lineBreakWithinParagraph)]);
    // The parser replaces this by the name of the program.
    expect([epilogue, ...examples.flat()].join("\n")).not.toContain("$0");
    for (const [line] of examples) expect(`  evals ${line}`.length).toBeLessThanOrEqual(80);
  }
});

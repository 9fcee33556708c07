import { describe, expect, it } from "vitest";
import { EvalsError, exitCodes } from "../../src/evals/base/types/errors.ts";
import { type Command, type NumberRange, number } from "../../src/evals/commands/command.ts";
import { toCamelCase } from "../../src/evals/commands/commandLine.ts";
import { commands, runCommandLine } from "../../src/evals/commands/index.ts";
import { anIo } from "../fakes/io.ts";

type NumberFlag = { range?: NumberRange; type?: string; number?: boolean };

const table = commands.flatMap((command) =>
  Object.entries(command.flags)
    .filter(([, flag]) => (flag as NumberFlag).number || flag.type === "number")
    .map(([name, flag]) => ({ command, name, range: (flag as NumberFlag).range })),
);

/** A command line that is valid but for what is added, and what the command is given of it. */
async function parse({ command, positionals, flags }: Command, ...added: string[]): Promise<Record<string, unknown>> {
  const named = command.match(/<\w+>/g)?.map((one) => positionals[one.slice(1, -1)]?.choices?.[0] ?? "x") ?? [];
  const demanded = Object.entries(flags).flatMap(([name, flag]) => (flag.demandOption ? [`--${name}`, "x"] : []));
  let given: Record<string, unknown> = {};
  const known: Command = {
    ...{ command, positionals, flags, describe: "", examples: [] },
    run: async (args) => {
      given = args;
      return exitCodes.passed;
    },
  };
  const line = [command.split(" ")[0] ?? "", ...named.map(String), ...demanded, ...added];
  await runCommandLine(line, anIo(), "0.1.0", [known]);
  return given;
}

async function refusal(command: Command, ...added: string[]): Promise<string> {
  const error = await parse(command, ...added).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(EvalsError);
  expect(error.exitCode).toBe(2);
  return error.problems[0].message;
}

function outside({ min, above, max, below, integer }: NumberRange): number[] {
  return [
    ...(min === undefined ? [] : [min - 1]),
    ...(above === undefined ? [] : [above, above - 1]),
    ...(max === undefined || max === Number.MAX_SAFE_INTEGER ? [] : [max + 1]),
    ...(below === undefined ? [] : [below, below + 0.5]),
    ...(integer ? [(min ?? 0) + 0.5] : []),
  ];
}

function inside({ min, above, max }: NumberRange): number[] {
  return [min ?? (above ?? 0) + 0.5, ...(max === undefined ? [] : [max])];
}

describe("number flags", () => {
  it("finds them in the commands", () => {
    expect(table.map(({ command, name }) => `${command.command.split(" ")[0]} --${name}`)).toEqual(
      expect.arrayContaining(["run --trials", "run --pass-rate", "probe --runs", "judge --min-kappa"]),
    );
  });

  it.each(table)("$command.command: --$name takes its range alone", async ({ command, name, range }) => {
    if (!range) throw new Error(`--${name} of ${command.command} has no range: declare it with number(...)`);
    expect(Object.keys(range)).not.toEqual([]);
    for (const text of ["abc", ...outside(range).map(String)])
      expect(await refusal(command, `--${name}=${text}`)).toMatch(
        new RegExp(
          `^--${name}: "${text.replace(/[.+]/g, "\\$&")}" is not an? (number|integer) (of at least|from|above) `,
        ),
      );
    for (const value of inside(range))
      expect((await parse(command, `--${name}`, String(value)))[toCamelCase(name)]).toBe(value);
    expect(await refusal(command, `--${name}`, "1", `--${name}`, "2")).toBe(`--${name} is given more than once.`);
    expect(await refusal(command, `--${name}`)).toBe(`--${name} needs a value.`);
  });

  it("names value and range as a sentence", async () => {
    const run = commands.find(({ command }) => command.startsWith("run ")) as Command;
    expect(await refusal(run, "--pass-rate", "7")).toBe('--pass-rate: "7" is not a number from 0 to 1.');
    expect(await refusal(run, "-c", "0")).toBe('--concurrency: "0" is not an integer from 1 to 10000.');
    expect(await refusal(run, "-n", "-3")).toBe('--trials: "-3" is not an integer of at least 1.');
    expect(await refusal(run, "--budget", "0")).toBe(
      '--budget: "0" is not a number above 0, in US dollars such as 2.50.',
    );
    for (const text of ["10", "-1", "0", "1", "100%", "0%", "ten%", "%"])
      expect(await refusal(run, `--margin=${text}`)).toBe(
        `--margin: "${text}" is not a number above 0 and below 1, or a percentage such as 10%.`,
      );
    expect(await refusal(run, "-n")).toBe("-n needs a value.");
  });

  it("takes no other spelling of a number", () => {
    const { coerce } = number("", { min: 0 });
    expect(["0", "1e3", ".5", "0x10", " 7 "].map(coerce)).toEqual([0, 1000, 0.5, 16, 7]);
    for (const text of ["", " ", "NaN", "Infinity", "1e999", "1 2", "1,5", "1_000", "true"])
      expect(() => coerce(text)).toThrow(`"${text}" is not a number of at least 0.`);
  });

  it("reads a margin as a share or a percentage", async () => {
    const run = commands.find(({ command }) => command.startsWith("run ")) as Command;
    for (const [text, margin] of Object.entries({ "10%": 0.1, "7.5 %": 0.075, ".05": 0.05 }))
      expect((await parse(run, "--margin", text)).margin).toBeCloseTo(margin, 12);
  });

  it("gives the command its defaults, also under the name in camel case", async () => {
    const run = commands.find(({ command }) => command.startsWith("run ")) as Command;
    expect(await parse(run, "--pass-rate", "0.5")).toMatchObject({ passRate: 0.5, concurrency: 10, margin: 0.1 });
    expect(await parse(run)).not.toHaveProperty("trials", expect.anything());
  });
});

describe("flags with a value", () => {
  const run = commands.find(({ command }) => command.startsWith("run ")) as Command;

  it("takes one value, so that a path after a list stays a path", async () => {
    expect(await parse(run, "--case", "read*", "--case", "find", "other.yaml")).toMatchObject({
      case: ["read*", "find"],
      paths: ["other.yaml"],
    });
    expect(await parse(run, "-m", "lexical", "evals/notes.yaml")).toMatchObject({
      model: ["lexical"],
      paths: ["evals/notes.yaml"],
    });
  });

  it.each([[["-m"]], [["--model="]], [["--model", ""]], [["-m", "--dry-run"]], [["--check"]], [["--case"]]])(
    "refuses %j, which has none",
    async (args) => {
      expect(await refusal(run, ...args)).toBe(`${args[0]?.replace("=", "")} needs a value.`);
    },
  );
});

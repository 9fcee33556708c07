import { describe, expect, it } from "vitest";
import { EvalsError, exitCodes } from "../../src/evals/base/types/errors.ts";
import { checkWords } from "../../src/evals/commands/commandLine.ts";
import { commands, runCommandLine } from "../../src/evals/commands/index.ts";
import { anIo } from "../fakes/io.ts";

async function refusal(line: string): Promise<string> {
  const error = await runCommandLine(line.split(" "), anIo(), "0.1.0").catch((thrown) => thrown);
  expect(error).toBeInstanceOf(EvalsError);
  expect(error.exitCode).toBe(exitCodes.usage);
  return error.message;
}

describe("a wrong command line", () => {
  it.each([
    "frobnicate",
    "rnu",
    "--trials 3 run",
    "run --trial 3",
    "run --tials=3",
    "run --nonsense",
    "run -q",
    "run --format json",
    "run --repeat 3",
    "run --max-concurrency 3",
    "variants --suggest",
    "import --write a.yaml",
    "report --format markdown",
    "report --json",
    "show --as json",
    "run -mlexical",
    "run --out a --out b",
    "run -n 1 --trials 2",
    "run --check scren",
    "run --host x",
    "run --trials none",
    "baseline",
    "baseline acept",
    "compare a",
    "compare",
    "compare a b c",
    "schema x",
    "report --as htm",
  ])("%s", async (line) => {
    expect(await refusal(line)).toMatchSnapshot();
  });

  it("without a command prints the help and is not a success", async () => {
    const io = anIo();
    expect(await runCommandLine([], io, "0.1.0")).toBe(exitCodes.usage);
    expect(io.printed()).toContain("evals run [paths..]");
  });

  it("suggests the flag that was meant for every flag with its last letter missing", () => {
    for (const command of commands)
      for (const name of Object.keys(command.flags).filter((one) => one.length > 4)) {
        const spelled = `--${name.slice(0, -1)}`;
        if (spelled.slice(2) in command.flags) continue;
        expect(() => checkWords([spelled, "x"], command)).toThrow(/Did you mean "--/);
      }
  });
});

describe("the options that are given", () => {
  const run = commands.find(({ command }) => command.startsWith("run ")) as (typeof commands)[number];

  it("are named as the command names them, whatever their spelling", () => {
    const words = ["a.yaml", "-m", "lexical", "-n5", "--dry-run", "--no-user-skills", "--pass-rate=1", "--case", "a"];
    expect([...checkWords(words, run)]).toEqual([
      ...["model", "trials", "dryRun", "userSkills", "passRate", "case", "paths"],
    ]);
  });

  it("do not contain the words after --, which are positional", () => {
    expect([...checkWords(["--", "-m"], run)]).toEqual(["paths"]);
  });

  it("reach the command, also those after --", async () => {
    const reached: object[] = [];
    const command = {
      ...run,
      run: async (args: object) => {
        reached.push(args);
        return exitCodes.passed;
      },
    };
    const call = (...words: string[]) => runCommandLine(["run", ...words], anIo(), "0.1.0", { known: [command] });
    await call("-n", "3");
    await call("-n", "3", "a.yaml", "--", "b.yaml", "-c.yaml");
    expect(reached).toMatchObject([
      { given: new Set(["trials"]), paths: [] },
      { given: new Set(["trials", "paths"]), paths: ["a.yaml", "b.yaml", "./-c.yaml"] },
    ]);
  });
});

import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EvalsError, exitCodes } from "../../src/evals/base/types/errors.ts";
import { parseWords, readOptions } from "../../src/evals/commands/commandLine.ts";
import { readServerEnv } from "../../src/evals/commands/flags.ts";
import { commands, runCommandLine } from "../../src/evals/commands/index.ts";
import { toolsCommand } from "../../src/evals/commands/inspection.ts";
import { parseCommandLine } from "../../src/evals/inspection/shell.ts";
import { anIo } from "../fakes/io.ts";

async function refusal(line: string): Promise<string> {
  const error = await runCommandLine(line.split(" "), anIo(), "0.1.0").catch((thrown) => thrown);
  expect(error).toBeInstanceOf(EvalsError);
  expect(error.exitCode).toBe(exitCodes.usage);
  return error.message;
}

describe("a wrong command line", () => {
  it.each([
    ...["frobnicate", "rnu", "--trials 3 run", "run --trial 3", "run --tials=3", "run --nonsense", "run -q"],
    ...["run --format json", "variants --suggest", "import --write a.yaml", "run -mlexical", "run --out a --out b"],
    ...["run -n 1 --trials 2", "run --check scren", "run --reporter jnuit", "run --host x", "run --trials none"],
    ...["baseline", "baseline acept", "compare a", "compare", "compare a b c", "schema x", "show --format htm"],
    ...["init --ci", "init npx -y @scope/server --env KEY=x", "tools node server.js", "lint uvx mcp-server-git"],
  ])("%s", async (line) => {
    expect(await refusal(line)).toMatchSnapshot();
  });

  it("with a word of other tools names the command, which exists", async () => {
    const words = ["check", "test", "watch", "drift", "report", "history", "accept", "verify", "skills", "diff", "fix"];
    for (const word of words) {
      const [, meant = ""] = /Did you mean `evals ([^`]+)`\?/.exec(await refusal(word)) ?? [];
      const [name = "", ...flags] = meant.split(" ");
      const command = commands.find((one) => one.command.split(" ")[0] === name);
      for (const flag of flags.filter((one) => one.startsWith("--")))
        expect(Object.keys(command?.flags ?? {})).toContain(flag.slice(2));
      expect([word, name, command?.command]).toEqual([word, name, expect.any(String)]);
    }
  });

  it("without a command prints the help and is not a success", async () => {
    const io = anIo();
    expect(await runCommandLine([], io, "0.1.0")).toBe(exitCodes.usage);
    expect(io.printed()).toContain("  run ");
  });

  it("suggests the flag that was meant for every flag with its last letter missing", async () => {
    for (const command of commands)
      for (const name of Object.keys(command.flags).filter((one) => one.length > 4)) {
        const spelled = name.slice(0, -1);
        if (spelled in command.flags) continue;
        await expect(parseWords(command, [`--${spelled}`, "x"], anIo())).rejects.toThrow(/Did you mean "--|needs </);
      }
  });
});

const run = commands.find(({ command }) => command.startsWith("run ")) as (typeof commands)[number];
const parse = (...words: string[]) => parseWords(run, words, anIo());

describe("the options that are given", () => {
  it("are named as the command names them, whatever their spelling, without defaults", async () => {
    const words = ["a.yaml", "-m", "lexical", "-n5", "--dry-run", "--no-user-skills", "--pass-rate=1", "--case", "a"];
    expect(await parse(...words)).toEqual({
      ...{
        paths: ["a.yaml"],
        model: ["lexical"],
        trials: 5,
        case: ["a"],
        passRate: 1,
        userSkills: false,
        dryRun: true,
      },
    });
  });

  it("do not contain the words after --, which are positional", async () => {
    expect(await parse("--", "-m", "--dry-run")).toEqual({ paths: ["./-m", "./--dry-run"] });
  });

  it.each([
    [
      ["-m", "a:1,b:2,lexical"],
      ["a:1", "b:2", "lexical"],
    ],
    [
      ["-m", "custom:a,b.mjs,claude-code"],
      ["custom:a,b.mjs", "claude-code"],
    ],
    [
      ["-m", "openai:x", "anthropic:y", "lexical", "evals/a.yaml"],
      ["openai:x", "anthropic:y", "lexical"],
    ],
    [["--model", "openai:x", "http://a/b"], ["openai:x"]],
  ])("%j names several models", async (words, model) => {
    expect(await parse(...words)).toMatchObject({ model });
  });

  it("are the command line of a server after --, for commands that take one", async () => {
    const words = ["--json", "--", "npx", "-y", "acme-mcp", "a b", "it's", "--token=$X"];
    expect(await parseWords(toolsCommand, words, anIo())).toEqual({
      json: true,
      server: [`npx -y acme-mcp 'a b' 'it'\\''s' '--token=$X'`],
    });
    expect(parseCommandLine(`npx -y acme-mcp 'a b' 'it'\\''s' '--token=$X'`)).toEqual({
      command: "npx",
      args: ["-y", "acme-mcp", "a b", "it's", "--token=$X"],
    });
  });

  it.each([
    ["--dry-run=true", { dryRun: true }],
    ["--dry-run=false", { dryRun: false }],
    ["--no-dry-run", { dryRun: false }],
  ])("%s is a boolean", async (word, expected) => {
    expect(await parse(word)).toEqual(expected);
  });

  it.each(["--dry-run=1", "--dry-run=yes", "--accept=banana", "--json="])("%s is none", async (word) => {
    await expect(parse(word)).rejects.toThrow(/takes no value/);
  });

  it("takes a path that is named help, and no empty one", async () => {
    expect(await parse("help")).toEqual({ paths: ["help"] });
    expect(await parse("evals", "help")).toEqual({ paths: ["evals", "help"] });
    expect(await parse("a--dry-run=true")).toEqual({ paths: ["a--dry-run=true"] });
    await expect(parse("")).rejects.toThrow("<paths> needs a value.");
  });
});

describe("the options of the library", () => {
  it.each([
    [{ trials: true }, 'The option "trials" of run must be a number'],
    [{ trials: 3, out: 5 }, 'The option "out" of run must be a string'],
    [{ modle: "lexical" }, 'Unknown option "modle" of run.'],
  ])("are refused: %j", (given, message) => {
    expect(() => readOptions(run, given)).toThrow(message);
  });

  it("are read as flags are, and none that is demanded is missing", () => {
    expect(readOptions(run, { trials: 3, model: ["lexical"] })).toEqual({ trials: 3, model: ["lexical"] });
    const compare = commands.find(({ command }) => command.startsWith("compare ")) as (typeof commands)[number];
    expect(() => readOptions(compare, { base: "a" })).toThrow('compare needs the option "head".');
    expect(readOptions(compare, { base: "a", head: "b" })).toEqual({ base: "a", head: "b" });
  });
});

describe("help", () => {
  const print = async (...args: string[]) => {
    const io = anIo();
    expect(await runCommandLine(args, io, "0.1.0")).toBe(exitCodes.passed);
    return io.printed();
  };

  it("is on 30 lines of 100 columns, with at most 20 commands, and printed for help, --help and -h", async () => {
    const text = await print("--help");
    expect(text.split("\n").length).toBeLessThanOrEqual(31);
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(await print("help")).toBe(text);
    expect(await print("-h")).toBe(text);
  });

  it("of a command is printed wherever it is asked for, and lists all flags of `run` on request", async () => {
    const short = await print("run", "--help");
    expect(short).toContain("--dry-run");
    expect(short).not.toContain("--retry-broken");
    expect(await print("help", "run")).toBe(short);
    expect(await print("run", "--help", "all")).toContain("--retry-broken");
    expect(await print("baseline", "--help")).toContain("evals baseline <action>");
  });
});

describe("the variables that servers are given", () => {
  it("come from files and flags, which win, with the value of this shell where none is written", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "evals-env-"));
    await writeFile(join(cwd, "local.env"), "# comment\nexport REGION=eu\nACME_KEY='from file'\nEMPTY=\n");
    const io = anIo({ cwd, env: { HERE: "in this shell" } });
    expect(readServerEnv(["ACME_KEY=a=b", "HERE", "NONE="], ["local.env"], io)).toEqual({
      ...{ REGION: "eu", ACME_KEY: "a=b", EMPTY: "", HERE: "in this shell", NONE: "" },
    });
  });

  it.each([
    ["NOT_SET", "--env NOT_SET: NOT_SET is not set in this shell."],
    ["=x", "--env  is no variable."],
    ["1A=secret-value", "--env 1A is no variable."],
    ["a b", "--env a b is no variable."],
  ])("%s is refused, without its value", (given, message) => {
    expect(() => readServerEnv([given], [], anIo())).toThrow(message);
    expect(() => readServerEnv([given], [], anIo())).not.toThrow("secret-value");
  });

  it("need a file that can be read", () => {
    expect(() => readServerEnv([], ["no-such.env"], anIo())).toThrow("--env-file no-such.env cannot be read");
  });
});

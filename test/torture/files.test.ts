import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { spawnEvals } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";

const dir = makeFolder();
const write = (name: string, text: string) => writeFileSync(join(dir, name), text);

const entry = (value: object) => JSON.stringify({ mcpServers: { one: value } });
const files: Record<string, string> = {
  "deep.json": "[".repeat(100_000),
  "deep-object.json": '{"a":'.repeat(100_000),
  "deep-closed.json": `${'{"mcpServers":'.repeat(5_000)}1${"}".repeat(5_000)}`,
  "deep.yaml": `${"- ".repeat(100_000)}x`,
  "deep-flow.yaml": "[".repeat(100_000),
  "aliases.yaml": `a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 12 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join(", ")}]\n`).join("")}cases: *a12\n`,
  "wide.json": entry({ command: "true", args: Array(200_000).fill("x") }),
  "references.json": entry({ command: "true", args: ["${A:-".repeat(100_000)] }),
  "nul.json": entry({ command: "no\u0000de" }),
  "nul-env.json": entry({ command: "node", env: { A: "a\u0000b" } }),
  "binary.json": "\u0000\u0001\u0002",
  "empty.json": "",
  "proto.json": '{"mcpServers": {"__proto__": {"command": "true"}}}',
  "text.json": "hello",
  "many-tools.json": `[${Array(100_000).fill("1").join(", ")}]`,
  "keys.json": `{${Array.from({ length: 50_000 }, (_, at) => `"k${at}": 1`).join(", ")}}`,
  "repeated.json": `{${Array(50_000).fill('"cases": []').join(", ")}}`,
};
for (const [name, text] of Object.entries(files)) write(name, text);

/** Every place of a command line where a file is read, as @. */
const locations = [
  ...["run @", "run evals/s.json --prices @ -m anthropic:x --dry-run", "run evals/s.json -m custom:@"],
  ...["run evals/s.json -m replay:@", "run evals/s.json --judge custom:@", "run evals/s.json --reporter custom:@"],
  ...["run --resume @", "baseline accept @"],
  ...["blame @", "blame --resume @"],
  ...["compare @ latest", "compare latest @", "doctor @", "doctor --config @", "import evals --tools @"],
  ...["promptfoo", "vally", "mongodb", "prompt-table"].map((format) => `import @ --from ${format}`),
  ...["init --config @", "init --server ./none --catalog @", "judge check @ --judge anthropic:x"],
  ...["judge check v.json --judge custom:@", "lint @", "lint --tools @", "lint --config @", "lint --skills @"],
  ...["lint --tools tools.json --against @", "lint --tools tools.json --judge anthropic:x --prices @", "merge @"],
  ...["merge reports --reporter custom:@", "probe @", "probe --config @", "search @", "show --run @", "tools @"],
  ...["tools --skills @", "tools --tools @", "tools --config @", "init @", "queries @"],
  ...["queries evals/s.json --accept-all --yes --writer custom:@", "variants @ evals/s.json", "variants v.json @"],
  ...["variants --resume @", "baseline verify @", "baseline verify evals/s.json --tools @"],
];

/** Every place where a folder or a file is written, as @. */
const folders = [
  ...["run evals/s.json --out @", "baseline accept --force --baselines @", "baseline accept --out @", "blame --out @"],
  ...["compare latest latest --out @", "show --history --out @", "import evals/s.json --out @"],
  ...["init --server ./none --file @", "merge reports --out @", "schema --output @", "show --out @"],
  ...["init tools.json --file @", "variants v.json evals/s.json --of a --output @"],
];

/** Works through a list, several entries at a time: a pipe is waited for some seconds before it is given up. */
async function inLanes<T>(lanes: number, list: readonly T[], work: (one: T, at: number) => Promise<void>) {
  const rest = list.entries();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const [at, one] of rest) await work(one, at);
    }),
  );
}

/** A command ends with a plain message: no stack, no signal. */
async function expectMessage(args: readonly string[], cwd = dir): Promise<string> {
  const { code, out, err } = await spawnEvals(args, { cwd });
  expect(err, args.join(" ")).not.toMatch(/Internal error|dist\/.*:\d+:\d+/);
  expect(err.length, args.join(" ")).toBeLessThan(100_000);
  expect([1, 2, 3], `${args.join(" ")}: ${code}`).toContain(code);
  return `${out}\n${err}`;
}

describe("odd files", () => {
  it.each(Object.keys(files))("%s is refused with a message", async (name) => {
    const isYaml = name.endsWith(".yaml");
    await expectMessage(["run", name]);
    await expectMessage(["lint", ...(isYaml ? [name] : ["--config", name])]);
    if (!isYaml) for (const command of ["lint", "tools"]) await expectMessage([command, "--tools", name]);
  });

  it("a NUL character in a command is named with its place", async () => {
    expect(await expectMessage(["lint", "--config", "nul.json"])).toContain(
      'nul.json:1:22: error: Server "one": "command" contains a NUL character.',
    );
  });

  it.skipIf(!existsSync("/dev/zero"))("devices and pipes without a writer end", async () => {
    execFileSync("mkfifo", [join(dir, "pipe.json")]);
    for (const file of ["pipe.json", "/dev/zero"]) {
      await expectMessage(["run", file]);
      await expectMessage(["lint", "--tools", file]);
      await expectMessage(["lint", "--config", file]);
    }
  });

  it.skipIf(!existsSync("/dev/zero"))("in every place that a command reads end with a message", async () => {
    const project = join(dir, "project");
    const give = (name: string, text: string) => writeFileSync(join(project, name), text);
    writeActSuite(project, 1, {}, "evals/s.json");
    give("v.json", '{ "variants": { "a": { "act": "Does it." } } }');
    give("binary.json", "\u0000\u0001\u0002");
    give("empty.json", "");
    give("deep.json", "[".repeat(100_000));
    mkdirSync(join(project, "folder.json"));
    execFileSync("mkfifo", [join(project, "pipe.json")]);
    expect((await spawnEvals(["run", "evals/s.json", "-n", "2"], { cwd: project })).code).toBe(0);

    const odd = ["/dev/zero", "missing.json", "folder.json", "binary.json", "empty.json", "deep.json"];
    const plain = async (words: string, file = "") => {
      const args = words.split(" ").map((word) => word.replace("@", file));
      await expectMessage(args, project);
    };
    // A pipe in every place, and one of the others: many places share a reader of files.
    await inLanes(4, locations, async (words, at) => {
      await plain(words, "pipe.json");
      await plain(words, odd[at % odd.length]);
    });
    await inLanes(2, folders, async (words, at) => plain(words, ["pipe.json", "/dev/zero"][at % 2]));
  });

  it("a pipe or a device in the place of a baseline ends", async () => {
    mkdirSync(join(dir, "evals/baselines"), { recursive: true });
    writeActSuite(dir, 1, {}, "evals/s.json");
    const baseline = join(dir, "evals/baselines/s.lexical-2.json");
    for (const location of [() => execFileSync("mkfifo", [baseline]), () => symlinkSync("/dev/zero", baseline)]) {
      rmSync(baseline, { force: true });
      location();
      for (const args of [
        ["run", "evals/s.json"],
        ["run", "evals/s.json", "--changed"],
        ["baseline", "verify", "evals/s.json"],
      ])
        expect(await expectMessage(args)).toContain("The baseline cannot be read: it is not a regular file.");
    }
  });
});

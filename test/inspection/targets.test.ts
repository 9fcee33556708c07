import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EvalsError, formatProblem } from "../../src/evals/base/types/errors.ts";
import type { LintReport } from "../../src/evals/base/types/finding.ts";
import { findOfferedSkills } from "../../src/evals/experiments/workspace/skills.ts";
import { doctor } from "../../src/evals/inspection/doctor/doctor.ts";
import { lint } from "../../src/evals/inspection/lint/command.ts";
import { probe } from "../../src/evals/inspection/probe/probe.ts";
import {
  describeNext,
  resolveTargets,
  selectServers,
  type Target,
  type TargetOptions,
} from "../../src/evals/inspection/targets.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { anIo } from "../fakes/io.ts";

const cwd = makeFolder();

const file = (path: string, content: unknown) => writeIn(cwd, path, content);
const suite = (name: string, more: object) => ({
  name,
  cases: [{ input: "hello", expect: { tool: "echo" } }],
  ...more,
});
const command = { command: "node", args: ["main.js"] };

file("evals/a.json", suite("a", { server: command, distractors: [{ command: "other" }, { tools: "list.json" }] }));
file("evals/b.json", suite("b", { server: command, execute: "never" }));
file("evals/list.json", []);
file("evals/static.json", suite("static", { server: { tools: "list.json" } }));
file("more/registered.json", suite("registered", { server: { config: "../.mcp.json", name: "one" } }));
file("more/skill/SKILL.md", "---\nname: skill\ndescription: Compresses images.\n---\n# Skill\n");
for (const name of ["clone", "neighbor"])
  file(`repositories/${name}/SKILL.md`, `---\nname: ${name}\ndescription: Compresses images.\n---\n# Skill\n`);
file("repositories/clone/.git/HEAD", "ref: refs/heads/main\n");
file("more/none.json", suite("none", { skills: ["."] }));
file("wrong/unregistered.json", suite("unregistered", { server: { config: "../.mcp.json", name: "onee" } }));
file("off.json", { mcpServers: { off: { ...command, disabled: true }, one: command } });
file(".mcp.json", { mcpServers: { one: command, "my two": { url: "https://example.com/mcp" } } });
file("empty.json", { mcpServers: {} });
file("broken.json", "{");

const io = anIo({ cwd, env: { HOST: "https://example.com" } });

/** What identifies a target, without absolute paths. */
function summarize(target: Target) {
  const summary =
    target.kind === "server"
      ? {
          ...{ name: target.name, server: target.server, flags: target.flags, via: target.via },
          suites: target.suites.map(({ name }) => name),
        }
      : target.kind === "suite"
        ? { suite: target.suite.name }
        : target.kind === "skills"
          ? { skills: target.dir, only: target.only }
          : { list: target.file, suites: target.suites.map(({ name }) => name) };
  return JSON.parse(JSON.stringify(summary).replaceAll(`${cwd}/`, "")) as unknown;
}

const registered = { server: { config: ".mcp.json", name: "one" }, via: ".mcp.json", suites: [] };
const one = { ...registered, name: "one", flags: "--config .mcp.json --name one" };
const flagsOfTwo = "--config .mcp.json --name 'my two'";
const two = { ...registered, name: "my two", server: { config: ".mcp.json", name: "my two" }, flags: flagsOfTwo };
const inOff = { via: "off.json", server: { config: "off.json", name: "one" } };
const off = { ...one, ...inOff, flags: "--config off.json --name one" };
/** A server that no file registers. */
const given = (name: string, server: object, flags: string) => ({ name, server, flags, suites: [] });
const shared = { name: "a", server: command, flags: "evals/a.json", via: "evals/a.json", suites: ["a", "b"] };
const list = { list: "evals/list.json", suites: ["static"] };

const cases: [string, TargetOptions, unknown[]][] = [
  ["nothing: what is under evals/, each server once", {}, [shared, list]],
  [
    "--server",
    { server: ['node "a b.js"'] },
    [given('node "a b.js"', { command: "node", args: ["a b.js"] }, "--server 'node \"a b.js\"'")],
  ],
  [
    "--url, without what may be secret in its name",
    { url: ["https://me:pw@example.com/mcp?key=1"], transport: "sse" },
    [
      given(
        "https://example.com/mcp",
        { url: "https://me:pw@example.com/mcp?key=1", transport: "sse" },
        "--url 'https://me:pw@example.com/mcp?key=1' --transport sse",
      ),
    ],
  ],
  [
    "--url with a variable",
    { url: [`\${HOST}/mcp`] },
    [given(`\${HOST}/mcp`, { url: `\${HOST}/mcp` }, `--url '\${HOST}/mcp'`)],
  ],
  ["--config", { config: [".mcp.json"] }, [one, two]],
  ["--config with a disabled entry", { config: ["off.json"] }, [off]],
  ["--config with --name", { config: [".mcp.json"], name: ["one"] }, [one]],
  ["--tools", { tools: ["evals/list.json"] }, [{ list: "evals/list.json", suites: [] }]],
  ["--skills", { skills: ["more"] }, [{ skills: "more" }]],
  [
    "--skills, with packages that are deeper in the folder",
    { skills: ["."] },
    [
      { skills: "more", only: ["skill"] },
      { skills: "repositories/clone", only: ["clone"] },
      { skills: "repositories", only: ["neighbor"] },
    ],
  ],
  [
    "a package at the root of a repository, without its neighbors",
    { paths: ["repositories/clone"] },
    [{ skills: "repositories/clone", only: ["clone"] }],
  ],
  [
    "words, by what they are",
    { paths: ["https://example.com/mcp", "node main.js", ".mcp.json", "evals/list.json", "evals/static.json"] },
    [
      list,
      given("node main.js", { command: "node", args: ["main.js"] }, "--server 'node main.js'"),
      given("https://example.com/mcp", { url: "https://example.com/mcp" }, "--url https://example.com/mcp"),
      { list: "evals/list.json", suites: [] },
      one,
      two,
    ],
  ],
  ["a host configuration and --name", { paths: [".mcp.json"], name: ["one"] }, [one]],
  [
    "paths, and flags after them",
    { paths: ["evals/static.json", "more"], tools: ["evals/list.json"] },
    [
      list,
      { suite: "none" },
      {
        ...one,
        server: { config: "../.mcp.json", name: "one" },
        flags: "more/registered.json",
        via: "more/registered.json",
        suites: ["registered"],
      },
      { skills: "more", only: ["skill"] },
      { list: "evals/list.json", suites: [] },
    ],
  ],
];

describe("targets", () => {
  it.each(cases)("%s", async (_, options, expected) => {
    const { targets, warnings } = await resolveTargets(options, io);
    expect(warnings).toEqual([]);
    expect(targets.map(summarize)).toEqual(expected);
  });

  it("include the servers of distractors on request", async () => {
    const { targets } = await resolveTargets({}, io, { distractors: true });
    expect(targets.slice(2).map(summarize)).toEqual([
      { name: "a, distractor 1", server: { command: "other" }, flags: "evals/a.json", via: "evals/a.json", suites: [] },
    ]);
  });

  it("without a server are named when one is needed", async () => {
    const { targets } = await resolveTargets({ paths: ["evals", "more"] }, io);
    const { servers, warnings } = selectServers(targets);
    expect(servers.map(({ name }) => name)).toEqual(["a", "one"]);
    expect(warnings.map(formatProblem)).toMatchSnapshot();
  });
});

describe("the skills of a project", () => {
  const project = makeFolder();
  const own = (path: string, content: unknown) => writeIn(project, path, content);
  const skill = (folder: string, name: string) =>
    own(`${folder}/${name}/SKILL.md`, `---\nname: ${name}\ndescription: Compresses images.\n---\n# Skill\n`);
  skill(".claude/skills", "photos");
  own(".claude/skills/empty/notes.md", "");
  own(".agents/skills/README.md", "");
  skill(".agents/skills", "letters");
  symlinkSync(join(project, ".claude/skills/photos"), join(project, ".agents/skills/photos"));
  const inProject = () => anIo({ cwd: project });

  it("are targets of lint where a run finds them, each once", async () => {
    const { targets } = await resolveTargets({}, inProject(), { projectSkills: true });
    expect(targets).toEqual([
      { kind: "skills", dir: ".claude/skills", isFound: true },
      { kind: "skills", dir: ".agents/skills", only: ["letters"], isFound: true },
    ]);
    const { skills } = await findOfferedSkills({}, inProject());
    expect(skills.map(({ name }) => name)).toEqual(["letters", "photos"]);
    own("evals/none.json", suite("none", {}));
    for (const options of [{ paths: ["evals"] }, { skills: [".agents"] }]) {
      const named = await resolveTargets(options, inProject(), { projectSkills: true });
      expect(named.targets.some((one) => one.kind === "skills" && one.isFound)).toBe(false);
    }
  });

  it("are named in the report of lint, with what no host loads", async () => {
    const io = inProject();
    await lint({ ...lintDefaults }, io);
    const { counts, problems, skillFolders } = JSON.parse(io.printed()) as LintReport;
    expect(skillFolders).toEqual([".claude/skills", ".agents/skills"]);
    expect(counts.linted.skills).toBe(2);
    expect(problems.map(({ location }) => location?.file)).toEqual([".claude/skills/empty"]);
  });

  it("are no targets of commands that need a server", async () => {
    const { targets } = await resolveTargets({}, inProject());
    expect(targets.filter(({ kind }) => kind === "skills")).toEqual([]);
  });
});

const lintDefaults = {
  all: false,
  confusable: false,
  failureThreshold: "error",
  format: "terminal",
  json: true,
  rules: false,
  concurrency: 1,
} as const;
const probeDefaults = { runs: 1, timeout: 1, failureThreshold: "error", format: "json", json: true } as const;

describe.each([
  ["lint", (options: TargetOptions) => lint({ ...options, ...lintDefaults }, io)],
  ["probe", (options: TargetOptions) => probe({ ...options, ...probeDefaults, yes: true }, io)],
  [
    "doctor",
    (options: TargetOptions) =>
      doctor({ ...options, execute: "read-only", timeout: 1, format: "json", json: true }, io),
  ],
])("%s refuses", (_, inspect) => {
  it.each<[TargetOptions, string]>([
    [{ server: ['node "main.js'] }, 'error: --server node "main.js has an unclosed quote.\n  Close it with ".'],
    [{ server: [" "] }, 'error: --server has no command.\n  Write --server "node dist/main.js".'],
    [
      { url: ["ftp://example.com"] },
      "error: --url ftp://example.com is not an HTTP or HTTPS URL.\n  Write it as https://host/path.",
    ],
    [{ name: ["nobody"] }, "error: --name needs --config.\n  Name the host configuration file with --config."],
    [
      { name: ["one"] },
      'error: --name needs --config.\n  .mcp.json has a server "one": use --config .mcp.json --name one for that one.',
    ],
    [
      { config: [".mcp.json"], name: ["on"] },
      '.mcp.json:1:15: error: No server "on" is registered in this file.\n  Did you mean "one"? Registered: one, my two.',
    ],
    [
      { config: ["empty.json"] },
      'empty.json:1:1: error: The file registers no servers under "mcpServers", or as another host does.\n  Write { "mcpServers": { "<name>": { "command": "...", "args": [] } } }.',
    ],
    [{ paths: ["nowhere"] }, 'error: There is no file or folder "nowhere"'],
    [
      { paths: ["wrong"] },
      '.mcp.json:1:15: error: No server "onee" is registered in this file.\n  Did you mean "one"? Registered: one, my two.',
    ],
  ])("%j", async (options, message) => {
    const error = await inspect(options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EvalsError);
    expect((error as EvalsError).exitCode).toBe(2);
    expect((error as EvalsError).message.toLowerCase()).toContain(message.toLowerCase());
  });
});

describe("--server with the name of a registered server", () => {
  it("points to its file, unless a program has this name", async () => {
    const resolving = resolveTargets({ server: ["one"] }, io);
    const error = await resolving.catch((thrown: unknown) => thrown);
    expect(error instanceof EvalsError && error.problems.map(formatProblem)).toEqual([
      'error: There is no program "one".\n  .mcp.json has a server "one": use --config .mcp.json --name one for that one.',
    ]);
    file("bin/one", "");
    const { targets } = await resolveTargets({ server: ["one"] }, anIo({ cwd, env: { PATH: join(cwd, "bin") } }));
    expect(targets.map(summarize)).toMatchObject([{ name: "one" }]);
    const byPath = resolveTargets({ paths: ["one"] }, anIo({ cwd, env: { PATH: join(cwd, "bin") } }));
    await expect(byPath).rejects.toThrow("Name a program with --server one.");
    expect((await resolveTargets({ server: ["two"] }, io)).targets).toHaveLength(1);
  });
});

describe("what is next", () => {
  const elsewhere = join(cwd, "elsewhere");
  file("elsewhere/list.json", []);
  file("elsewhere/.mcp.json", { mcpServers: { one: command, two: command } });
  const env = { HOST: "https://example.com", GIVEN: "x" };
  const serverEnv = { GIVEN: "x", OTHER: "y", EMPTY: "" };
  const without = anIo({ cwd: elsewhere, env, isTrusted: true });
  const quoted = "'node main.js --flag value'";

  const measure = "see what a model picks with `evals run`";
  const draft = (what: string) => `draft a suite with \`evals init ${what}\``;
  const sse = "--url https://x.example/sse --transport sse";
  const variables = "--server 'node x' --env GIVEN --env OTHER=... --env EMPTY=";

  it.each<[TargetOptions, Partial<typeof io>, string, string]>([
    [{}, io, "", measure],
    [{ paths: ["more/none.json"] }, io, " more/none.json", "see what a model picks with `evals run more/none.json`"],
    [{ server: ["node x"] }, io, " --server 'node x'", measure],
    [{ paths: ["node main.js --flag value"] }, without, ` ${quoted}`, draft(`--server ${quoted}`)],
    [{ server: ["node x"] }, { ...without, serverEnv }, ` ${variables}`, draft(variables)],
    [{ tools: ["list.json"] }, without, " --tools list.json", draft("list.json")],
    [{ url: ["https://x.example/sse"], transport: "sse" }, without, ` ${sse}`, draft(sse)],
    [{ config: [".mcp.json"] }, without, " --config .mcp.json", draft("--config .mcp.json --name one")],
  ])("is told in commands that can be copied: %j", async (options, where, words, ask) => {
    const world = { ...io, ...where };
    const { targets } = await resolveTargets(options, world);
    expect(await describeNext(options, targets, world)).toEqual({ lint: `\`evals lint${words}\``, ask });
  });
});

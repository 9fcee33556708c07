import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { beforeAll, describe, expect, it } from "vitest";
import { outputNames } from "../../src/evals/base/types/flagValues.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { listJenkinsFaults } from "../reports/jenkins.ts";
import { all, parse } from "../reports/xml.ts";
import { evals, pageOf } from "./evals.ts";

// What every command prints about one small project, in each of its forms, as whole files. A change of them is a change
// that users see: review the difference, and write it with `npx vitest run --project e2e test/e2e/goldens.test.ts -u`.

const fixtures = join(import.meta.dirname, "../fixtures");
const root = makeFolder();
const cwd = join(root, "project");
const env = { HOME: join(root, "home") };

const write = (file: string, content: unknown) =>
  writeIn(cwd, file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
const tool = (name: string, description: string, ...parameters: string[]) => ({
  name,
  description,
  inputSchema: {
    type: "object",
    properties: Object.fromEntries(parameters.map((key) => [key, { type: "string", description: `The ${key}.` }])),
    required: parameters,
  },
});
const toolsWith = (statDescription: string) => [
  tool("read_file", "Read the complete contents of one file as text.", "path"),
  tool("stat", statDescription, "path"),
  tool("list_folder", "List the files in a folder.", "path"),
  tool("search_files", "Search the files for a text.", "text"),
  tool("delete", "Removes."),
];
const description = "Tell when a file was last modified, and its size.";

/** The tools, and the tools with one description that no longer says what its case asks for. */
const keepTools = () => write("evals/tools.json", toolsWith(description));
const spoilTools = () => write("evals/tools.json", toolsWith("Gives facts."));

const suite = `name: files
server: { tools: tools.json }
cases:
  - { id: read, input: Read the contents of the file notes.txt, expect: { tool: read_file } }
  - { id: list, input: Which files are in my folder? List them, expect: { tool: list_folder } }
  - { id: modified, input: When was todo.md last modified?, expect: { tool: stat } }
  - { id: weather, input: Will it rain?, expect: { tool: none } }
`;
const failing = `name: failing
server: { tools: tools.json }
cases:
  - { id: list, input: List the files in my folder, expect: { tool: list_folder } }
  - { id: erase, input: Erase notes.txt for good, expect: { tool: delete } }
`;

const promptfoo = `prompts: ["Answer: {{query}}"]
tests:
  - vars: { query: Read a.txt }
    assert: [{ type: "trajectory:tool-used", value: read_file }]
  - vars: { query: Only text }
    assert: [{ type: contains, value: x }]
`;

beforeAll(() => {
  mkdirSync(env.HOME, { recursive: true });
  write("evals/files.yaml", suite);
  write("failing.yaml", failing.replace("tools.json", "evals/tools.json"));
  keepTools();
  write("among.yaml", suite.replace("tools.json }", "evals/tools.json }\ndistractors: [{ tools: foreign.json }]"));
  write("previous.json", toolsWith("Tell when a file was last modified."));
  write(
    "foreign.json",
    Array.from({ length: 6 }, (_, at) => tool(`mail_${at}`, "Reads the contents of a mail.", "id")),
  );
  write("wordings.yaml", "variants:\n  clear:\n    delete: Erase a file for good.\n  terse:\n    delete: Remove it.\n");
  write("promptfooconfig.yaml", promptfoo);
  const query = (_: unknown, at: number) => ({ input: `stat q${at}`, expect: { tool: at % 2 ? "stat" : "none" } });
  write("many.json", { server: { tools: "evals/tools.json" }, cases: Array.from({ length: 10 }, query) });
  write(
    ".claude/skills/notes/SKILL.md",
    "---\nname: notes\ndescription: Use when the user asks for meeting notes.\n---\n\nWrite notes.\n",
  );
  cpSync(join(fixtures, "servers"), join(cwd, "servers"), { recursive: true });
  cpSync(join(fixtures, "judge/labels.jsonl"), join(cwd, "labels.jsonl"));
});

/** A text without what differs from run to run and from machine to machine. */
const normalize = (text: string) =>
  text
    .replaceAll(root, "ROOT")
    .replaceAll(tmpdir(), "TMP")
    // Model servers of this machine.
    .replace(/^ {2}.* runs on this machine.*\n.*\n/gm, "")
    .replace(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}/g, "RUN")
    .replace(/\d{4}-\d\d-\d\d(T[\d:.]+Z)?( \d\d:\d\d(:\d\d)?( UTC)?)?/g, "DATE")
    .replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT")
    .replace(/(tool-evals |"version": "|Node v?|node": "v?)\d+\.\d+\.\d+[^\s"]*/g, "$1VERSION")
    .replace(/("(?:\w*[mM]s|msPerTrial|seconds|p50|p95)": )[\d.e-]+/g, "$1TIME")
    .replace(/\b[\d.,]+ ?(ms|s|min)\b/g, "TIME")
    .replace(/,\d+,"DATE"/g, ',TIME,"DATE"')
    .replace(/time="[\d.]+"/g, 'time="TIME"');

/** JSON is compared by lines, so that a difference can be read. */
function layOut(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
  } catch {
    return text;
  }
}

/** What was printed for each golden file. */
const printed = new Map<string, string>();
/** What was printed with --json. */
const outputs: { name: string | undefined; content: unknown }[] = [];
/** The name of the schema of what a command prints. */
function nameOutput(args: readonly string[]): string | undefined {
  if (args[0] === "baseline") return "verify";
  if (args.includes("--rules")) return "lint-rules";
  return ["dry-run", "shard", "history", "skills"].find((name) => args.includes(`--${name}`)) ?? args[0];
}

/** All that a command prints, and its exit code. */
async function print(args: readonly string[], name = ""): Promise<string> {
  // So wide that no duration moves a line break.
  const { code, out, err } = await evals(args, { cwd, env, width: 1000 });
  printed.set(name, out);
  const isJson = args.includes("--json") || (args[0] === "compare" && args.includes("json"));
  if (isJson) outputs.push({ name: nameOutput(args), content: JSON.parse(out) });
  return normalize(`$ evals ${args.join(" ")}\nexit code ${code}\n--- stdout\n${layOut(out)}--- stderr\n${err}`);
}

/** What says nothing of what to do next in its first lines. */
const withoutNext = ["init.terminal", "run-dry.terminal", "baseline.show", "clean.terminal"];

/** Compares all that a command prints with the golden file of this name. */
async function golden(name: string, ...args: string[]): Promise<void> {
  const shown = await print(args, name);
  const isRead = /terminal$|^baseline/.test(name) && !withoutNext.includes(name);
  if (isRead) expect(shown.split("\n").slice(3, 8).join("\n")).toContain("Next:");
  await expect(shown).toMatchFileSnapshot(`goldens/${name}.txt`);
}

/** One golden file for each form of the output. */
async function goldens(name: string, args: readonly string[], forms: Record<string, readonly string[]>): Promise<void> {
  for (const [form, flags] of Object.entries(forms)) await golden(`${name}.${form}`, ...args, ...flags);
}
const terminalAndJson = { terminal: [], json: ["--json"] };
const reports = Object.fromEntries(
  ["terminal", "json", "markdown", "junit", "github", "csv"].map((form) => [form, ["--format", form]]),
);
const { csv: _, ...comparisons } = reports;
const lintForms = { sarif: ["--format", "sarif"], github: ["--format", "github"] };
const runForms = {
  ...terminalAndJson,
  ...Object.fromEntries(["markdown", "junit", "github"].map((form) => [form, ["--reporter", form]])),
};

const server = ["--server", "node servers/bad.mjs"];
const baseline = "evals/baselines/files.lexical-2.json";
/** One trial after the other, so that they are recorded in one order. */
const steady = ["--seed", "7", "--concurrency", "1"];
const some = ["--tool", "get_fine", "--tool", "get_null", "--tool", "get_total", "--tool", "get_plain_failure"];

/** One golden file has all of these. */
const refused = [
  ...["show nope", "show 2026-01-01T", "compare nope latest", "run evals --case nope", "blame", "variants nope.json"],
  ...["run evals/files.yaml --distractors 0,9", "judge check nope.jsonl --judge anthropic:x"],
  ...["tools --server nope", "lint nope.yaml", "baseline verify nope.yaml", "import nope.json"],
  ...["merge reports", "search --fail-on recall@5=1"],
];

// In this order: a run is accepted before it is checked, and reported after it was made.
it("what is refused", async () => {
  const shown: string[] = [];
  for (const line of refused) shown.push(await print(line.split(" ")));
  await expect(shown.join("\n")).toMatchFileSnapshot("goldens/refused.txt");
});
it("schema", () => golden("schema", "schema", "config"));
it("tools", () => goldens("tools", ["tools"], terminalAndJson));
it("lint", () => goldens("lint", ["lint", "--tools", "evals/tools.json"], { ...terminalAndJson, ...lintForms }));
it("lint of a change", () =>
  golden("lint-against.terminal", "lint", "--tools", "evals/tools.json", "--against", "previous.json"));
it("search", () => goldens("search", ["search"], terminalAndJson));
it("doctor", () => goldens("doctor", ["doctor", ...server], terminalAndJson));
it("probe", () => goldens("probe", ["probe", ...server, ...some, "--seed", "7"], terminalAndJson));
it("init", async () => {
  await golden("init.terminal", "init", ...server, "--file", "drafted.yaml", "--ci", "github");
  await expect(readFileSync(join(cwd, "drafted.yaml"), "utf8")).toMatchFileSnapshot("goldens/init.yaml");
});
it("skills", () => goldens("skills", ["tools", "--skills", "--host", "claude-code"], terminalAndJson));
it("import", () => goldens("import", ["import", "promptfooconfig.yaml", "--force"], terminalAndJson));
it("dry run", () => goldens("run-dry", ["run", "evals/files.yaml", "--dry-run", ...steady], terminalAndJson));
it("run that fails", () => goldens("run-failed", ["run", "failing.yaml", ...steady, "--fail-on", "rate"], runForms));
it("show", () => goldens("show", ["show", "--failed"], terminalAndJson));
it("report of a failed run", () => goldens("report-failed", ["show"], reports));
it("run that passes", () => goldens("run-passed", ["run", "evals/files.yaml", ...steady, "-n", "20"], runForms));
it("baseline", () => goldens("baseline", ["baseline"], { accept: ["accept"] }));
it("verify", () => goldens("verify", ["baseline", "verify", "evals/files.yaml"], terminalAndJson));
it("check of the same tools", () => golden("check-unchanged.terminal", "run", "evals/files.yaml", ...steady));
it("check of changed tools", async () => {
  spoilTools();
  await goldens("verify-changed", ["baseline", "verify", "evals/files.yaml"], terminalAndJson);
  await goldens("check-changed", ["run", "evals/files.yaml", ...steady, "--fail-on", "changed"], runForms);
  await goldens("report-check", ["show"], reports);
});
it("blame", async () => {
  await goldens("blame", ["blame", ...steady], terminalAndJson);
  await goldens("report-blame", ["show", "blame"], comparisons);
});
it("compare", () => goldens("compare", ["compare", baseline, "latest"], comparisons));
it("accept at once", () => golden("run-accept.terminal", "run", "evals/files.yaml", "--accept", ...steady));
it("history", () =>
  goldens("history", ["show", "--history"], { terminal: [], markdown: ["--format", "markdown"], json: ["--json"] }));
it("distractors", () =>
  goldens("distractors", ["run", "among.yaml", "--distractors", "0,3,6", ...steady], terminalAndJson));
it("variants", async () => {
  keepTools();
  await goldens("variants", ["variants", "wordings.yaml", "failing.yaml", ...steady], terminalAndJson);
  await goldens("report-variants", ["show", "variants"], comparisons);
});
it("merge", async () => {
  const shards = ["run", "failing.yaml", ...steady, "--check", "off", "--out", "shards"];
  await goldens("shard", shards, { "1": ["--shard", "1/2"], "2": ["--shard", "2/2"] });
  await golden("merge.terminal", "merge", "shards");
});
it("judge", async () => {
  const endpoint = await startMessagesEndpoint(() => ({
    text: JSON.stringify({ answers: [{ number: 1, evidence: "", reason: "So it is.", verdict: "not met" }] }),
  }));
  const args = ["judge", "check", "labels.jsonl", "--judge", "anthropic:claude-haiku-5-5", "--base-url", endpoint.url];
  await goldens("judge", args, terminalAndJson);
});
it("clean", () => golden("clean.terminal", "clean", "--dry-run", "--keep", "1"));

it.each([
  ["report-check", ["regression check"]],
  ["report-blame", ["modified"]],
  ["report-variants", []],
  ["compare", []],
])(
  "%s is JUnit that is valid under Jenkins' XSD, with the time of cases that were asked alone",
  async (name, untimed) => {
    const xml = printed.get(`${name}.junit`) ?? "";
    expect(await listJenkinsFaults({ "junit.xml": xml })).toEqual([]);
    const cases = all(parse(xml), "testcase").map(({ attributes }) => attributes);
    expect(cases.length).toBeGreaterThan(0);
    expect(cases.flatMap(({ name: one, time = "" }) => (/^\d+\.\d{3}$/.test(time) ? [] : [one]))).toEqual(untimed);
  },
);

it.each([...["show", "show blame", "show variants"], `compare ${baseline} latest`])(
  "evals %s has a page with its data",
  async (line) => {
    const { out } = await evals([...line.split(" "), "--format", "html"], { cwd, env });
    expect(pageOf(out)).toMatchObject({ kind: "report" });
  },
);

describe("the schema of what is printed with --json", () => {
  beforeAll(async () => {
    // What no golden file has.
    for (const line of [
      ...["run failing.yaml --shard 1/2 --seed 7 --check off --out more --json", "lint --rules --json"],
      "improve many.json --proposals wordings.yaml --json",
    ])
      await print(line.split(" "));
  });

  it.each(outputNames)("says all that is printed, and nothing more: %s", async (name) => {
    const own = outputs.filter((output) => output.name === name);
    const { out } = await evals(["schema", name], { cwd, env });
    const validate = addFormats.default(new Ajv2020({ strict: false, allErrors: true })).compile(JSON.parse(out));
    for (const { content } of own) expect([validate(content), validate.errors]).toEqual([true, null]);
    expect(own).not.toEqual([]);
  });

  it("is written to files, with those of suites and of the configuration", async () => {
    expect(await evals(["schema", "--output", "schemas"], { cwd, env })).toMatchObject({ code: 0, out: "" });
    for (const name of ["suite", "config", ...outputNames])
      expect(JSON.parse(readFileSync(join(cwd, `schemas/${name}.json`), "utf8"))).toHaveProperty("$schema");
  });
});

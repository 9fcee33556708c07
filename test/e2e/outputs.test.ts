import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { beforeAll, expect, it, test } from "vitest";
import { type OutputName, outputNames } from "../../src/evals/base/types/flagValues.ts";
import { writeIn } from "../fakes/folder.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { evals, summaryOf, workspace } from "./evals.ts";
import { spoilable } from "./spoiled.ts";

// What every command prints with --json is what the schema of its name says, and nothing more.

const dir = workspace();
/** Only a judge has a key. */
const run = (...args: string[]) =>
  evals(args, { cwd: dir, env: { HOME: dir, ANTHROPIC_API_KEY: args[0] === "judge" ? "test" : "" } });
const write = (name: string, content: unknown) => writeIn(dir, name, content);
const server = ["--server", `${process.execPath} dist/server/main.js`];
const printed: Partial<Record<OutputName, string[]>> = {};

beforeAll(async () => {
  const files = await spoilable(dir);
  const first = summaryOf(await run("run", files.suite, "--accept", "--json"));
  files.spoil();
  const keep = async (name: OutputName, ...args: string[]) => {
    const { out, err } = await run(...args);
    expect({ name, err, isPrinted: out.trim() !== "" }).toMatchObject({ name, isPrinted: true });
    printed[name] = [...(printed[name] ?? []), out];
  };
  await keep("run", "run", files.suite, "--json");
  await keep("shard", "run", files.suite, "--shard", "1/2", "--seed", "1", "--out", "shards", "--json");
  await keep("dry-run", "run", files.suite, "--dry-run", "--json");
  await keep("verify", "baseline", "verify", files.suite, "--json");
  await keep("blame", "blame", "--json");
  const wordings = { variants: { other: { get_file_info: "Gives the size of a file." } } };
  await keep("variants", "variants", write("better.json", wordings), files.suite, "--json");
  const ask = (id: string, tool: string) => ({ id, input: `${tool} ${id}`, expect: { tool } });
  const queries = Array.from({ length: 10 }, (_, at) => ask(`q${at}`, at % 2 === 0 ? "get_file_info" : "none"));
  const many = write("many.json", { server: { tools: "tools.json" }, cases: queries });
  await keep("improve", "improve", many, "--proposals", "better.json", "--json");
  await keep("compare", "compare", first.run, "latest", "--json");
  await keep("history", "show", "--history", "--json");
  await keep("show", "show", "--failed", "--json");
  await keep("search", "search", files.suite, "--json");
  await keep("lint", "lint", "--tools", "tools.json", "--json");
  await keep("lint-rules", "lint", "--rules", "--json");
  await keep("tools", "tools", "--tools", "tools.json", "--json");
  await keep("skills", "tools", "--skills", "--json");
  await keep("probe", "probe", ...server, "--json");
  await keep("doctor", "doctor", ...server, "--json");
  const table = "| Tool Name | Test Prompt |\n|---|---|\n| a | Do <x> |\n| b | |\n";
  await keep("import", "import", write("prompts.md", table), "--tools", "tools.json", "--json");
  const endpoint = await startMessagesEndpoint(() => {
    const answer = { number: 1, evidence: "", reason: "So it is.", verdict: "not met" };
    return { text: JSON.stringify({ answers: [answer] }) };
  });
  const labels = readFileSync(new URL("../fixtures/judge/labels.jsonl", import.meta.url), "utf8");
  const judge = ["--judge", "anthropic:claude-haiku-5-5", "--base-url", endpoint.url];
  await keep("judge", "judge", "check", write("labels.jsonl", labels), ...judge, "--json");
  await endpoint.close();
});

test.each(outputNames)("%s", async (name) => {
  const schema = JSON.parse((await run("schema", name)).out);
  const validate = addFormats.default(new Ajv2020({ strict: false, allErrors: true })).compile(schema);
  for (const text of printed[name] ?? []) {
    validate(JSON.parse(text));
    expect(validate.errors ?? []).toEqual([]);
  }
  expect(printed[name]?.length ?? 0).toBeGreaterThan(0);
});

it("is also written to files, with the schemas of suites and of the configuration", async () => {
  expect(await run("schema", "--output", "schemas")).toMatchObject({ code: 0, out: "" });
  for (const name of ["suite", "config", ...outputNames])
    expect(JSON.parse(readFileSync(join(dir, `schemas/${name}.json`), "utf8"))).toHaveProperty("$schema");
});

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunManifest, runManifestSchema } from "../../../src/evals/base/types/run.ts";
import { type Trial, trialSchema } from "../../../src/evals/base/types/trial.ts";
import type { RunOptions } from "../../../src/evals/experiments/run/runOptions.ts";
import { writeIn } from "../../fakes/folder.ts";
import { anIo, type TestIo } from "../../fakes/io.ts";
import { later as laterInTest } from "../../fakes/later.ts";
import { type MessagesBody, startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";

const descriptions = {
  read: "Reads the text of one file.",
  list: "Lists the entries of a folder.",
  move: "Moves or renames a file.",
} as const;
export type ToolName = keyof typeof descriptions;

/** Two cases of the project's suite. */
export const read = { id: "read", input: "What is the text of the file notes.txt?", expect: { tool: "read" } };
export const list = { id: "list", input: "Which entries does the folder src have?", expect: { tool: "list" } };

/** The suite of the project with these cases; `changes` are to its settings. */
export const filesSuite = (cases: readonly object[], changes: object = {}) => ({
  name: "files",
  server: { tools: "../tools.json" },
  trials: 3,
  maxTurns: 1,
  ...changes,
  cases,
});

/** A folder with a suite of three tools and as many cases; `files` are added or replace them. `later` has it removed. */
export function project(files: Record<string, unknown> = {}, later: (undo: () => unknown) => unknown = laterInTest) {
  const dir = mkdtempSync(join(tmpdir(), "evals-project-"));
  later(() => rmSync(dir, { recursive: true, force: true }));
  const write = (name: string, content: unknown) => writeIn(dir, name, content);
  write("tools.json", toolList());
  write("evals/files.json", filesSuite([read, list, { id: "none", input: "Good morning", expect: { tool: "none" } }]));
  for (const [name, content] of Object.entries(files)) write(name, content);
  const io = (changes: Partial<TestIo> = {}) =>
    anIo({ cwd: dir, env: { HOME: dir, ANTHROPIC_API_KEY: "x" }, ...changes });
  const records = () =>
    readdirSync(join(dir, "reports"))
      .filter((name) => name !== "last-result" && name !== ".evals-cache")
      .sort();
  const manifest = (id: string): RunManifest =>
    runManifestSchema.parse(JSON.parse(readFileSync(join(dir, "reports", id, "run.json"), "utf8")));
  const trials = (id: string): Trial[] =>
    readFileSync(join(dir, "reports", id, "trials.jsonl"), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => trialSchema.parse(JSON.parse(line)));
  return { dir, write, io, records, manifest, trials };
}

/** The tools of the project, some with other descriptions. */
export function toolList(changed: Partial<Record<ToolName, string>> = {}) {
  return Object.entries({ ...descriptions, ...changed }).map(([name, description]) => ({
    name,
    description,
    inputSchema: { type: "object", properties: {} },
  }));
}

/** What a model endpoint answers to a request, or how it fails. */
export type EndpointAnswer = ReturnType<Parameters<typeof startMessagesEndpoint>[0]>;

/** A model endpoint that calls `read` for every query, unless `answer` says otherwise. */
export async function endpoint(
  answer: (body: MessagesBody, index: number) => EndpointAnswer | undefined = () => undefined,
) {
  const started = await startMessagesEndpoint(
    (body, index) =>
      answer(body, index) ?? { calls: [{ name: "read", input: {} }], usage: { input_tokens: 1_000_000 } },
  );
  const model = "anthropic:claude-haiku-5-5";
  return { started, model, asked: { model, baseUrl: started.url, seed: 7, retries: 0 } };
}

/** What the command line gives `evals run` by default. */
export const runDefaults: RunOptions = {
  model: ["lexical"],
  host: "plain",
  out: "reports",
  concurrency: 1,
  blame: false,
  margin: 0.1,
  baselines: "evals/baselines",
  dryRun: false,
  retryBroken: false,
  json: true,
};

/** The same for the commands with one model. */
export const experimentDefaults = {
  model: "lexical",
  host: "plain",
  out: "reports",
  concurrency: 1,
  json: true,
} as const;

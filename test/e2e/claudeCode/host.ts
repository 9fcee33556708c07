import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { parseSkill } from "../../../src/evals/skills/package.ts";
import type { HostedTrial, HostModel } from "../../../src/evals/types/model.ts";
import type { SkillPackage } from "../../../src/evals/types/skill.ts";
import type { OfferedTool } from "../../../src/evals/types/tool.ts";
import type { ModelOptions } from "../../../src/evals/workspace/models.ts";
import { openModel } from "../../../src/evals/workspace/models.ts";
import type { Endpoint } from "../../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, type MessagesBody, startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";

export const never = new AbortController().signal;
type Script = Parameters<typeof startMessagesEndpoint>[0];

let program: string | undefined;

/** Where Claude Code is. Only to be asked in a test. */
export function claudePath(): string {
  if (program === undefined) throw new Error("Claude Code is not installed");
  return program;
}

/** To be called once in a test file: installs Claude Code. Where it cannot be had the tests fail in CI, else say so. */
export function needsClaude(): void {
  let missing = "";
  beforeAll(() => {
    const installer = fileURLToPath(new URL("../../../scripts/installHost.mjs", import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [installer, "claude-code"], { encoding: "utf8" });
    if (status === 0) program = stdout.trim();
    else if (process.env.CI) throw new Error(stderr);
    else {
      missing = stderr.trim();
      process.stderr.write(`\nNOT TESTED: Claude Code as a host. ${missing}\n\n`);
    }
  }, 330_000);
  beforeEach((context) => {
    if (missing !== "") context.skip(missing);
  });
}

/** Something to undo after the test. */
export function later(undo: () => unknown): void {
  leftovers.push(undo);
}
const leftovers: (() => unknown)[] = [];

/** To be called once in a test file: a folder for its packages; and one for the temporary files of the product. */
export function tidyFolders(): (...path: string[]) => string {
  const root = mkdtempSync(join(tmpdir(), "evals-e2e-"));
  const temporary = join(root, "tmp");
  mkdirSync(temporary);
  process.env.TMPDIR = temporary;
  afterEach(async () => {
    for (const undo of leftovers.splice(0).reverse()) await undo();
    expect(readdirSync(temporary), "what a trial left behind").toEqual([]);
  });
  afterAll(() => rmSync(root, { recursive: true }));
  return (...path) => join(root, ...path);
}

/** A Messages endpoint for one test. */
export async function endpoint(script: Script): Promise<Endpoint<MessagesBody>> {
  const started = await startMessagesEndpoint(script);
  later(started.close);
  return started;
}

/** Says these one after the other, whatever it is asked, and then that it is done. */
export function steps(...answers: MessageAnswer[]): Script {
  return ({ messages }) => answers[messages.filter(({ role }) => role === "assistant").length] ?? { text: "All done." };
}

/** Claude Code as a model under test, asking that endpoint. */
export async function host({ url }: { url: string }, options: Partial<ModelOptions> = {}): Promise<HostModel> {
  const env = { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "secret" };
  const model = await openModel("claude-code:claude-sonnet-5-5", { env, claudePath: claudePath(), ...options });
  if (!("converse" in model)) throw new Error("not a host");
  return model;
}

export function trialOf(change: Partial<HostedTrial> & { prompt?: string } = {}): HostedTrial {
  const { prompt = "Please do it.", ...rest } = change;
  return {
    cell: { suite: "s", case: "c", arm: "head", model: "claude-code", trial: 1 },
    messages: [{ role: "user", content: prompt }],
    tools: [],
    skills: [],
    exposure: "all",
    instructions: [],
    files: [],
    maxTurns: 6,
    execute: async ({ tool }) => ({ status: "skipped", reason: `${tool} is not executed here` }),
    ...rest,
  };
}

/** A tool whose name and server the host writes otherwise. */
export const reads: OfferedTool = {
  name: "notes.read",
  description: "Reads a note.",
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  annotations: { readOnlyHint: true },
  server: "my notes",
  origin: "server",
};

/** A package on disk, read as the product reads it. */
export function skillAt(dir: string, files: Record<string, string>): SkillPackage {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  const file = join(dir, "SKILL.md");
  const folder = dir.split("/").at(-1) ?? "";
  const parsed = parseSkill(readFileSync(file, "utf8"), { folder, file });
  if ("reason" in parsed) throw new Error(parsed.reason);
  const { name, description, document } = parsed;
  return { name, description, document, folder, dir, file, level: "named", hash: "" };
}

export function skillText(name: string, description: string, body: string, more = ""): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n${body}\n`;
}

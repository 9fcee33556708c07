import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { HostedTrial, HostModel } from "../../../src/evals/base/types/model.ts";
import type { SkillPackage } from "../../../src/evals/base/types/skill.ts";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";
import { type ModelOptions, openModel } from "../../../src/evals/experiments/workspace/models.ts";
import { parseSkill } from "../../../src/evals/input/skills/package.ts";
import { writeIn } from "../../fakes/folder.ts";

export const never = new AbortController().signal;

/**
 * To be called once in a test file: installs a host, and returns where its program is. Where it is unavailable, the tests
 * fail in CI and are skipped elsewhere, with the reason.
 */
export function needsHost(name: string): () => string {
  let program: string | undefined;
  let missing = "";
  beforeAll(() => {
    const installer = fileURLToPath(new URL("../../../scripts/installHost.mjs", import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [installer, name], { encoding: "utf8" });
    if (status === 0) program = stdout.trim();
    else if (process.env.CI) throw new Error(stderr);
    else {
      missing = stderr.trim();
      process.stderr.write(`\nNOT TESTED: ${name} as a host. ${missing}\n\n`);
    }
  }, 330_000);
  beforeEach((context) => {
    if (missing !== "") context.skip(missing);
  });
  return () => {
    if (program === undefined) throw new Error(`${name} is not installed`);
    return program;
  };
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
  const { TMPDIR } = process.env;
  process.env.TMPDIR = temporary;
  afterEach(async () => {
    for (const undo of leftovers.splice(0).reverse()) await undo();
    expect(readdirSync(temporary), "what a trial left behind").toEqual([]);
  });
  afterAll(() => {
    rmSync(root, { recursive: true });
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  return (...path) => join(root, ...path);
}

/** A host as a model under test. */
export async function openHost(id: string, options: ModelOptions): Promise<HostModel> {
  const model = await openModel(id, options);
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
  for (const [path, content] of Object.entries(files)) writeIn(dir, path, content);
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

import { basename, extname, relative, resolve } from "node:path";
import * as z from "zod";
import { sumOf } from "../base/collections.ts";
import { listProperties, listRequired } from "../base/jsonSchema/keywords.ts";
import { printableLines } from "../base/text/display.ts";
import { quote, squeeze } from "../base/text/text.ts";
import { EvalsError, type ExitCode, exitCodes, type Problem, printProblem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { isJsonObject } from "../base/types/json.ts";
import type { SkillPackage, SkillRoot } from "../base/types/skill.ts";
import { countListTokens, type Tool } from "../base/types/tool.ts";
import { discoverSkills } from "../input/skills/discover.ts";
import { readSkillEvals } from "../input/skills/evals.ts";
import { findHostSkills } from "../input/skills/hosts.ts";
import { type Block, heading, list, makeColumns, section, table, text, unlimited } from "../reports/document.ts";
import { count, integer } from "../reports/format.ts";
import { printResult } from "../reports/result.ts";
import { findRunner } from "../servers/diagnosis/start.ts";
import { resolveServer } from "../servers/spec.ts";
import { type ListFile, readListFile } from "../servers/toolList.ts";
import {
  describeNext,
  forEachTarget,
  requireFolder,
  resolveTargets,
  type ServerTarget,
  type Source,
  suggestRegistered,
  type TargetOptions,
} from "./targets.ts";

export type ToolsOptions = Omit<TargetOptions, "skills"> & { json: boolean };

/** `evals tools`: prints tool lists, with --json unchecked. Exits with 3 when one is missing. Throws EvalsError. */
export async function listTools(options: ToolsOptions, io: Io): Promise<ExitCode> {
  const { targets, warnings } = await resolveTargets(options, io);
  const sources = targets.filter((target) => target.kind === "server" || target.kind === "tool list");
  if (sources.length === 0)
    throw usageError("There is no tool list among the targets.", "Name a server with --server, --url or --config.");
  if (options.json && sources.length > 1)
    throw usageError(
      `--json prints one list, but there are ${sources.length}: ${sources.map(nameTarget).join(", ")}.`,
      "Name one with --server, --url, --name or --tools.",
    );
  const read = await forEachTarget(sources, io, (target) =>
    listSource(target, io).catch((error: unknown) => {
      if (error instanceof EvalsError && error.exitCode === exitCodes.incomplete) return { problems: error.problems };
      throw error;
    }),
  );
  const lists = read.flatMap((one) => ("items" in one ? [one] : []));
  const problems = [...warnings, ...read.flatMap((one) => ("items" in one ? one.warnings : one.problems))];
  if (lists.length > 0) {
    const { lint, ask } = await describeNext(options, sources, io);
    const next = `Next: check their wording with ${lint}, or ${ask}.`;
    printResult({ tools: lists[0]?.items }, toolsDocument(lists, next), options.json, io);
  }
  problems.forEach(printProblem(io));
  if (io.signal.aborted) return io.signalExitCode();
  return lists.length === sources.length ? exitCodes.passed : exitCodes.incomplete;
}

const nameTarget = (target: Source) => (target.kind === "server" ? target.name : target.file);

/** The list of a server or file, unchecked, with the server's version, instructions, and warnings about its entry. */
type ListedSource = {
  name: string;
  items: readonly unknown[];
  version?: string;
  instructions?: string | undefined;
  warnings: readonly Problem[];
  /** The place of a value, for a list in a file. */
  location?: ListFile["location"];
};

/** The tools of a server, or of a file, which is relative to the working directory. Throws EvalsError. */
export async function listSource(target: Source, io: Io): Promise<ListedSource> {
  if (target.kind === "server") return await listServer(target, io);
  const path = resolve(io.cwd, target.file);
  const list = await readListFile(path, relative(io.cwd, path) || ".");
  return { name: basename(target.file, extname(target.file)), ...list, warnings: [] };
}

async function listServer(target: ServerTarget, io: Io): Promise<ListedSource> {
  // Imported only for a server, because loading the client takes longer than anything else at the start.
  const { connect } = await import("../servers/connect.ts");
  const { server, dir: from, registration } = target;
  const { spec, dir, warnings } = await resolveServer(server, target.name, from, io, registration?.host);
  const runner = "command" in spec ? findRunner(spec) : undefined;
  const why = runner === undefined ? "" : ` The first start with ${runner} includes the download.`;
  const waiting = printableLines(`Waiting for the server ${quote(target.name)} to answer.${why}`);
  const wait = setTimeout(() => io.errIsTerminal && io.err(waiting), quietMs);
  const connection = await connect(spec, { name: target.name, dir, env: io.env, signal: io.signal, unset: warnings })
    .catch(async (error) => {
      throw await nameRegistration(error, target, io);
    })
    .finally(() => clearTimeout(wait));
  try {
    const items = await connection.listRaw(io.signal);
    const { about, instructions } = connection;
    const version = typeof about.version === "string" ? { version: about.version } : {};
    return { name: registration?.name ?? String(about.name ?? target.name), ...version, items, instructions, warnings };
  } finally {
    await connection.close();
  }
}

/** A start that takes longer is explained on a terminal. */
const quietMs = 4_000;

/** The error, with the entry of a host that has the name of the program that failed: npx finds others of it, too. */
async function nameRegistration(error: unknown, { name, via }: ServerTarget, io: Io): Promise<unknown> {
  if (via !== undefined || !(error instanceof EvalsError)) return error;
  const also = await suggestRegistered(name, io);
  if (also === undefined) return error;
  const problems = error.problems.map((one) => ({ ...one, hint: one.hint ? `${one.hint}\n${also}` : also }));
  return new EvalsError(problems, error.exitCode);
}

/** The output of `evals tools --json`. */
export const toolsOutputSchema = z.object({
  tools: z.array(z.unknown()).readonly().describe("each as the server sent it, unchecked"),
});

function toolsDocument(lists: readonly ListedSource[], next: string): Block[] {
  const columns = makeColumns(["name", "tool"], ["figure", "tokens"], ["text", "parameters", "effect", "description"]);
  return lists.flatMap(({ name, items }, at) => [
    heading(1, [
      { strong: count(items.length, "tool") },
      ` · about ${integer(countListTokens(items.map((item) => Object(item) as Tool)))} tokens per request · `,
      { code: name },
    ]),
    text(at === 0 ? next : undefined),
    table("tool", columns, items.map(describeTool), { max: unlimited }),
    ...(items.length === 0 ? [text("The server lists no tools.")] : []),
  ]);
}

function describeTool(tool: unknown): { code: string; max?: number }[] {
  const { name, description, inputSchema, annotations } = isJsonObject(tool) ? tool : {};
  const schema = isJsonObject(inputSchema) ? inputSchema : {};
  const required = new Set(listRequired(schema));
  const parameters = listProperties(schema).map(([key]) => (required.has(key) ? key : `${key}?`));
  const { readOnlyHint, destructiveHint } = isJsonObject(annotations) ? annotations : {};
  // By default, the specification treats a tool as destructive.
  const effect = readOnlyHint === true ? "reads" : destructiveHint === false ? "writes" : "may destroy";
  return [
    typeof name === "string" ? name : "(no name)",
    integer(countListTokens([Object(tool) as Tool])),
    parameters.join(", "),
    effect,
    summarize(typeof description === "string" ? description : ""),
  ].map((cell) => ({ code: cell, max: 160 }));
}

function summarize(description: string): string {
  const line = squeeze(description);
  const sentence = /^.*?[.!?](?= [A-Z]|$)/.exec(line)?.[0] ?? line;
  return sentence.length > 120 ? `${sentence.slice(0, 119)}…` : sentence;
}

/** The options of `evals tools --skills`. `hostDir` are folders such as `.claude`, `dir` folders of packages. */
type SkillsOptions = {
  host: string;
  hostDir?: string[] | undefined;
  dir?: string[] | undefined;
  json: boolean;
};

/** `evals tools --skills`: which skills a host shows to its model. Exits with 2 if an eval file is invalid. */
export async function listSkills(options: SkillsOptions, io: Io): Promise<ExitCode> {
  const { host, hostDir, dir = [], json } = options;
  for (const folder of dir) await requireFolder(folder, io);
  const home = io.env.HOME ?? io.env.USERPROFILE;
  const ofHost = findHostSkills(host, { home: home || undefined, cwd: io.cwd, env: io.env, withUser: true }, hostDir);
  const { rules } = ofHost;
  const named = dir.map((folder): SkillRoot => ({ dir: resolve(io.cwd, folder), level: "named" }));
  const roots = [...named, ...ofHost.roots];
  const found = await discoverSkills(roots, { cwd: io.cwd, rules });
  const read = await Promise.all(found.skills.map((skill) => countEvals(skill, io)));
  const { shadowed, skipped } = found;
  const skills: SkillListing["skills"][number][] = [];
  const hidden: SkillListing["hidden"][number][] = [];
  for (const [at, skill] of found.skills.entries()) {
    const { name, level, file, hash } = skill;
    const shown = rules.show(skill);
    const declared = rules.namedBy === "folder" ? readDeclaredName(skill) : undefined;
    const differs = declared !== undefined && declared !== name && { declared };
    const evals = read[at]?.counts ?? "unreadable";
    if ("hidden" in shown) hidden.push({ name, file, reason: shown.hidden });
    else skills.push({ name, ...differs, level, file, description: shown.description, hash, evals });
  }
  const listing = { host, folders: roots.map(({ dir }) => dir), skills, hidden, shadowed, skipped };
  printResult(listing, skillsDocument(listing), json, io);
  const problems = [...found.warnings, ...read.flatMap((one) => one.problems)];
  problems.forEach(printProblem(io));
  return problems.some(({ severity }) => severity === "error") ? exitCodes.usage : exitCodes.passed;
}

/** The name in the front matter, with that of the plugin as in the skill's name. */
function readDeclaredName({ name, level, document: { frontMatter } }: SkillPackage): string | undefined {
  const plugin = level === "plugin" ? name.slice(0, name.indexOf(":") + 1) : "";
  return frontMatter.name ? `${plugin}${frontMatter.name}` : undefined;
}

async function countEvals(skill: SkillPackage, io: Io): Promise<{ counts: EvalCounts; problems: readonly Problem[] }> {
  try {
    const { evals, warnings } = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd });
    const positives = evals.filter(({ triggers }) => triggers).length;
    const checks = sumOf(evals, ({ expectedBehavior }) => expectedBehavior.length);
    return { counts: { positives, negatives: evals.length - positives, checks }, problems: warnings };
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    return { counts: "unreadable", problems: error.problems };
  }
}

const number = z.number().int().min(0);
/** What the eval files of a package contain; `unreadable` if they are invalid. */
const evalCountsSchema = z.union([
  z.object({ positives: number, negatives: number, checks: number }),
  z.literal("unreadable"),
]);
type EvalCounts = z.infer<typeof evalCountsSchema>;

const listedSkillSchema = z.object({
  name: z.string(),
  declared: z.string().exactOptional().describe("the name in the front matter, if the host uses that of the folder"),
  level: z.string(),
  file: z.string(),
  description: z.string().describe("as shown to the model, before the limit on the whole list"),
  hash: z.string(),
  evals: evalCountsSchema,
});

export const skillListingSchema = z.object({
  host: z.string(),
  folders: z.array(z.string()).readonly().describe("where it looks"),
  skills: z.array(listedSkillSchema).readonly(),
  hidden: z
    .array(z.object({ name: z.string(), file: z.string(), reason: z.string() }))
    .readonly()
    .describe("loaded, but not shown to the model"),
  shadowed: z.array(z.object({ name: z.string(), file: z.string(), by: z.string(), reason: z.string() })).readonly(),
  skipped: z.array(z.object({ file: z.string(), reason: z.string() })).readonly(),
});
export type SkillListing = z.infer<typeof skillListingSchema>;

/** The report of `evals tools --skills`: the skills that a host shows, with their eval queries, then the others. */
export function skillsDocument({ host, folders, skills, hidden, shadowed, skipped }: SkillListing): Block[] {
  const rows = skills.map(({ name, declared, level, file, evals }) => [
    ...[declared === undefined ? name : `${name} (${declared})`, level, evalsText(evals)],
    file.replace(/[\\/]SKILL\.md$/, ""),
  ]);
  const columns = makeColumns(["name", "skill"], ["figure", "level"], ["text", "queries", "folder"]);
  const listed = (title: string, all: readonly { name?: string; file: string; reason: string }[]) => {
    const items = all.map(({ name, file, reason }) => {
      return { text: name === undefined ? file : `${name}: ${file}`, items: [reason] };
    });
    return section(`${title}: ${items.length}`, [list("skill", items, unlimited)]);
  };
  return [
    ...(skills.length > 0
      ? [
          heading(1, `${count(skills.length, "skill")} · host ${host}`),
          text("Next: check one with `evals lint --skills <folder>`, or test it with `evals run --skill <name>`."),
          table("skill", columns, rows, { max: unlimited }),
        ]
      : [
          heading(1, "No skill was found"),
          text(
            "Next: name the folders that hold skills with `--host-dir`.",
            "Searched:",
            ...folders.map((folder) => `  ${folder}`),
          ),
        ]),
    ...listed("Not shown to the model", hidden),
    ...listed(
      "Shadowed (another skill of the same name is loaded)",
      shadowed.map(({ by, reason, ...one }) => ({ ...one, reason: `by ${by}: ${reason}` })),
    ),
    ...listed("Skipped (cannot be loaded)", skipped),
  ];
}

function evalsText(evals: EvalCounts): string {
  if (evals === "unreadable") return evals;
  const { positives, negatives, checks } = evals;
  if (positives + negatives === 0) return "none";
  return `${count(positives, "positive")}, ${count(negatives, "negative")}, ${count(checks, "check")}`;
}

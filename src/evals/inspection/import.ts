import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { Document, isMap } from "yaml";
import * as z from "zod";
import { getOrAdd, groupBy } from "../base/collections.ts";
import { writeOutput } from "../base/files/files.ts";
import { listProperties } from "../base/jsonSchema/keywords.ts";
import { knownSecrets, redactValue } from "../base/secrets/secrets.ts";
import { cut } from "../base/text/text.ts";
import { type ExitCode, exitCodes, type Location, printProblem, usageError } from "../base/types/errors.ts";
import { locationSchema } from "../base/types/finding.ts";
import type { Io } from "../base/types/io.ts";
import { isMarked, type Json, writeExactJson } from "../base/types/json.ts";
import type { CaseFile, SuiteFile } from "../base/types/suiteFile.ts";
import type { Tool } from "../base/types/tool.ts";
import { trustWritten } from "../experiments/workspace/trust.ts";
import { type FormatFiles, findImports } from "../input/imports/find.ts";
import type { ImportedCase, KnownTools } from "../input/imports/formats/format.ts";
import { createCaseIds } from "../input/suites/build.ts";
import { checkSuite, findNames } from "../input/suites/validate.ts";
import { type Block, heading, type Item, list, makeColumns, section, table, text } from "../reports/document.ts";
import { count, integer, some } from "../reports/format.ts";
import { printResult } from "../reports/result.ts";
import { readStaticList } from "../servers/toolList.ts";
import { parseCommandLine } from "./shell.ts";

export type ImportOptions = {
  paths?: readonly string[] | undefined;
  from?: string | undefined;
  tools?: string | undefined;
  /** The command line of the server that the suites name. */
  server?: string | undefined;
  output: string;
  judged: boolean;
  executeSource: boolean;
  force: boolean;
  json: boolean;
};

/**
 * `evals import`: reads cases of other tools and writes a suite for each format that is found. What a suite cannot
 * express is kept as a comment of its case. Prints what was kept, what could not be expressed and why, what was left
 * out, and, with a tool list, expected tools that are not in it. Throws EvalsError.
 */
export async function importSuites(options: ImportOptions, io: Io): Promise<ExitCode> {
  const paths = options.paths?.length ? options.paths : ["."];
  const tools = options.tools === undefined ? undefined : await readStaticList(resolve(io.cwd, options.tools));
  const { cwd, signal } = io;
  const { found, problems } = await findImports(paths, { ...options, cwd, signal, tools: tools && indexTools(tools) });
  if (io.signal.aborted) return io.signalExitCode();
  problems.forEach(printProblem(io));
  const isWrong = problems.some(({ severity }) => severity === "error");
  if (found.length === 0) {
    if (isWrong) return exitCodes.usage;
    const message = `No file under ${paths.join(", ")} is in a known format.`;
    throw usageError(message, "Name the file and its format: --from.");
  }
  const reports: ImportReport[] = [];
  for (const one of found) reports.push(await writeOne(one, tools, options, io));
  printResult({ imports: reports }, importDocument(reports), options.json, io);
  if (isWrong) return exitCodes.usage;
  return reports.some(({ written }) => written !== undefined) ? exitCodes.passed : exitCodes.failed;
}

const indexTools = (tools: readonly Tool[]): KnownTools =>
  new Map(tools.map(({ name, inputSchema }) => [name, new Set(listProperties(inputSchema).map(([key]) => key))]));

async function writeOne(
  { format, files }: FormatFiles,
  tools: readonly Tool[] | undefined,
  options: ImportOptions,
  io: Io,
): Promise<ImportReport> {
  const { output, force, executeSource } = options;
  const cases = leaveOutInvalid(files.flatMap((file) => file.cases));
  const kept = cases.flatMap((one) => (one.kind === "kept" ? [one] : []));
  const file = join(output, `${format.name}.yaml`);
  const folder = dirname(resolve(io.cwd, file));
  const behind = new Map(files.flatMap((one) => [...(one.behind ?? [])]));
  const systems = new Set(files.map(({ system }) => system));
  const [system] = systems;
  const dispatch = Object.assign({}, ...files.map((one) => one.dispatch ?? {})) as NonNullable<SuiteFile["dispatch"]>;
  const server = chooseServer(files, options, folder, io);
  const suite: SuiteFile = {
    name: format.name,
    ...(server && { server }),
    ...(Object.keys(dispatch).length > 0 && { dispatch }),
    ...(system !== undefined && systems.size === 1 && { system }),
    ...(format.hasPlaceholders && writeValues(kept.map(({ content }) => content))),
    // In the formats with mocks, a call that no mock answers goes to the server.
    ...(kept.some(({ content }) => content.mocks) && { unmatched: "server" }),
    cases: nameCases(kept, knownSecrets(io.env).redact),
  };
  const report: ImportReport = {
    format: format.label,
    hasServer: server !== undefined,
    files: files.length,
    kept: kept.length,
    cases: cases.map((one) => ({
      name: one.name,
      location: one.location,
      ...(one.kind === "left out" && { leftOut: one.reason }),
      losses: one.losses,
    })),
    losses: files.flatMap(({ file: of, losses }) => losses.map((one) => ({ ...one, file: of }))),
    ...(format.request && !executeSource && { isRunnable: true as const }),
    dead: tools ? findDead(kept, behind, new Set(tools.map(({ name }) => name))) : [],
  };
  if (kept.length === 0) return report;
  if (existsSync(resolve(io.cwd, file)) && !force)
    throw usageError(`The file ${file} exists.`, "Write it again with --force, or elsewhere with --output.", { file });
  const sources = files.map((one) => one.file);
  const [safeSuite, safeCases, safeSources] = redactValue([suite, cases, sources] as const, io);
  await writeOutput(resolve(io.cwd, file), renderImport(safeSuite, safeCases, safeSources), io);
  if (options.server !== undefined) await trustWritten(file, io, "program");
  return { ...report, written: file };
}

/** The server of a suite, seen from its folder: what the user says, else the only one that the files name. */
function chooseServer(files: FormatFiles["files"], options: ImportOptions, folder: string, io: Io) {
  const { tools, server: commandLine } = options;
  if (commandLine !== undefined) return { ...parseCommandLine(commandLine), cwd: relative(folder, io.cwd) };
  if (tools !== undefined) return { tools: relative(folder, resolve(io.cwd, tools)) };
  const [only, ...others] = new Map(files.map(({ server }) => [JSON.stringify(server), server])).values();
  if (!only || others.length > 0) return undefined;
  return "command" in only ? { ...only, cwd: relative(folder, only.cwd ?? "") } : only;
}

/** Leaves out each case that would be invalid in a suite, with its problem, for example an empty text. */
function leaveOutInvalid(cases: readonly ImportedCase[]): ImportedCase[] {
  return cases.map((one) => {
    if (one.kind === "left out") return one;
    const { problems } = checkSuite({ cases: [one.content] } as unknown as Json);
    const wrong = problems.find(({ severity }) => severity !== "warning");
    const { name, location, losses } = one;
    return wrong ? { kind: "left out", name, location, losses, reason: wrong.message } : one;
  });
}

type KeptCase = Extract<ImportedCase, { kind: "kept" }>;

/** The cases with unique ids, because two files can use the same one. */
function nameCases(kept: readonly KeptCase[], redact: (text: string) => string): CaseFile[] {
  const seen = new Set<string>();
  const own = kept.map(({ content, name }) => {
    const id = content.id !== undefined && !seen.has(content.id) ? content.id : undefined;
    if (id !== undefined) seen.add(id);
    return { id, input: name };
  });
  const ids = createCaseIds(own, redact);
  return kept.map(({ content }, at) => {
    const { id: _, ...rest } = content;
    return { id: ids[at] ?? "", ...rest };
  });
}

/** Expected tools, and dispatchers of expected tools, that the list lacks, each with the cases that expect it. */
function findDead(kept: readonly KeptCase[], behind: ReadonlyMap<string, string>, names: ReadonlySet<string>) {
  const dead = new Map<string, string[]>();
  for (const { name, content } of kept) {
    const { expect = {} } = content;
    const expected = [expect.tool ?? [], (expect.calls ?? []).map(({ tool }) => tool)].flat(3);
    const listed = expected.map((one) => (names.has(one) ? one : (behind.get(one) ?? one)));
    for (const tool of new Set(listed.filter((one) => one !== "none" && one !== "any" && !names.has(one))))
      getOrAdd(dead, tool, () => []).push(name);
  }
  return [...dead].map(([tool, cases]) => ({ tool, cases }));
}

/** A value for each placeholder of the prompts, such as `my-resource-group`, to be replaced. */
function writeValues(cases: readonly CaseFile[]): Pick<SuiteFile, "values"> {
  const names = new Set(cases.flatMap(({ input }) => [input ?? []].flat()).flatMap(findNames));
  const values = [...names].map((name) => [name, `my-${name.toLowerCase().replace(/[ _.]+/g, "-")}`]);
  return values.length === 0 ? {} : { values: Object.fromEntries(values) };
}

const showLine = ({ file, line = 1 }: Location) => `${file}:${line}`;

/** The suite as YAML, with what was lost of a case in a comment above it, and cases that are left out at the end. */
function renderImport(suite: SuiteFile, cases: readonly ImportedCase[], sources: readonly string[]): string {
  const kept = cases.filter((one) => one.kind === "kept");
  // A number that JavaScript does not have is written with all its digits.
  const writeWhole = (_: unknown, value: Json) => (isMarked(value) ? BigInt(writeExactJson(value)) : value);
  const document = new Document(suite, writeWhole, { aliasDuplicateObjects: false });
  document.commentBefore = ` Written by \`evals import\` from ${some(sources)}.${suite.server ? "" : "\n Name the server: server: { command: ..., args: [...] }"}`;
  for (const [at, { losses, location }] of kept.entries()) {
    const item = document.getIn(["cases", at]);
    if (!isMap(item) || losses.length === 0) continue;
    const what = losses.map((one) => (one.detail ? `${one.what} (${one.detail})` : one.what));
    item.commentBefore = ` Not kept of ${showLine(location)}: ${[...new Set(what)].join("; ").replace(/\s+/g, " ")}`;
  }
  if (suite.values) document.commentBefore += "\n Replace the values with ones that your server knows.";
  const left = cases.flatMap((one) => {
    if (one.kind === "kept") return [];
    return ` ${showLine(one.location)} ${JSON.stringify(cut(one.name, 80))}: ${one.reason.replace(/\s+/g, " ")}`;
  });
  if (left.length > 0) document.comment = [" Left out:", ...left].join("\n");
  return document.toString({ lineWidth: 120 });
}

const number = z.number().int().min(0);
const lossShape = { what: z.string(), detail: z.string().exactOptional() };
const importedCaseSchema = z.object({
  name: z.string(),
  location: locationSchema,
  leftOut: z.string().exactOptional().describe("why it is in no suite"),
  losses: z.array(z.object(lossShape)).readonly().describe("what the suite could not keep from it"),
});

const importReportSchema = z.object({
  format: z.string(),
  written: z.string().exactOptional().describe("the suite; absent if no case was kept"),
  hasServer: z.boolean().describe("whether the suite names its server"),
  files: number,
  kept: number,
  cases: z.array(importedCaseSchema),
  losses: z.array(z.object({ ...lossShape, file: z.string() })).describe("what could not be kept from whole files"),
  isRunnable: z.boolean().exactOptional().describe("its files are TypeScript and were not run: --execute-source"),
  dead: z
    .array(z.object({ tool: z.string(), cases: z.array(z.string()) }))
    .describe("expected tools that are not in the list"),
});
export type ImportReport = z.infer<typeof importReportSchema>;

/** The output of `evals import --json`. */
export const importOutputSchema = z.object({ imports: z.array(importReportSchema) });

const maxItems = 12;

function importDocument(reports: readonly ImportReport[]): Block[] {
  return reports.flatMap(({ format, written, hasServer, files, kept, cases, losses, isRunnable, dead }) => {
    const left = cases.flatMap(({ leftOut, location }) => (leftOut === undefined ? [] : [{ what: leftOut, location }]));
    const lost = [
      ...cases.flatMap((one) =>
        one.leftOut === undefined ? one.losses.map(({ what }) => ({ what, location: one.location })) : [],
      ),
      ...losses.map(({ what, file }) => ({ what, location: { file } })),
    ];
    const share = `${integer(kept)} of ${count(cases.length, "case")}`;
    return [
      heading(1, [{ strong: share }, ` kept · ${format} · ${count(files, "file")}`]),
      text(
        written === undefined ? "No suite was written." : ["Wrote ", { code: written }, "."],
        isRunnable
          ? ["Next: if you trust these sources, run them with ", { code: "--execute-source" }, " to read their cases."]
          : written === undefined
            ? cases.length === 0
              ? "Next: check the path and `--from`: this file has no case in that format."
              : "Next: see below why no case could be kept."
            : [
                `Next: ${hasServer ? "" : "name the server in the suite (or repeat this with --server and --force), then "}run \`evals run ${written}\`.`,
              ],
      ),
      ...section("Left out", [countReasons("case", left)]),
      ...section("Not kept", [countReasons("part", lost)]),
      ...section("Expected tools that are not in the list", [
        table(
          "tool",
          makeColumns(["name", "tool"], ["figure", "cases"], ["text", "the first"]),
          dead.map((one) => [one.tool, integer(one.cases.length), { code: one.cases[0] ?? "", max: 60 }]),
          { max: maxItems },
        ),
      ]),
    ];
  });
}

function countReasons(noun: string, all: readonly { what: string; location: Location }[]): Block {
  const ranked = [...groupBy(all, ({ what }) => what)].sort(([, a], [, b]) => b.length - a.length);
  const items = ranked.map(([what, own]): Item => {
    const first = own.slice(0, 1).map(({ location }) => ["first at ", { code: showLine(location) }]);
    return { text: `${integer(own.length)}x ${what}`, items: first };
  });
  return list(noun, items, maxItems);
}

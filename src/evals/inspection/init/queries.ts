import { dirname, resolve } from "node:path";
import { labelCase } from "../../asking/scoring/labels.ts";
import { holdsSecret } from "../../base/secrets/secrets.ts";
import { printableLines, shellWord } from "../../base/text/display.ts";
import { type ExitCode, exitCodes, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import type { Suite } from "../../base/types/suite.ts";
import { isOwnTool, type Tool } from "../../base/types/tool.ts";
import { confusedPair } from "../../experiments/results/calls.ts";
import { Ranking } from "../../experiments/results/tally.ts";
import { selectSuites } from "../../experiments/workspace/suites.ts";
import { claimSuites, requireTrust } from "../../experiments/workspace/trust.ts";
import { pickSuite } from "../../experiments/workspace/workspace.ts";
import { realPath } from "../../input/parsing/folders.ts";
import { discoverSkills } from "../../input/skills/discover.ts";
import { readSkillEvals } from "../../input/skills/evals.ts";
import { discover } from "../../input/suites/discover.ts";
import { listRecords } from "../../records/find.ts";
import { readTrials } from "../../records/record.ts";
import { capital, count } from "../../reports/format.ts";
import { openSource } from "../../servers/source.ts";
import { type ConfusedTools, type DraftCase, draftCases, type KnownQuery } from "./draft.ts";
import { draftSkillCases, locateEvals } from "./skills.ts";
import { Drafts } from "./suite.ts";
import { draftFromTraffic } from "./traffic.ts";
import { type WriterOptions, writeQueries } from "./writer.ts";

export type QueriesOptions = Omit<WriterOptions, "writer"> & {
  path?: string | undefined;
  writer?: string | undefined;
  /** Files and folders with conversations of users, and texts to replace in them. */
  from?: string[] | undefined;
  replace?: string[] | undefined;
  acceptAll: boolean;
};

/**
 * `evals queries`: adds queries of a model (`--writer`) or of users (`--from`) to a suite, and has a person review each
 * one on the terminal. The suite lists those that nobody reviewed, and every later report counts them. Each decision is
 * written at once, so a review can be stopped, and goes on with the next call. Throws EvalsError.
 */
export async function queries(options: QueriesOptions, io: Io): Promise<ExitCode> {
  const { path, writer, from, replace, acceptAll } = options;
  if (from && writer !== undefined)
    throw usageError("--from takes the words of users, and --writer those of a model.", "Leave one of them out.");
  if (replace && !from)
    throw usageError("--replace is about the queries of --from.", "Name conversations with --from.");
  const unseen = "Review them on one, or add --accept-all: reports then say that nobody did.";
  if (!acceptAll && !io.prompts) throw usageError("There is no terminal to review queries on.", unseen);
  const { packages } = path === undefined ? { packages: [] } : await discover([path], io.cwd);
  const all = packages.length > 0 ? await openSkills(packages, options, io) : await openSuite(options, io);
  if (io.signal.aborted) {
    io.err(printableLines(`Stopped: ${all[0]?.file} has the queries so far. Repeat the command to go on.`));
    return io.signalExitCode();
  }
  for (const drafts of all) {
    const { file } = drafts;
    const open = drafts.listUnreviewed();
    const next = `evals queries ${shellWord(file)}`;
    const unreviewed = `${count(open.length, "query")} of ${file} that nobody reviewed. To do it: \`${next}\``;
    if (open.length > 0 && !acceptAll) {
      const code = await review(open, drafts, next, io);
      if (code !== exitCodes.passed) return code;
    } else io.out(printableLines(open.length > 0 ? unreviewed : `No draft is left in ${file}.`));
  }
  return exitCodes.passed;
}

/** The eval files of skills, with the queries that a model writes for each: those for it, and near misses of it. */
async function openSkills(packages: readonly string[], options: QueriesOptions, io: Io): Promise<Drafts[]> {
  if (options.from) throw usageError("--from finds the tools that were used, and no skills.", "Name a suite of tools.");
  const dirs = packages.map((path) => realPath(resolve(io.cwd, path)) ?? path);
  const roots = [...new Set(dirs.map((dir) => dirname(dir)))].map((dir) => ({ dir, level: "named" as const }));
  const { skills } = await discoverSkills(roots, { cwd: io.cwd });
  const own = skills.filter(({ dir }) => dirs.includes(dir));
  const files = new Map(own.map((skill) => [skill.name, new Drafts(locateEvals(skill), io)]));
  if (options.writer === undefined) return [...files.values()];
  const labels = new Map(skills.map(({ name }) => [skillEntryName(name), name]));
  const confused = await listConfused([...labels.keys()], labels, options.out, io);
  const known = await Promise.all(
    own.map(async (skill) => {
      const { evals } = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd });
      return evals.map(({ id = "", input, triggers }) => ({ id, input, tool: triggers ? skill.name : "none" }));
    }),
  );
  const written = await rewrite(
    own.flatMap((skill) => draftSkillCases(skill, skills, confused)).filter(({ input }) => !holdsSecret(input, io)),
    skills.map(({ name, description }) => ({ name, description, inputSchema: { type: "object" } })),
    { known: known.flat(), unreviewed: [...files.values()].flatMap((drafts) => drafts.listUnreviewed()) },
    options,
    io,
  );
  for (const [name, drafts] of files) await drafts.add(written.filter(({ skill }) => skill === name));
  return [...files.values()];
}

/** The suite that is named, has drafts or is the only one, with drafted cases; or the skills of the project. */
async function openSuite(options: QueriesOptions, io: Io): Promise<Drafts[]> {
  const { path, writer, from, replace = [] } = options;
  const { suites } = await selectSuites({ paths: path === undefined ? [] : [path] }, io);
  const folders = suites.map(({ file }) => dirname(dirname(file)));
  if (suites.every(({ name }) => name.startsWith(skillEntryName("")))) return await openSkills(folders, options, io);
  const isReview = path === undefined && writer === undefined && !from;
  const drafted = isReview ? suites.find(({ unreviewed = [] }) => unreviewed.length > 0) : undefined;
  const suite = drafted ?? pickSuite(suites, undefined);
  const drafts = new Drafts(suite.file, io);
  if (writer === undefined && !from) return [drafts];
  const isUsable = (line: string) => !holdsSecret(line, io);
  const tools = await listTools(suite, io);
  const known = suite.cases.map((one) => {
    return { id: one.id, input: one.messages.at(-1)?.content ?? "", tool: labelCase(one) };
  });
  if (from) {
    const { cases, report } = draftFromTraffic(from, tools, { names: replace, known, isUsable }, io);
    io.err(printableLines(report));
    await drafts.add(nameAnew(cases, known).map((one) => ({ ...one, by: "a user" })));
    return [drafts];
  }
  const labels = new Map(tools.map(({ name }) => [name, name]));
  const { cases } = draftCases(tools, isUsable, await listConfused([suite.name], labels, options.out, io));
  await drafts.add(await rewrite(cases, tools, { known, unreviewed: drafts.listUnreviewed() }, options, io));
  return [drafts];
}

/** The drafts as a model words them, beside what is known. Throws a usage error if the user refuses the cost. */
async function rewrite(
  cases: readonly DraftCase[],
  tools: readonly Tool[],
  { known, unreviewed }: { known: readonly (KnownQuery & { id: string })[]; unreviewed: readonly string[] },
  options: QueriesOptions,
  io: Io,
): Promise<DraftCase[]> {
  // A draft of `evals init` is written anew; one that a model wrote is reviewed first.
  const isGuess = ({ id, input }: DraftCase) => known.some((one) => one.id === id && one.input === input);
  const wanted = cases.filter((one) => !unreviewed.includes(one.id) || isGuess(one));
  const kept = known.filter(({ id }) => !unreviewed.includes(id) || !wanted.some((one) => one.id === id));
  const written = await writeQueries(wanted, tools, kept, { ...options, writer: options.writer ?? "" }, io);
  if (!written) throw usageError("Cancelled: nothing was written.");
  return nameAnew(written, kept);
}

/** Cases with ids that are not taken: `read_file-2`. */
function nameAnew(cases: readonly DraftCase[], known: readonly { id: string }[]): DraftCase[] {
  const taken = new Set(known.map(({ id }) => id));
  return cases.map((one) => {
    let id = one.id;
    for (let at = 2; taken.has(id); at++) id = `${one.id}-${at}`;
    taken.add(id);
    return { ...one, id };
  });
}

/** The tools that a case of a suite can expect: those of its server that call no others, and those of its catalog. */
async function listTools(suite: Suite, io: Io): Promise<readonly Tool[]> {
  const { file, dispatch = {} } = suite;
  if (!suite.server)
    throw usageError(`"${suite.name}" has no server, so no tools to draft queries for.`, "Name one.", { file });
  await requireTrust(await claimSuites([suite], io), io);
  const source = await openSource({ ...suite, elicits: false }, io);
  try {
    return source.tools.filter((tool) => isOwnTool(tool) && !Object.hasOwn(dispatch, tool.name));
  } finally {
    await source.close();
  }
}

/** Pairs that were mistaken for each other in the latest run, ranked. `labels`: names by those of the record. */
async function listConfused(suites: readonly string[], labels: ReadonlyMap<string, string>, out: string, io: Io) {
  for await (const { dir, manifest } of listRecords("run", resolve(io.cwd, out))) {
    if (!manifest.suites.some(({ name }) => suites.includes(name))) continue;
    const pairs = new Ranking<ConfusedTools>();
    for await (const trial of readTrials(dir, manifest.id)) {
      const { expected = "", picked = "" } = (suites.includes(trial.cell.suite) && confusedPair(trial)) || {};
      const [tool, avoid] = [labels.get(expected), labels.get(picked)];
      if (tool !== undefined && avoid !== undefined) pairs.add({ tool, avoid });
    }
    return pairs.ranked();
  }
  return [];
}

const decisions = ["keep", "edit", "drop"] as const;

/** Shows each draft and takes a decision. A cancelled prompt stops the review; one for a text leads back. */
async function review(ids: readonly string[], drafts: Drafts, next: string, io: Io): Promise<ExitCode> {
  const all = `${count(ids.length, "query")} of ${drafts.file} to review`;
  io.err(printableLines(`${all}. Ctrl-C stops, and keeps what is decided.`));
  const done = { keep: 0, edit: 0, drop: 0 };
  const choices = decisions.map((value) => ({ value, label: capital(value) }));
  for (let at = 0; at < ids.length; ) {
    const id = ids[at] ?? "";
    const { input, expects } = drafts.describe(id);
    io.err(printableLines("", `${at + 1} of ${ids.length}, ${expects}:`, `  ${input}`));
    const picked = await io.prompts?.select("This query", choices);
    const decision = decisions.find((one) => one === picked);
    if (decision === undefined) {
      io.err(printableLines(`${count(ids.length - at, "query")} left. To go on: \`${next}\``));
      return exitCodes.incomplete;
    }
    const edited = decision === "edit" ? await io.prompts?.text("The query", input) : input;
    if (!edited?.trim()) continue;
    await drafts.decide(id, decision === "drop" ? undefined : edited.trim());
    done[decision]++;
    at++;
  }
  io.out(printableLines(`Kept ${done.keep}, edited ${done.edit}, dropped ${done.drop}.`));
  return exitCodes.passed;
}

import { resolve } from "node:path";
import { type Document, isMap, isSeq, parseDocument, type YAMLMap } from "yaml";
import { labelCase } from "../../asking/scoring/userTurns.ts";
import { holdsSecret } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/text/display.ts";
import { type ExitCode, exitCodes, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Suite } from "../../base/types/suite.ts";
import { isOwnTool, type Tool } from "../../base/types/tool.ts";
import { confusedPair } from "../../experiments/results/calls.ts";
import { Ranking } from "../../experiments/results/tally.ts";
import { selectSuites } from "../../experiments/workspace/suites.ts";
import { claimSuites, requireTrust } from "../../experiments/workspace/trust.ts";
import { pickSuite } from "../../experiments/workspace/workspace.ts";
import { writeOutput } from "../../experiments/workspace/writeOutput.ts";
import { maxBytes, readNamed } from "../../input/parsing/read.ts";
import { listRecords } from "../../records/find.ts";
import { readTrials } from "../../records/record.ts";
import { count } from "../../reports/format.ts";
import { openSource } from "../../servers/source.ts";
import { shellWord } from "../shell.ts";
import { type ConfusedTools, type DraftCase, draftCases } from "./draft.ts";
import { addCases, printSuite } from "./suite.ts";
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
 * `evals queries`: adds queries of a model (`--writer`) or of users (`--from`) to a suite, and has a person review each one
 * on the terminal. The suite lists those that nobody reviewed, and every later report counts them. Each decision is written
 * at once, so a review can be stopped, and goes on with the next call. Throws EvalsError.
 */
export async function queries(options: QueriesOptions, io: Io): Promise<ExitCode> {
  const { path, writer, from, replace, acceptAll } = options;
  if (from && writer !== undefined)
    throw usageError("--from takes the words of users, and --writer those of a model.", "Leave one of them out.");
  if (replace && !from)
    throw usageError("--replace is about the queries of --from.", "Name conversations with --from.");
  if (!acceptAll && !io.prompts)
    throw usageError(
      "There is no terminal to review queries on.",
      "Review them on one, or add --accept-all: reports then say that nobody did.",
    );
  const suite = pickSuite((await selectSuites({ paths: path === undefined ? [] : [path] }, io)).suites, undefined);
  const drafts = new Drafts(suite.file, io);
  if (writer !== undefined || from) {
    const added = await draft(suite, drafts.listUnreviewed(), options, io);
    if (!added) throw usageError("Cancelled: nothing was written.");
    await drafts.add(added);
  }
  const open = drafts.listUnreviewed();
  const next = `evals queries ${shellWord(suite.file)}`;
  if (io.signal.aborted) {
    io.err(printableLines(`Stopped: ${suite.file} has the queries so far. Repeat the command to go on.`));
    return io.signalExitCode();
  }
  const unreviewed = `${count(open.length, "query")} of ${suite.file} that nobody reviewed`;
  if (open.length > 0 && !acceptAll) return await review(open, drafts, next, io);
  io.out(printableLines(open.length > 0 ? `${unreviewed}. To do it: ${next}` : `No draft is left in ${suite.file}.`));
  return exitCodes.passed;
}

/** Drafts cases for the tools of a suite. Undefined if the user does not agree to the cost. */
async function draft(
  suite: Suite,
  unreviewed: readonly string[],
  options: QueriesOptions,
  io: Io,
): Promise<readonly DraftCase[] | undefined> {
  const { writer, from, replace = [] } = options;
  const isUsable = (line: string) => !holdsSecret(line, io);
  const tools = await listTools(suite, io);
  const known = suite.cases.map((one) => {
    const input = one.turns?.[0]?.content ?? one.messages.at(-1)?.content ?? "";
    return { id: one.id, input, tool: labelCase(one) };
  });
  if (from) {
    const { cases, report } = draftFromTraffic(from, tools, { names: replace, known, isUsable }, io);
    io.err(printableLines(report));
    return nameAnew(cases, known).map((one) => ({ ...one, by: "a user" }));
  }
  const { cases } = draftCases(tools, isUsable, await listConfused(suite, tools, options.out, io));
  // A draft of `evals init` is written anew; one that a model wrote is reviewed first.
  const isGuess = ({ id, input }: DraftCase) => known.some((one) => one.id === id && one.input === input);
  const wanted = cases.filter((one) => !unreviewed.includes(one.id) || isGuess(one));
  const kept = known.filter(({ id }) => !unreviewed.includes(id) || !wanted.some((one) => one.id === id));
  const written = await writeQueries(wanted, tools, kept, { ...options, writer: writer ?? "" }, io);
  return written && nameAnew(written, kept);
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

/** The pairs of tools that a model took for each other in the latest run of a suite, the most frequent first. */
async function listConfused(suite: Suite, tools: readonly Tool[], out: string, io: Io): Promise<ConfusedTools[]> {
  const isTool = (label: string) => tools.some(({ name }) => name === label);
  for await (const { dir, manifest } of listRecords("run", resolve(io.cwd, out))) {
    if (!manifest.suites.some(({ name }) => name === suite.name)) continue;
    const pairs = new Ranking<ConfusedTools>();
    for await (const trial of readTrials(dir, manifest.id)) {
      const { expected = "", picked = "" } = (trial.cell.suite === suite.name && confusedPair(trial)) || {};
      if (isTool(expected) && isTool(picked)) pairs.add({ tool: expected, avoid: picked });
    }
    return pairs.ranked();
  }
  return [];
}

const decisions = ["keep", "edit", "drop"] as const;

/** Shows each draft and takes a decision. A cancelled prompt stops the review; of a text it goes back to the decision. */
async function review(ids: readonly string[], drafts: Drafts, next: string, io: Io): Promise<ExitCode> {
  io.err(printableLines(`${count(ids.length, "query")} to review. Ctrl-C stops, and keeps what is decided.`));
  const done = { keep: 0, edit: 0, drop: 0 };
  const choices = decisions.map((value) => ({ value, label: `${value[0]?.toUpperCase()}${value.slice(1)}` }));
  for (let at = 0; at < ids.length; ) {
    const id = ids[at] ?? "";
    const { input, expects } = drafts.describe(id);
    io.err(printableLines("", `${at + 1} of ${ids.length}, ${expects}:`, `  ${input}`));
    const picked = await io.prompts?.select("This query", choices);
    const decision = decisions.find((one) => one === picked);
    if (decision === undefined) {
      io.err(printableLines(`${count(ids.length - at, "query")} left. To go on: ${next}`));
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

/** The drafts in a suite file. Comments, and what is not about drafts, stay. */
class Drafts {
  readonly #document: Document;

  constructor(
    readonly file: string,
    readonly io: Io,
  ) {
    this.#document = parseDocument(readNamed(file, resolve(io.cwd, file), { limit: maxBytes }));
    if (!isSeq(this.#cases))
      throw usageError("Queries are drafted in suites of YAML or JSON alone.", "Name such a suite.", { file });
  }

  /** The ids of the cases that nobody reviewed, in the order of the suite. */
  listUnreviewed(): string[] {
    const listed = this.#document.toJS().unreviewed ?? [];
    return this.#items.map((item) => String(item.get("id"))).filter((id) => listed.includes(id));
  }

  /** The query of a case, and what it expects, as written. */
  describe(id: string): { input: string; expects: string } {
    const { input, expect = {} } = this.#find(id)?.toJSON() ?? {};
    const { tool, avoid } = expect;
    const expects = tool === "none" ? "needs no tool" : `expects ${[tool].flat().join(" or ")}`;
    return { input: [input].flat().join("\n"), expects: avoid === undefined ? expects : `${expects}, not ${avoid}` };
  }

  /** Adds drafts; one that has the id of a case replaces it. */
  async add(cases: readonly DraftCase[]): Promise<void> {
    const ids = cases.map(({ id }) => id);
    const open = [...this.listUnreviewed(), ...ids];
    for (const id of ids) this.#remove(id);
    addCases(this.#document, cases);
    await this.#save(open);
  }

  /** Settles a draft: with this query, or dropped. */
  async decide(id: string, input: string | undefined): Promise<void> {
    if (input === undefined) this.#remove(id);
    else if (input !== this.describe(id).input) this.#find(id)?.set("input", input);
    await this.#save(this.listUnreviewed().filter((one) => one !== id));
  }

  get #cases() {
    return this.#document.get("cases") ?? this.#document.get("evals");
  }

  get #items(): YAMLMap[] {
    return isSeq(this.#cases) ? this.#cases.items.filter(isMap) : [];
  }

  #find(id: string): YAMLMap | undefined {
    return this.#items.find((item) => item.get("id") === id);
  }

  #remove(id: string): void {
    const found = this.#find(id);
    if (isSeq(this.#cases)) this.#cases.items = this.#cases.items.filter((item) => item !== found);
  }

  async #save(unreviewed: readonly string[]): Promise<void> {
    const ids = [...new Set(unreviewed)];
    if (ids.length > 0) this.#document.set("unreviewed", this.#document.createNode(ids, { flow: true }));
    else this.#document.delete("unreviewed");
    const isJson = this.file.endsWith(".json");
    const text = isJson ? `${JSON.stringify(this.#document.toJS(), null, 2)}\n` : printSuite(this.#document);
    // A secret that the user's own text has is no business of a review.
    await writeOutput(resolve(this.io.cwd, this.file), text, { env: {} });
  }
}

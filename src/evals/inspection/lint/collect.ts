import { relative, resolve } from "node:path";
import { formatJsonPath } from "../../base/jsonSchema/walk.ts";
import { EvalsError, exitCodes, type Location, type Problem, usageError } from "../../base/types/errors.ts";
import type { FindingLocation, LintReport, Settings } from "../../base/types/finding.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type JsonObject, type Path } from "../../base/types/json.ts";
import type { Suite } from "../../base/types/suite.ts";
import { isUnavailable, suggestDoctor } from "../../experiments/workspace/cases.ts";
import { readParsed } from "../../input/parsing/read.ts";
import { readBaseline } from "../../records/baseline.ts";
import { listBaselineTools } from "../../servers/changes/changes.ts";
import { listEffects } from "../../servers/changes/tools.ts";
import { hostNames } from "../../servers/host.ts";
import { readListFile } from "../../servers/toolList.ts";
import { describeRegistration, type Registration } from "../conventions.ts";
import { locateSettings, mergeSettings } from "../findings.ts";
import type { Source, SuiteTarget } from "../targets.ts";
import { listSource } from "../tools.ts";
import { listNames, readText } from "./language.ts";
import type { LintSubject, LintSubjectOf } from "./rule.ts";

/** The subjects to lint, problems that kept something from being linted, and warnings. */
export type Collected = {
  subjects?: readonly LintSubject[];
  problems?: readonly Problem[];
  warnings?: readonly Problem[];
};

/** What every collector needs. `settings` apply to all subjects, in order of precedence. */
export type CollectContext = { io: Io; settings: readonly Settings[] };

export function joinCollected(parts: readonly Collected[]): { [K in keyof Collected]-?: NonNullable<Collected[K]> } {
  return {
    subjects: parts.flatMap(({ subjects = [] }) => subjects),
    problems: parts.flatMap(({ problems = [] }) => problems),
    warnings: parts.flatMap(({ warnings = [] }) => warnings),
  };
}

/** The problems of a target that could not be linted, which does not stop the others. */
export function collectFailure({ problems }: EvalsError, location?: Location): Collected {
  return { problems: problems.map((problem) => ({ ...(location && { location }), ...problem })) };
}

type PlacedSuite = { suite: Suite; own: Settings; location(path: Path): Location };

/**
 * The suites of a target, and the tools of its server or list, to which the settings of all these suites apply. Tools
 * are taken as sent, even if clients would reject the list. If a server cannot be listed, that is a problem, and its
 * suites are still linted. Throws EvalsError for mistakes in files.
 */
export async function collectTools(target: Source | SuiteTarget, context: CollectContext): Promise<Collected> {
  const { io } = context;
  const given = target.kind === "suite" ? [target.suite] : target.suites;
  const placed = given.map(async (suite): Promise<PlacedSuite> => {
    const { location } = await readParsed(resolve(io.cwd, suite.file), suite.file);
    return { suite, own: locateSettings(suite.lint ?? {}, (path) => location(["lint", ...path])), location };
  });
  const suites = await Promise.all(placed);
  if (target.kind === "suite") return { subjects: describeSuites(suites, context) };
  const registration = target.kind === "server" && suites.length === 0 ? target.registration : undefined;
  const via = registration ? registration.host.location([registration.name]) : suites[0]?.location(["server"]);
  const entry = registration ? [describeEntry(registration, context)] : [];
  try {
    const { name: server, warnings, ...listed } = await listSource(target, io);
    const own = suites.map((suite) => suite.own);
    const settings = mergeSettings(context.settings, own);
    const list = describeToolList({ server, ...listed, settings, ...(target.kind === "server" && via && { via }) });
    const tools = list.problems.length === 0 ? list.tools : undefined;
    return { ...list, subjects: [...entry, ...describeSuites(suites, context, tools), ...list.subjects], warnings };
  } catch (error) {
    // What is wrong with an entry is reported by the rules for entries.
    const isReported = error instanceof EvalsError && (error.exitCode !== exitCodes.usage || registration);
    if (!isReported || target.kind !== "server") throw error;
    const failure = isUnavailable(error) ? suggestDoctor(error, target.flags) : error;
    return { ...collectFailure(failure, via), subjects: [...entry, ...describeSuites(suites, context)] };
  }
}

/** `listed`: the tools of their server, if known. */
function describeSuites(suites: readonly PlacedSuite[], { settings }: CollectContext, listed?: readonly JsonObject[]) {
  return suites.map(
    ({ suite, own, location }): LintSubject => ({
      kind: "suites",
      subject: { suite, ...(listed && { listed }) },
      names: [],
      settings: mergeSettings(settings, [own]),
      where: (at) => ({ path: formatJsonPath(at), ...(locateCase("cases", suite.cases, at) ?? location(at)) }),
    }),
  );
}

/** The place of the case that a path leads into; undefined if it leads elsewhere. */
export const locateCase = (list: string, cases: readonly { location?: Location }[], [key, index]: Path) =>
  key === list && typeof index === "number" ? cases[index]?.location : undefined;

function describeEntry(registration: Registration, { io, settings }: CollectContext): LintSubject {
  const { host, name } = registration;
  return {
    kind: "host entries",
    subject: describeRegistration(registration, io),
    names: [name],
    settings,
    where: (at) => ({ server: name, path: formatJsonPath(at), ...host.location([name, ...at]) }),
  };
}

type RawList = {
  server: string;
  /** As listed, unchecked. */
  items: readonly unknown[];
  instructions?: string | undefined;
  settings: readonly Settings[];
  /** The suite or host configuration that names the server. */
  via?: Location;
  /** The place of a value, for a list in a file. Paths start with the index of an item. */
  location?(path: Path): Location;
};

/** The subjects of a list: each tool, and the list as a whole. Items that are not objects are problems. */
export function describeToolList({ server, items, instructions, settings, via, location }: RawList) {
  const makeProblem = (message: string, hint: string, at = via): Problem => {
    return { severity: "error", message, hint, ...(at && { location: at }) };
  };
  if (items.length === 0) {
    const problem = makeProblem(`"${server}" lists no tools.`, "Check that it is the right server or file.");
    return { subjects: [], problems: [problem], tools: [] };
  }
  const found = items.flatMap((item, index) => (isJsonObject(item) ? [{ tool: item, index }] : []));
  const problems = items.flatMap((item, index) => {
    const message = `Item ${index + 1} of the list${location ? "" : ` of "${server}"`} is not a tool.`;
    const hint = "A tool is an object with a name, a description and an inputSchema.";
    return isJsonObject(item) ? [] : [makeProblem(message, hint, location?.([index]))];
  });
  const tools = found.map(({ tool }) => tool);
  const where = (at: Path): FindingLocation => {
    const [first, ...inside] = at;
    const one = typeof first === "number" ? found[first] : undefined;
    const [tool] = one ? listNames([one.tool]) : [];
    const path = formatJsonPath(tool === undefined ? at : inside);
    const inFile = location?.(one ? [one.index, ...inside] : []);
    return { server, ...(tool !== undefined && { tool }), path, ...inFile, ...(via && { via }) };
  };
  const list = { server, tools, ...(instructions !== undefined && { instructions }) };
  const names = new Set(listNames(tools));
  const subjects = tools.map((tool, index): LintSubject => {
    const subject = { server, tool, names, shownName: findLongestName(server, readText(tool.name)) };
    return { kind: "tools", subject, names: listNames([tool]), settings, where: (at) => where([index, ...at]) };
  });
  const whole: LintSubject = { kind: "toolsets", subject: list, names: [...names], settings, where };
  return { subjects: [...subjects, whole], problems, tools };
}

/** The longest name under which a known host shows a tool. */
function findLongestName(server: string, name: string): string {
  const shown = Object.values(hostNames).map((nameTool) => nameTool(server, name));
  return shown.reduce((longest, one) => (one.length > longest.length ? one : longest), name);
}

/** A subject for the versioning rules, and every change since the list in a file. Throws EvalsError. */
export async function compareVersions(
  file: string,
  lists: readonly LintSubjectOf<"toolsets">[],
  io: Io,
): Promise<{ subject: LintSubject; changes: NonNullable<LintReport["changes"]> }> {
  const [list, ...more] = lists;
  if (!list || more.length > 0)
    throw usageError(
      `--against needs exactly one tool list, but ${lists.length} are linted.`,
      "Name one server or list with --server, --url or --tools, or one suite.",
    );
  const older = await readOlder(file, io);
  const { server, tools } = list.subject;
  const compared: LintSubject = {
    kind: "versions",
    subject: { before: older.tools, after: tools },
    names: [...new Set([...tools, ...older.tools].map(({ name }) => String(name)))],
    settings: list.settings,
    where: ([tool = "", ...inside]) => {
      const now = tools.findIndex((one) => one.name === tool);
      if (now !== -1) return list.where([now, ...inside]);
      return { server, tool: String(tool), path: formatJsonPath(inside), ...older.location(tool, inside) };
    },
  };
  const changes = listEffects(older.tools, tools).map((effect) => ({ ...effect, path: [...effect.path] }));
  return { subject: compared, changes };
}

/** The earlier list, and the place of a value of a tool in its file. */
async function readOlder(file: string, io: Io) {
  const path = resolve(io.cwd, file);
  const shown = relative(io.cwd, path) || ".";
  const { value, location } = await readParsed(path, shown, { lenient: true });
  const baseline = isJsonObject(value) && "toolsets" in value ? await readBaseline(path) : undefined;
  if (baseline) return { tools: listBaselineTools(baseline), location: () => location(["toolsets"]) };
  const list = await readListFile(path, shown);
  const at = (name: Path[number]) => list.items.findIndex((item) => isJsonObject(item) && item.name === name);
  const locate = (tool: Path[number], inside: Path) => list.location([at(tool), ...inside]);
  return { tools: list.items.filter(isJsonObject), location: locate };
}

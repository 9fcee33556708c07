import { resolve } from "node:path";
import { formatJsonPath } from "../../base/jsonSchema/walk.ts";
import { EvalsError, exitCodes, type Place, type Problem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Path } from "../../base/types/json.ts";
import type { Settings } from "../../base/types/lint.ts";
import type { Suite } from "../../base/types/suite.ts";
import { isUnavailable, suggestDoctor } from "../../experiments/workspace/servers.ts";
import { readParsed } from "../../input/parsing/read.ts";
import { describeRegistration } from "../conventions.ts";
import { mergeSettings, placeSettings } from "../settings.ts";
import type { ServerTarget, SuiteTarget, ToolListTarget } from "../targets.ts";
import { listServer } from "../tools.ts";
import type { LintSubject } from "./rule.ts";
import { describeToolList, readToolList, type ToolList } from "./toolSubjects.ts";

/** The subjects to lint, problems that kept something from being linted, and warnings. */
export type Collected = { subjects: LintSubject[]; problems: Problem[]; warnings: Problem[] };

/** What every collector needs. `settings` apply to all subjects, in order of precedence. */
export type CollectContext = { io: Io; settings: readonly Settings[] };

export const nothing: Collected = { subjects: [], problems: [], warnings: [] };

export function joinCollected(parts: readonly Collected[]): Collected {
  return {
    subjects: parts.flatMap(({ subjects }) => subjects),
    problems: parts.flatMap(({ problems }) => problems),
    warnings: parts.flatMap(({ warnings }) => warnings),
  };
}

/** The problems of a target that could not be linted, which does not stop the others. */
export function collectFailure({ problems }: EvalsError, place?: Place): Collected {
  return { ...nothing, problems: problems.map((problem) => ({ ...(place && { place }), ...problem })) };
}

type PlacedSuite = { suite: Suite; own: Settings; place(path: Path): Place };

/**
 * The suites of a target, and the tools of its server or list, to which the settings of all these suites apply. Tools are
 * taken as sent, even if clients would reject the list. If a server cannot be listed, that is a problem, and its suites
 * are still linted. Throws EvalsError for mistakes in files.
 */
export async function collectTools(target: ServerTarget | ToolListTarget, context: CollectContext): Promise<Collected> {
  const { io } = context;
  const suites = await Promise.all(target.suites.map((suite) => placeSuite(suite, io)));
  const settings = mergeSettings(
    context.settings,
    suites.map(({ own }) => own),
  );
  if (target.kind === "tool list") {
    const { names, tools, ...list } = await readToolList(target.file, { settings, hasSuites: suites.length > 0 }, io);
    return joinCollected([
      collectSuites(suites, context, list.problems.length === 0 ? { names, tools } : undefined),
      { ...nothing, ...list },
    ]);
  }
  const { registration } = target;
  const via =
    registration && suites.length === 0 ? registration.host.place([registration.name]) : suites[0]?.place(["server"]);
  const entry = registration && suites.length === 0 ? [describeEntry(registration, context)] : [];
  try {
    const { name: server, warnings, ...listed } = await listServer(target, io);
    const { names, tools, ...list } = describeToolList({
      server,
      ...listed,
      settings,
      hasSuites: suites.length > 0,
      ...(via && { via }),
    });
    const known = list.problems.length === 0 ? { names, tools } : undefined;
    return joinCollected([
      { ...nothing, subjects: entry },
      collectSuites(suites, context, known),
      { ...list, warnings: [...warnings] },
    ]);
  } catch (error) {
    // What is wrong with an entry is reported by the rules for entries.
    if (!(error instanceof EvalsError) || (error.exitCode === exitCodes.usage && !registration)) throw error;
    const failure = isUnavailable(error) ? suggestDoctor(error, target.flags) : error;
    return joinCollected([
      { ...nothing, subjects: entry },
      collectSuites(suites, context),
      collectFailure(failure, via),
    ]);
  }
}

/** A suite without a server. */
export async function collectSuite({ suite }: SuiteTarget, context: CollectContext): Promise<Collected> {
  return collectSuites([await placeSuite(suite, context.io)], context);
}

async function placeSuite(suite: Suite, io: Io): Promise<PlacedSuite> {
  const { place } = await readParsed(resolve(io.cwd, suite.file), suite.file);
  const own = placeSettings(suite.lint ?? {}, (path) => place(["lint", ...path]));
  return { suite, own, place };
}

/** The subjects for suites. `list`: the tools of their server, if known. */
function collectSuites(
  suites: readonly PlacedSuite[],
  { settings }: CollectContext,
  list?: Pick<ToolList, "names" | "tools">,
): Collected {
  const subjects = suites.map(({ suite, own, place }): LintSubject => {
    return {
      kind: "suites",
      subject: { suite, ...(list && { tools: list.names, listed: list.tools }) },
      names: [],
      settings: mergeSettings(settings, [own]),
      where: (at) => {
        const [key, index] = at;
        const ofCase = key === "cases" && typeof index === "number" ? suite.cases[index]?.place : undefined;
        return { path: formatJsonPath(at), ...(ofCase ?? place(at)) };
      },
    };
  });
  return { ...nothing, subjects };
}

function describeEntry(
  registration: NonNullable<ServerTarget["registration"]>,
  { io, settings }: CollectContext,
): LintSubject {
  const { host, name } = registration;
  return {
    kind: "host entries",
    subject: describeRegistration(registration, io),
    names: [name],
    settings,
    where: (at) => ({ server: name, path: formatJsonPath(at), ...host.place([name, ...at]) }),
  };
}

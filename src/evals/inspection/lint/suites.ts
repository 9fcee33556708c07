import { relative, resolve } from "node:path";
import type { Place } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { Path } from "../../jsonSchema/paths.ts";
import { jsonPath } from "../../jsonSchema/paths.ts";
import type { Settings, Target } from "../../lint/rule.ts";
import { readParsed } from "../../parsing/read.ts";
import { loadSuites } from "../../suites/load.ts";
import type { ServerSpec, Suite } from "../../types/suite.ts";
import { isUnavailable } from "../../workspace/servers.ts";
import { type Gathered, type Gathering, missing, nothing, together } from "./gathered.ts";
import { liveTools } from "./live.ts";
import { placed } from "./settings.ts";
import { fileTools, type Listed } from "./tools.ts";

/** A suite with its own settings and the places of its values. */
type Read = { suite: Suite; own: Settings; place(path: Path): Place };

/**
 * The suites of these files, and the tools of their servers, each server once: what its suites settle holds for it
 * together. Distractors are not linted: they are others' tools. Throws EvalsError for what is wrong with the files.
 */
export async function suiteTargets(files: readonly string[], { io, settings }: Gathering): Promise<Gathered> {
  const { suites, warnings } = await loadSuites(files, { cwd: io.cwd });
  const read = await Promise.all(suites.map((suite) => readSuite(suite, io)));
  const parts = await Promise.all(
    byServer(read).map(async (group) => {
      const [first] = group;
      const listed = first?.suite.server ? await listServer(group, first.suite.server, { io, settings }) : undefined;
      const names = listed && listed.gathered.problems.length === 0 ? { tools: listed.names } : {};
      return together([
        ...group.map((one) => ({ ...nothing, targets: [suiteTarget(one, names, settings)] })),
        ...(listed ? [listed.gathered] : []),
      ]);
    }),
  );
  return together([{ ...nothing, warnings }, ...parts]);
}

async function readSuite(suite: Suite, io: Io): Promise<Read> {
  const { place } = await readParsed(resolve(io.cwd, suite.file), suite.file);
  const own = placed(suite.lint ?? {}, (path) => place(["lint", ...path]));
  return { suite, own, place };
}

/** What the flags say goes before what suites say, and the project's file last. */
function between([flags = {}, ...project]: readonly Settings[], own: readonly Settings[]): Settings[] {
  return [flags, ...own, ...project];
}

/** Suites of one and the same server together, in the order of the first of each. */
function byServer(read: readonly Read[]): Read[][] {
  const groups = new Map<string, Read[]>();
  for (const one of read) {
    const { server, dir, name } = one.suite;
    const key = server ? JSON.stringify([server, dir]) : JSON.stringify(name);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

/** The tools of the suites' server. One that is not to be had is a problem; the suites are linted all the same. */
async function listServer(
  group: readonly Read[],
  server: ServerSpec,
  { io, settings: common }: Gathering,
): Promise<Listed> {
  const settings = between(
    common,
    group.map(({ own }) => own),
  );
  const [first] = group;
  const via = first?.place(["server"]);
  const dir = first?.suite.dir ?? io.cwd;
  if ("tools" in server) return fileTools(relative(io.cwd, resolve(dir, server.tools)), settings, io);
  try {
    return await liveTools(server, { dir, settings, io, ...(via && { via }) });
  } catch (error) {
    if (isUnavailable(error)) return { names: [], gathered: missing(error, via) };
    throw error;
  }
}

function suiteTarget(
  { suite, own, place }: Read,
  names: { tools?: readonly string[] },
  common: readonly Settings[],
): Target {
  return {
    kind: "suites",
    subject: { suite, ...names },
    names: [],
    settings: between(common, [own]),
    where: (at) => {
      const [key, index] = at;
      const one = key === "cases" && typeof index === "number" ? suite.cases[index]?.place : undefined;
      return { path: jsonPath(at), ...(one ?? place(at)) };
    },
  };
}

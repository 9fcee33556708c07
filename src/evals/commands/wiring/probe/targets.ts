import { dirname, resolve } from "node:path";
import { type Problem, usageError } from "../../../errors.ts";
import { discover } from "../../../suites/discover.ts";
import { loadSuites } from "../../../suites/load.ts";
import { readLocated } from "../../../toolsets/located.ts";
import { isJsonObject } from "../../../types/json.ts";
import type { ExecutionPolicy, ServerSpec, Suite } from "../../../types/suite.ts";
import type { Io } from "../../io.ts";
import { defaultTimeout, type ProbeFlags } from "../../probe.ts";
import { commandSpec } from "../lint/commandLine.ts";

/** A server to be probed. `flags` name it on the command line, for a command that calls it again. */
export type Target = {
  spec: Exclude<ServerSpec, { tools: string }>;
  dir: string;
  flags: string;
  execute: ExecutionPolicy;
};

/** Every server that the flags name; without a flag that names one, those of the suites under `evals/`. */
export async function targetsOf(flags: ProbeFlags, io: Io): Promise<{ targets: Target[]; warnings: Problem[] }> {
  const { paths = [], server = [], url = [], config = [], name, execute } = flags;
  if (name && config.length === 0)
    throw usageError("--name picks servers of a host's file", "Give the file with --config.");
  const named = server.length + url.length + config.length > 0;
  const given = (spec: Target["spec"], words: string, dir = io.cwd): Target => ({
    spec: { ...spec, callTimeoutMs: flags.timeout * 1000 },
    dir,
    flags: words + limitsOf(flags),
    execute: execute ?? "safe",
  });
  const configured = config.map(async (file) =>
    (await namesIn(file, name, io)).map((one) =>
      given(
        { config: resolve(io.cwd, file), name: one },
        `--config ${quoted(file)} --name ${quoted(one)}`,
        dirname(resolve(io.cwd, file)),
      ),
    ),
  );
  const suites = paths.length > 0 || !named ? await ofSuites(paths, flags, io) : { targets: [], warnings: [] };
  const targets = [
    ...suites.targets,
    ...server.map((line) => given(commandSpec(line), `--server ${quoted(line)}`)),
    ...url.map((one) => given({ url: one }, `--url ${quoted(one)}`)),
    ...(await Promise.all(configured)).flat(),
  ];
  return { targets, warnings: suites.warnings };
}

/** The flags that decide what a call may do and how long it may take, where they were given. */
function limitsOf({ execute, timeout }: ProbeFlags): string {
  return `${execute ? ` --execute ${execute}` : ""}${timeout === defaultTimeout ? "" : ` --timeout ${timeout}`}`;
}

/** A word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w./:@=+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The live servers of suites, each once for the same policy. */
async function ofSuites(paths: readonly string[], flags: ProbeFlags, io: Io) {
  const { files } = await discover(paths, io.cwd);
  const { suites } = await loadSuites(files, { cwd: io.cwd, lints: true });
  const targets = new Map<string, Target>();
  const warnings: Problem[] = [];
  for (const suite of suites) {
    const target = ofSuite(suite, flags);
    if (target) targets.set(JSON.stringify([target.spec, target.dir, target.execute]), target);
    else
      warnings.push({
        severity: "warning",
        message: "this suite has no server whose tools could be called",
        hint: "A static list and skills alone cannot be probed.",
        place: { file: suite.file },
      });
  }
  if (targets.size === 0)
    throw usageError(
      `no server to probe under ${paths.join(", ") || "evals/"}`,
      'Name one: evals probe --server "node dist/main.js", --url, --config, or a suite with a server.',
    );
  return { targets: [...targets.values()], warnings };
}

function ofSuite({ server, dir, file, execute }: Suite, flags: ProbeFlags): Target | undefined {
  if (!server || "tools" in server) return undefined;
  const callTimeoutMs = flags.timeout * 1000;
  return {
    spec: { ...server, callTimeoutMs },
    dir,
    flags: quoted(file) + limitsOf(flags),
    execute: flags.execute ?? execute,
  };
}

async function namesIn(file: string, wanted: readonly string[] | undefined, io: Io): Promise<string[]> {
  const { value, place } = await readLocated(resolve(io.cwd, file));
  const root = isJsonObject(value) ? value : {};
  const servers = [root.mcpServers, root.servers].find(isJsonObject) ?? {};
  const names = Object.keys(servers).filter((one) => wanted?.includes(one) ?? true);
  if (names.length > 0) return names;
  throw usageError(
    wanted ? `no server ${wanted.join(", ")} is registered here` : "no servers are registered here",
    'Write { "mcpServers": { "<name>": { "command": "...", "args": [] } } }.',
    { ...place([]), file },
  );
}

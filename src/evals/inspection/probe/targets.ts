import { type Problem, usageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { discover } from "../../suites/discover.ts";
import { loadSuites } from "../../suites/load.ts";
import type { Severity } from "../../types/lint.ts";
import type { ExecutionPolicy, ServerSpec, Suite } from "../../types/suite.ts";
import { type HostFile, readHostFile } from "../hostFile.ts";
import { commandSpec } from "../lint/commandLine.ts";
import { shellWord } from "../shell.ts";

/** The options of `evals probe`. `timeout` is in seconds. */
export type ProbeOptions = {
  paths?: string[] | undefined;
  server?: string[] | undefined;
  url?: string[] | undefined;
  config?: string[] | undefined;
  name?: string[] | undefined;
  tool?: string[] | undefined;
  execute?: ExecutionPolicy | undefined;
  runs: number;
  seed?: number | undefined;
  timeout: number;
  maxCalls: number;
  call?: string[] | undefined;
  failOn: Severity;
  json: boolean;
};

/** The default of `timeout`. */
const defaultTimeout = 10;

/** A server to be probed. `flags` name it on the command line, for a command that calls it again. */
export type ProbeTarget = {
  spec: Exclude<ServerSpec, { tools: string }>;
  dir: string;
  flags: string;
  execute: ExecutionPolicy;
};

/** Every server that the flags name; without a flag that names one, those of the suites under `evals/`. */
export async function listProbeTargets(
  flags: ProbeOptions,
  io: Io,
): Promise<{ targets: ProbeTarget[]; warnings: Problem[] }> {
  const { paths = [], server = [], url = [], config = [], name, execute } = flags;
  if (name && config.length === 0)
    throw usageError("--name picks servers of a host's file", "Give the file with --config.");
  const named = server.length + url.length + config.length > 0;
  const given = (spec: ProbeTarget["spec"], words: string, dir = io.cwd): ProbeTarget => ({
    spec: { ...spec, callTimeoutMs: flags.timeout * 1000 },
    dir,
    flags: words + limitsOf(flags),
    execute: execute ?? "safe",
  });
  const configured = namedIn(await Promise.all(config.map((file) => readHostFile(file, io))), name);
  const suites = paths.length > 0 || !named ? await ofSuites(paths, flags, io) : { targets: [], warnings: [] };
  const targets = [
    ...suites.targets,
    ...server.map((line) => given(commandSpec(line), `--server ${shellWord(line)}`)),
    ...url.map((one) => given({ url: one }, `--url ${shellWord(one)}`)),
    ...configured.map(({ file, path, dir, one }) =>
      given({ config: path, name: one }, `--config ${shellWord(file)} --name ${shellWord(one)}`, dir),
    ),
  ];
  return { targets, warnings: suites.warnings };
}

/** The flags that decide what a call may do and how long it may take, where they were given. */
function limitsOf({ execute, timeout }: ProbeOptions): string {
  return `${execute ? ` --execute ${execute}` : ""}${timeout === defaultTimeout ? "" : ` --timeout ${timeout}`}`;
}

/** The live servers of suites, each once for the same policy. */
async function ofSuites(paths: readonly string[], flags: ProbeOptions, io: Io) {
  const { files } = await discover(paths, io.cwd);
  const { suites } = await loadSuites(files, { cwd: io.cwd });
  const targets = new Map<string, ProbeTarget>();
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

function ofSuite({ server, dir, file, execute }: Suite, flags: ProbeOptions): ProbeTarget | undefined {
  if (!server || "tools" in server) return undefined;
  const callTimeoutMs = flags.timeout * 1000;
  return {
    spec: { ...server, callTimeoutMs },
    dir,
    flags: shellWord(file) + limitsOf(flags),
    execute: flags.execute ?? execute,
  };
}

/** Every server of hosts' files, or those of the wanted names, each of which has to be in one of them. */
function namedIn(files: readonly HostFile[], wanted: readonly string[] | undefined) {
  const all = files.flatMap(({ entries, ...file }) => entries.map(([one]) => ({ ...file, one })));
  const missing = wanted?.filter((name) => !all.some(({ one }) => one === name)) ?? [];
  if (missing.length === 0) return all.filter(({ one }) => wanted?.includes(one) ?? true);
  throw usageError(
    `no server ${missing.join(", ")} is registered in ${files.map(({ file }) => file).join(", ")}`,
    `There are: ${all.map(({ one }) => one).join(", ")}.`,
  );
}

import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { DoctorFlags } from "../../commands/doctor.ts";
import type { ServerFacts } from "../../diagnosis/diagnose.ts";
import { EvalsError, usageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { registrationRules } from "../../lint/rules/registration.ts";
import { discover } from "../../suites/discover.ts";
import { loadSuites } from "../../suites/load.ts";
import { expandVariables, type LiveSpec, readHostServer } from "../../toolsets/spec.ts";
import { canonicalJson, type Json } from "../../types/json.ts";
import type { ServerSpec } from "../../types/suite.ts";
import { readHostFile } from "../hostFile.ts";
import { commandSpec } from "../lint/commandLine.ts";
import { callFlag, shellWord } from "../shell.ts";
import { shownUrl } from "./shown.ts";

/** A server to be examined. Without `spec` its entry cannot be read, and `entry` says why. */
export type Patient = {
  name: string;
  via?: string;
  /** How this program is told to look at its list, and to call it, where it can be. */
  commands: Partial<Omit<ServerFacts["show"], "direct">>;
  spec?: LiveSpec;
  /** As it is written, its variables not filled in: their values may be secrets. */
  shown?: LiveSpec;
  dir: string;
  entry: ServerFacts["entry"];
};

/** Every server that the flags name, each once. Throws EvalsError when there is none. */
export async function patientsOf(flags: DoctorFlags, io: Io): Promise<Patient[]> {
  const { paths = [], server = [], url = [], config = [], transport } = flags;
  const named = server.length + url.length + config.length > 0;
  const found = [
    ...server.map((line) => written(line, commandSpec(line), io.cwd, io, again(`--server ${shellWord(line)}`))),
    ...url.map((one) => {
      // Neither of these commands takes a transport, and what may be a secret in a URL is not printed.
      const commands = transport === "http" && shownUrl(one) === one ? again(`--url ${shellWord(one)}`) : {};
      return written(shownUrl(one), { url: one, transport }, io.cwd, io, commands);
    }),
    ...(await Promise.all(config.map((file) => ofConfig(file, io)))).flat(),
    ...(paths.length > 0 || !named ? await ofSuites(paths, io) : []),
  ];
  if (found.length > 0) return found;
  throw usageError(
    "there is no server to examine",
    "Name one with --server, --url or --config, or give a suite that has one.",
  );
}

/** `one` names this server alone, `all` may name others too. */
function again(one: string, all = one): Required<Patient["commands"]> {
  return { lint: `evals lint ${all}`, call: (tool) => `evals probe ${one} ${callFlag(tool, {})}` };
}

function written(name: string, spec: LiveSpec, dir: string, io: Io, commands: Patient["commands"]): Patient {
  const filled = expandVariables<LiveSpec>(spec, io.env, name);
  const entry = filled.warnings.map(({ message, hint = "" }) => {
    return { id: "unset-variable", severity: "warning" as const, message: `${message}.`, fix: hint };
  });
  return { name, commands, spec: filled.spec, shown: spec, dir, entry };
}

/** The servers of suites, also those of their distractors. A static list is no server. */
async function ofSuites(paths: readonly string[], io: Io): Promise<Patient[]> {
  const { files } = await discover(paths, io.cwd);
  const { suites } = await loadSuites(files, { cwd: io.cwd });
  const seen = new Set<string>();
  const found: Patient[] = [];
  for (const { name, file, dir, server, distractors } of suites)
    for (const [at, one] of [server, ...distractors].entries()) {
      const key = canonicalJson([dir, JSON.parse(JSON.stringify(one ?? null)) as Json]);
      if (!one || "tools" in one || seen.has(key)) continue;
      seen.add(key);
      const { lint, call } = again(shellWord(file));
      // Distractors are listed, and never called.
      const suite = {
        file,
        dir,
        ...(at === 0 ? { name, commands: { lint, call } } : { name: `${name}, distractor ${at}`, commands: { lint } }),
      };
      found.push(await ofSuite(one, suite, io));
    }
  return found;
}

type Suited = { name: string; file: string; dir: string; commands: Patient["commands"] };

async function ofSuite(server: Exclude<ServerSpec, { tools: string }>, suite: Suited, io: Io): Promise<Patient> {
  const via = { via: suite.file, commands: suite.commands };
  if (!("config" in server)) return { ...written(suite.name, server, suite.dir, io, suite.commands), ...via };
  const all = await ofConfig(resolve(suite.dir, server.config), io);
  const one = all.find(({ name }) => name === server.name);
  const { startTimeoutMs } = server;
  if (one?.spec && startTimeoutMs !== undefined) return { ...one, ...via, spec: { ...one.spec, startTimeoutMs } };
  if (one) return { ...one, ...via };
  throw usageError(`no server "${server.name}" is registered in ${server.config}`, "Mend the name.", {
    file: suite.file,
  });
}

/** Every entry of a host's file. */
async function ofConfig(file: string, io: Io): Promise<Patient[]> {
  const { path, dir: folder, entries } = await readHostFile(file, io);
  const patients = entries.map(async ([name, entry]): Promise<Patient> => {
    const facts = {
      name,
      entry,
      absolute: isAbsolute,
      exists: (one: string) => existsSync(resolve(folder, one)),
      isSet: (variable: string) => io.env[variable] !== undefined,
    };
    const faults = registrationRules.flatMap(({ id, severity, check }) =>
      [...check(facts)].map(({ message, fix }) => ({ id, severity, message, fix })),
    );
    const flag = `--config ${shellWord(file)}`;
    const commands = again(`${flag} --name ${shellWord(name)}`, flag);
    const told = { name, via: file, commands, dir: folder, entry: faults };
    try {
      const { spec, dir } = await readHostServer(path, name, io.env);
      const { spec: shown } = await readHostServer(path, name, {});
      return { ...told, spec, shown, dir };
    } catch (error) {
      if (!(error instanceof EvalsError)) throw error;
      if (faults.some(({ severity }) => severity === "error")) return told;
      const [{ message, hint: fix = "" } = { message: "" }] = error.problems;
      return { ...told, entry: [...faults, { id: "entry-unreadable", severity: "error", message, fix }] };
    }
  });
  return Promise.all(patients);
}

import { existsSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { EvalsError, usageError } from "../../../errors.ts";
import type { ServerFacts } from "../../../lint/diagnosis/facts.ts";
import { registrationRules } from "../../../lint/rules/registration.ts";
import { discover } from "../../../suites/discover.ts";
import { loadSuites } from "../../../suites/load.ts";
import { readHostServer } from "../../../toolsets/hostConfig.ts";
import { fillIn, type LiveSpec } from "../../../toolsets/spec.ts";
import { canonicalJson, isJsonObject, type Json } from "../../../types/json.ts";
import type { ServerSpec } from "../../../types/suite.ts";
import type { DoctorFlags } from "../../doctor.ts";
import type { Io } from "../../io.ts";
import { commandSpec } from "../lint/commandLine.ts";
import { readPlaced } from "../lint/placed.ts";
import { shownUrl } from "./shown.ts";

/** A server to be examined. Without `spec` its entry cannot be read, and `entry` says why. */
export type Patient = {
  name: string;
  via?: string;
  /** How this program is told to look at it again. */
  flag: string;
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
  const direct = [
    ...server.map((line) => ({ name: line, spec: commandSpec(line), flag: `--server ${JSON.stringify(line)}` })),
    ...url.map((one) => ({ name: shownUrl(one), spec: { url: one, transport }, flag: `--url ${shownUrl(one)}` })),
  ];
  const found = [
    ...direct.map(({ name, spec, flag }) => ({ ...written(name, spec, io.cwd, io), flag })),
    ...(await Promise.all(config.map((file) => ofConfig(file, io)))).flat(),
    ...(paths.length > 0 || !named ? await ofSuites(paths, io) : []),
  ];
  if (found.length > 0) return found;
  throw usageError(
    "there is no server to examine",
    "Name one with --server, --url or --config, or give a suite that has one.",
  );
}

function written(name: string, spec: LiveSpec, dir: string, io: Io): Patient {
  const filled = fillIn<LiveSpec>(spec, io.env, name);
  const entry = filled.warnings.map(({ message, hint = "" }) => {
    return { id: "unset-variable", severity: "warning" as const, message: `${message}.`, fix: hint };
  });
  return { name, flag: "", spec: filled.spec, shown: spec, dir, entry };
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
      found.push(await ofSuite(one, { name: at === 0 ? name : `${name}, distractor ${at}`, file, dir }, io));
    }
  return found;
}

type Suited = { name: string; file: string; dir: string };

async function ofSuite(server: Exclude<ServerSpec, { tools: string }>, suite: Suited, io: Io): Promise<Patient> {
  const via = { via: suite.file, flag: suite.file };
  if (!("config" in server)) return { ...written(suite.name, server, suite.dir, io), ...via };
  const all = await ofConfig(resolve(suite.dir, server.config), io);
  const one = all.find(({ name }) => name === server.name);
  if (one) return { ...one, ...via };
  throw usageError(`no server "${server.name}" is registered in ${server.config}`, "Mend the name.", {
    file: suite.file,
  });
}

/** Every entry of a host's file. */
async function ofConfig(file: string, io: Io): Promise<Patient[]> {
  const path = resolve(io.cwd, file);
  const { value, place } = await readPlaced(path, file);
  const root = isJsonObject(value) ? value : {};
  const entries = [root.mcpServers, root.servers].find(isJsonObject) ?? {};
  if (Object.keys(entries).length === 0)
    throw usageError(
      "no servers are registered here",
      'Write { "mcpServers": { "<name>": { "command": "…" } } }.',
      place([]),
    );
  const patients = Object.entries(entries).map(async ([name, entry]): Promise<Patient> => {
    const facts = {
      name,
      entry,
      absolute: isAbsolute,
      exists: (one: string) => existsSync(resolve(dirname(path), one)),
      isSet: (variable: string) => io.env[variable] !== undefined,
    };
    const faults = registrationRules.flatMap(({ id, severity, check }) =>
      [...check(facts)].map(({ message, fix }) => ({ id, severity, message, fix })),
    );
    const told = { name, via: file, flag: `--config ${file}`, dir: dirname(path), entry: faults };
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

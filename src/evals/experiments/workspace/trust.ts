import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { replaceFile } from "../../base/files/files.ts";
import { printableLines } from "../../base/text/display.ts";
import { usageError } from "../../base/types/errors.ts";
import { defaultPolicy, type ExecutionPolicy } from "../../base/types/flagValues.ts";
import { askConsent, type Io, isCi } from "../../base/types/io.ts";
import { isNestedDeeper, type Json } from "../../base/types/json.ts";
import type { Suite } from "../../base/types/suite.ts";
import type { Configuration, ServerSpec } from "../../base/types/suiteFile.ts";
import { listHostFiles, readHostFile } from "../../input/hostFiles.ts";
import { readParsed, readText } from "../../input/parsing/read.ts";
import { projectFiles } from "../../input/suites/projectFile.ts";
import { configFolder } from "../../servers/spec.ts";

// Opening a folder or a record runs nothing and sends nothing. What files of it name is used only after trust: what the
// user wrote on the command line or in the environment needs none.

/** Something that a file names and that has an effect if it is used. `content`: what changes it, beside its text. */
export type Claim = {
  kind: "program" | "code" | "address" | "folder" | "calls";
  text: string;
  file: string;
  content?: string;
};

/**
 * Asks once for everything that is not trusted yet, of the whole folder, so that the author of a project answers once.
 * What is trusted is kept for the folder, by its content, in the user's configuration folder, so that a changed value
 * asks again. Asks nothing with --trust, in CI, and of a program that calls the library. Throws a usage error that
 * lists the claims if nobody can be asked, or does not trust them.
 */
export async function requireTrust(claims: readonly Claim[], io: Io): Promise<void> {
  const needed = await findUntrusted(claims, io);
  if (needed.length === 0) return;
  const unknown = io.prompts ? await findUntrusted([...needed, ...(await claimFolder(io))], io) : needed;
  const lines = [
    ...new Set(unknown.map(({ kind, text, file }) => `  ${kind} ${text} (${relative(io.cwd, resolve(io.cwd, file))})`)),
  ];
  if (!io.prompts)
    throw usageError(
      `Files name what is not trusted here. Nothing of it was used:\n${printableLines(...lines).trimEnd()}`,
      "Add --trust if you trust them, or run the command in a terminal to be asked once.",
    );
  io.err(printableLines(`Files name what is used only if you trust it, in ${io.cwd}:`, ...lines));
  if (!(await askConsent("Do you trust all of it?", io)))
    throw usageError("Nothing of it was used.", "Read the files that are named above.");
  await keepTrust(unknown, io);
}

/** Trusts what a suite names that the program wrote, of what was typed or trusted; `kind`: nothing else of it. */
export async function trustWritten(suite: string, io: Io, kind?: Claim["kind"]): Promise<void> {
  const { loadSuites } = await import("../../input/suites/load.ts");
  const { suites } = await loadSuites([suite], { cwd: io.cwd });
  const claims = (await claimSuites(suites, io)).filter((claim) => kind === undefined || claim.kind === kind);
  // Without a folder for it, the question comes again.
  await keepTrust(await findUntrusted(claims, io).catch(() => []), io);
}

/** Keeps what is trusted. Where the user's configuration cannot be written, the question comes again. */
async function keepTrust(claims: readonly Claim[], io: Io): Promise<void> {
  if (claims.length === 0) return;
  const file = trustFile(io);
  const kept = [...(await readTrusted(file)), ...claims.map(hashClaim)];
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await replaceFile(file, `${JSON.stringify({ folder: io.cwd, trusted: kept }, null, 2)}\n`);
  } catch {}
}

/** What the project file, servers of hosts and suites of the folder name. Their mistakes are reported when used. */
async function claimFolder(io: Io): Promise<Claim[]> {
  const [{ discover }, { loadSuites }] = await Promise.all([
    import("../../input/suites/discover.ts"),
    import("../../input/suites/load.ts"),
  ]);
  const suites = discover([], io.cwd)
    .then(({ files, parsed }) => loadSuites(files, { cwd: io.cwd, parsed }))
    .then(async ({ suites }) => [...(await claimSuites(suites, io)), ...claimCalls(suites)]);
  const settings = projectFiles.map((file) => claimProjectFile(file, io));
  const servers = listHostFiles("project").map((config) => claimServer({ config, all: true }, io.cwd, config));
  const all = [suites, ...settings, ...servers].map((claims) => claims.catch(() => []));
  return (await Promise.all(all)).flat();
}

/** What a project file names. Code can name anything, so that it is trusted as a whole. */
async function claimProjectFile(file: string, io: Pick<Io, "cwd">): Promise<Claim[]> {
  if (!existsSync(resolve(io.cwd, file))) return [];
  if (!/\.(?:json|ya?ml)$/.test(file)) return [await claimCode(file, file, io)];
  const { value } = await readParsed(resolve(io.cwd, file), file);
  return await claimOptions(Object(value), file, io);
}

/** The claims that are not trusted yet; none with --trust, in CI, and of a program that calls the library. */
export async function findUntrusted(claims: readonly Claim[], io: Io): Promise<Claim[]> {
  if (claims.length === 0 || io.isTrusted || isCi(io.env)) return [];
  const trusted = new Set(await readTrusted(trustFile(io)));
  return claims.filter((claim) => !trusted.has(hashClaim(claim)));
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hashClaim = ({ kind, text, content = "" }: Claim) => sha256(JSON.stringify([kind, text, content]));

const trustFile = ({ cwd, env }: Io) => join(configFolder(env), "trust", `${sha256(cwd).slice(0, 16)}.json`);

/** The hashes of what is trusted; none if the file cannot be read, so that the question comes again. */
async function readTrusted(file: string): Promise<string[]> {
  try {
    const { trusted } = JSON.parse(await readFile(file, "utf8")) as { trusted?: unknown };
    return Array.isArray(trusted) ? trusted.filter((hash) => typeof hash === "string") : [];
  } catch {
    return [];
  }
}

const maxCodeBytes = 16 * 1024 * 1024;

/** A file of code, trusted with the content that it has now. `from`: the file that names it. */
export async function claimCode(path: string, from: string, { cwd }: Pick<Io, "cwd">): Promise<Claim> {
  const read = readText(resolve(cwd, path), maxCodeBytes);
  // What cannot be read, such as a pipe or a device, is never known again.
  return { kind: "code", text: path, file: from, content: "kind" in read ? randomUUID() : sha256(read.text) };
}

/** What options run, reach, write elsewhere or execute. `from`: the file that has set these options. */
export async function claimOptions(
  options: Readonly<Record<string, unknown>>,
  from: string,
  io: Pick<Io, "cwd">,
): Promise<Claim[]> {
  const listTexts = (...names: string[]) =>
    names.flatMap((name) => [options[name]].flat().filter((value) => typeof value === "string"));
  const claim = (kind: Claim["kind"], texts: readonly string[]) =>
    texts.map((text): Claim => ({ kind, text, file: from }));
  const asked = listTexts("model", "judge", "writer");
  const packages = asked.filter((id) => id.startsWith("ai:"));
  const weights = asked.filter((id) => /^local(?::|$)/.test(id));
  const modules = [...asked, ...listTexts("reporter")].flatMap((id) => /^custom:(.+)$/s.exec(id)?.[1] ?? []);
  // A header sends what a variable of the environment holds.
  const headers = listTexts("header").map((content): Claim => {
    return { kind: "address", text: `header ${content.split(/[=:]/)[0]}`, file: from, content };
  });
  const isOutside = (path: string) => relative(io.cwd, resolve(io.cwd, path)).startsWith("..");
  return [
    ...claim("code", packages),
    ...(await Promise.all(modules.map((path) => claimCode(path, from, io)))),
    // Weights are read by native code, and downloaded.
    ...claim("program", weights),
    ...claim("address", listTexts("baseUrl", "otlp", "queue")),
    ...headers,
    ...claim("folder", listTexts("out", "baselines").filter(isOutside)),
    ...claimCalls([{ execute: options.execute as ExecutionPolicy | undefined, file: from }]),
  ];
}

/** The calls that files permit to execute beside those of read-only tools. Nothing executes those of a tool list. */
export function claimCalls(
  named: readonly { execute?: ExecutionPolicy | undefined; server?: Suite["server"]; file: string }[],
): Claim[] {
  return named.flatMap(({ execute = defaultPolicy, server, file }): Claim[] => {
    if (execute === defaultPolicy || execute === "never" || (server && "tools" in server)) return [];
    return [{ kind: "calls", text: `execute: ${[execute].flat().join(", ")}`, file, content: file }];
  });
}

/** What suites name: their servers, surfaces, distractors, assertions, custom matchers and models. */
export async function claimSuites(suites: readonly Suite[], io: Pick<Io, "cwd">): Promise<Claim[]> {
  const claims = suites.map(async ({ server, surfaces = [], distractors, dir, file, cases, models }) => {
    const named = [server ?? [], ...surfaces.map((surface) => surface.server), ...distractors].flat();
    const servers = named.map((one) => claimServer(one, dir, file));
    const code = new Map(cases.flatMap((one) => Object.entries(one.code ?? {})));
    const ofCode = [...code].map(([text, content]): Claim => ({ kind: "code", text, file, content }));
    return [...(await Promise.all(servers)).flat(), ...ofCode, ...(await claimOptions({ model: models }, file, io))];
  });
  return (await Promise.all(claims)).flat();
}

/** What a server in a file is started or reached by; of a host's configuration, its entries. */
export async function claimServer(server: ServerSpec | Configuration, dir: string, file: string): Promise<Claim[]> {
  if ("tools" in server) return [];
  if (!("config" in server)) return [claimSpec(server, dir, file)];
  const host = await readHostFile(server.config, dir, server.config).catch(() => undefined);
  // Whoever opens the server says what is wrong with the file.
  if (!host) return [];
  const entries = "all" in server ? [...host.entries.values()] : [host.entries.get(server.name) ?? []].flat();
  return entries.map(({ entry, dir: folder }) => claimSpec(entry, folder, host.file));
}

function claimSpec(spec: Json | ServerSpec, dir: string, file: string): Claim {
  const { command, args = [], url, env = {}, headers = {}, cwd, envFile } = Object(spec) as Record<string, unknown>;
  const isProgram = command !== undefined;
  const words = isProgram ? [...Object.keys(Object(env)).map((name) => `${name}=…`), command, args].flat() : [url];
  const sent = Object.keys(Object(headers)).map((name) => ` with ${name}`);
  // The same server in another file is not asked again.
  const folder = resolve(dir, typeof cwd === "string" ? cwd : ".");
  const content = { command, args, url, env, envFile, headers, folder };
  return {
    kind: isProgram ? "program" : "address",
    text: `${words.join(" ")}${sent.join("")}`,
    file,
    // No server is started of an entry that is too deep to be read.
    content: isNestedDeeper(spec) ? randomUUID() : JSON.stringify(content),
  };
}

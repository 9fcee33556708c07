import { copyFile, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { stringify } from "yaml";
import { startGroup } from "../../base/processes/group.ts";
import { squeeze } from "../../base/text/text.ts";
import { messageOf } from "../../base/types/errors.ts";
import type { Shown } from "../../base/types/exposure.ts";
import type { HostedTrial, HostModel, Message } from "../../base/types/model.ts";
import { type EvalFile, leftInPackages, type SkillPackage } from "../../base/types/skill.ts";
import { addCost, type Broken, broken, type Cost, type Outcome, type Usage } from "../../base/types/trial.ts";
import { isWithin, realPath } from "../../input/parsing/folders.ts";
import { countsAsTurn, describeShown, readTurns, selectConversation } from "./conversation.ts";
import type { Command, Host, TrialFolder } from "./host.ts";
import type { Exchange, PassThrough, Tap } from "./passThrough.ts";
import { type Offer, offerTools, type Relay } from "./relay.ts";

/** What all trials of one host share. `timeoutMs` is for a whole trial, `upstream` the base URL of the provider. */
type Setup = {
  host: Host;
  command: string;
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** Maximum retries of a request, even if the host would retry more often. */
  retries: number;
  upstream: string;
  relay: Relay;
  passThrough: PassThrough;
  maxCostUsd?: number;
  cost(usage: Usage, model: string): Cost;
};

type Reply = Awaited<ReturnType<HostModel["converse"]>>;

/** Runs one trial in a host, in a separate home and project. Does not reject. */
export async function converse(setup: Setup, trial: HostedTrial, signal: AbortSignal): Promise<Reply> {
  const { host } = setup;
  const question = readQuestion(host, trial.messages);
  if ("kind" in question) return { outcome: question, turns: [] };
  const { prompt, system } = question;
  const stop = createStop(signal);
  let dir: string | undefined;
  let offer: Offer | undefined;
  let trace: Trace | undefined;
  try {
    offer = offerTools(host, setup.relay, trial, stop.signal, stop.request);
    trace = openTrace(setup, trial, prompt, offer, stop);
    const { url: baseUrl, exchanges } = trace;
    const folder = await makeFolder();
    dir = folder.dir;
    await writeProject(folder.project, host, trial.skills, trial.files);
    const command = await host.configure({ trial, folder, servers: offer.servers, baseUrl, system });
    const timer = setTimeout(() => stop.request(describeDelay(setup, exchanges)), setup.timeoutMs);
    const exit = await runProgram(setup, command, folder, prompt, stop).finally(() => clearTimeout(timer));
    const workspace = trial.writable && host.writesFiles ? await readProject(folder.project, host) : undefined;
    const outcome = stop.reason() ?? readOutcome(host, trace, offer, exit);
    return { outcome, ...readTrace(setup, trace, offer), ...(workspace && { workspace }) };
  } catch (thrown) {
    const failed = broken("model", `${host.name} could not run the trial: ${messageOf(thrown)}`);
    const rest = trace && offer ? readTrace(setup, trace, offer) : { turns: [] };
    return { outcome: stop.reason() ?? failed, ...rest };
  } finally {
    stop.release();
    trace?.close();
    offer?.close();
    if (dir !== undefined) await rm(dir, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
}

/** A host accepts only one prompt, so a case with earlier replies cannot run in it. */
function readQuestion({ name }: Host, messages: readonly Message[]): { system: string; prompt: string } | Broken {
  const join = (role: "system" | "user") =>
    messages.flatMap((message) => (message.role === role ? [message.content] : [])).join("\n\n");
  const isPlain = messages.every(({ role }) => role === "system" || role === "user");
  if (isPlain) return { system: join("system"), prompt: join("user") };
  return broken("model", `${name} cannot start from earlier replies: use a case without them, or another model`);
}

/** Stops a trial from outside. The first reason counts. */
type Stop = { signal: AbortSignal; reason(): Outcome | undefined; request(reason: Outcome): void; release(): void };

function createStop(signal: AbortSignal): Stop {
  const controller = new AbortController();
  const request = (reason: Outcome) => controller.abort(reason);
  const cancel = () => request(broken("cancelled", "the trial was cancelled"));
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  const reason = () => (controller.signal.aborted ? (controller.signal.reason as Outcome) : undefined);
  return { signal: controller.signal, reason, request, release: () => signal.removeEventListener("abort", cancel) };
}

type Trace = Tap & { conversation(): readonly Exchange[]; shown(): Shown | undefined };

/** Records the requests of a trial, and stops it at the first request that its limits do not allow. */
function openTrace(setup: Setup, trial: HostedTrial, prompt: string, offer: Offer, stop: Stop): Trace {
  const { host, passThrough, upstream } = setup;
  const conversation = () => selectConversation(tap.exchanges, prompt);
  const shown = () => describeShown(tap.exchanges, conversation(), trial, offer, host.wording);
  let isChecked = false;
  const tap = passThrough.open({
    upstream,
    admit(exchanges): boolean {
      const asked = conversation();
      // A request without tools may be a side request.
      const isFirst = !isChecked && asked.some(({ request }) => request.tools.length > 0);
      const end = (isFirst && findStartProblem(host, offer, shown())) || findLimit(setup, trial, exchanges, asked);
      isChecked ||= isFirst;
      if (end) stop.request(end);
      return !end;
    },
  });
  return { ...tap, conversation, shown };
}

/** Why the trial did not start as intended: the first request shows that the host left out a server, tool or skill. */
function findStartProblem({ name, hidesTools }: Host, offer: Offer, shown: Shown | undefined): Broken | undefined {
  const [server] = offer.unlisted();
  if (server) return broken("server", `${name} did not load the tools of server "${server}"`);
  if (!shown) return undefined;
  const { tools, skills } = shown;
  const [tool] = tools.hidden;
  const isDropped = !hidesTools || tools.full.length + tools.deferred.length + tools.named.length > 0;
  if (tool && isDropped) return broken("server", `${name} does not offer tool "${tool}"`);
  const [skill] = skills.hidden;
  return skill ? broken("model", `${name} did not load skill "${skill}"`) : undefined;
}

/** Maximum turns with nothing but searches, in addition to the turn limit. */
const maxSearches = 8;
/** Maximum model requests per turn, including those of sub-agents; beyond it, a host is not making progress. */
const maxRequestsPerTurn = 10;

/** Why the last of these requests is not allowed. A trial at the turn limit is answered by its turns so far. */
function findLimit(
  { host, retries, maxCostUsd, cost }: Setup,
  { maxTurns }: HostedTrial,
  exchanges: readonly Exchange[],
  conversation: readonly Exchange[],
): Outcome | undefined {
  const turns = conversation.filter((one) => countsAsTurn(one, host.wording)).length;
  const replies = conversation.filter(({ reply }) => reply).length;
  if (turns >= maxTurns || replies - turns >= maxTurns + maxSearches) return { kind: "answered" };
  const earlier = exchanges.slice(0, -1);
  const faults = earlier.length - 1 - earlier.findLastIndex(({ fault }) => !fault);
  if (faults > retries) return describeFault(earlier.at(-1), faults);
  const maxRequests = maxRequestsPerTurn * (maxTurns + maxSearches);
  if (exchanges.length > maxRequests)
    return broken("model", `${host.name} made ${maxRequests} model requests without finishing`);
  const spent = sumCost(earlier, cost);
  if (maxCostUsd === undefined || spent === "unknown" || spent < maxCostUsd) return undefined;
  return broken("budget", `one trial in ${host.name} used up the budget of $${maxCostUsd}`);
}

function describeFault(exchange: Exchange | undefined, attempts = 1): Broken {
  const { status, message = "no reply" } = exchange?.fault ?? {};
  const answer = status === undefined ? "" : `the provider answered ${status}${status === 200 ? ", but " : ": "}`;
  return broken("model", `${answer}${message}${attempts > 1 ? ` (${attempts} attempts)` : ""}`);
}

/** The outcome of a trial that took too long, with what it was waiting for. */
function describeDelay({ host, timeoutMs }: Setup, exchanges: readonly Exchange[]): Broken {
  const last = exchanges.at(-1);
  const late = `${host.name} did not finish within ${timeoutMs / 1000} s`;
  if (!last) return broken("timeout", `${late}: it made no model request; raise --timeout`);
  if (last.fault) return broken("timeout", `${late}: ${describeFault(last).message}`);
  const waiting = last.reply ? "" : ": the provider did not reply to its last request";
  return broken("timeout", `${late}${waiting}; raise --timeout`);
}

function sumCost(exchanges: readonly Exchange[], cost: Setup["cost"]): Cost {
  const costs = exchanges.map(({ request, reply }) => (reply ? cost(reply.usage, reply.model || request.model) : 0));
  return costs.reduce(addCost, 0);
}

function readTrace({ host, cost }: Setup, trace: Trace, offer: Offer): Omit<Reply, "outcome"> {
  const shown = trace.shown();
  const skills = new Set(Object.values(shown?.skills ?? {}).flat());
  const turns = readTurns(trace.conversation(), { ...offer, skills }, host.wording);
  return { turns, costUsd: sumCost(trace.exchanges, cost), ...(shown && { shown }) };
}

/** How the host's process ended, with the end of its output. */
type ProgramExit = { how: string; isSuccess: boolean; output: string; stderr: string };

const maxOutput = 256 * 1024;
const maxStderr = 2_000;

async function runProgram(
  { command, env }: Setup,
  { args, env: added }: Command,
  { home, tmp, project }: TrialFolder,
  prompt: string,
  stop: Stop,
): Promise<ProgramExit> {
  stop.signal.throwIfAborted();
  // Orphans get no grace period, because the folder is removed right after the host ends.
  const options = { cwd: project, env: { ...env, HOME: home, TMPDIR: tmp, ...added }, orphanMs: 0 };
  const { child, ended, stderrTail, end } = startGroup(command, args, options);
  child.stdin.end(prompt);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-maxOutput);
  });
  stop.signal.addEventListener("abort", () => void end(), { once: true });
  const exit = await ended;
  child.stdout.destroy();
  child.stderr.destroy();
  const printed = { output, stderr: stderrTail().slice(-maxStderr) };
  if ("error" in exit) return { how: `could not be started: ${exit.error.message}`, isSuccess: false, ...printed };
  const { code, signal } = exit;
  return { how: signal ? `was killed by ${signal}` : `exited with code ${code}`, isSuccess: code === 0, ...printed };
}

/** The outcome of a conversation that ended without being stopped. Exit code 0 does not prove success. */
function readOutcome(host: Host, trace: Trace, offer: Offer, exit: ProgramExit): Outcome {
  const { name } = host;
  const reason = host.readFailure(exit.output) || exit.stderr;
  const because = reason ? `: ${reason}` : "";
  const last = trace.conversation().at(-1);
  if (!last) {
    const failed = trace.exchanges.findLast(({ fault }) => fault);
    if (failed) return describeFault(failed);
    const [server] = offer.unlisted();
    if (server) return broken("server", `${name} did not load the tools of server "${server}"${because}`);
    const isServer = [...offer.servers.keys()].some((one) => reason.includes(one));
    return broken(isServer ? "server" : "model", `${name} ${exit.how} without a model request${because}`);
  }
  if (last.fault) return describeFault(last);
  if (!last.reply) return broken("model", `${name} ${exit.how} before the reply${because}`);
  const problem = findStartProblem(host, offer, trace.shown());
  if (problem) return problem;
  if (!exit.isSuccess) return broken("model", `${name} ${exit.how}${because}`);
  if (last.reply.stop === "calls")
    return broken("model", `${name} ${exit.how} in the middle of a conversation${because}`);
  return { kind: "answered" };
}

/** Creates the folder of a trial, with an empty home. The caller removes it. */
async function makeFolder(): Promise<TrialFolder> {
  // The real path, because hosts compare paths and would not recognize a temporary folder behind a link.
  const dir = await realpath(await mkdtemp(join(tmpdir(), "evals-host-")));
  const [home, tmp, project] = ["home", "tmp", "project"].map((name) => join(dir, name)) as [string, string, string];
  await Promise.all([home, tmp, project].map((path) => mkdir(path)));
  return { dir, home, tmp, project };
}

/** Front matter fields with which a skill grants itself tools, or makes the host run commands. */
const privilegedFields = ["allowed-tools", "hooks"];

/** Writes skills and files into a project. Throws if a path leads out of it, or a file would configure the host. */
export async function writeProject(
  project: string,
  { name, skillFolder, configFolders }: Pick<Host, "name" | "skillFolder" | "configFolders">,
  skills: readonly SkillPackage[],
  files: readonly EvalFile[],
): Promise<void> {
  const home = join(project, skillFolder);
  if (skills.length > 0) await mkdir(home, { recursive: true });
  await Promise.all(skills.map((skill) => writeSkill(skill, inside(home, skill.name))));
  for (const { path, content } of files) {
    const target = inside(project, path);
    if (configFolders.test(relative(project, target).split(sep)[0] ?? ""))
      throw new Error(`the case's file "${path}" would configure ${name} itself`);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
}

/** Limits of what is read from a project: number of files, and characters per file. */
const limits = { files: 2_000, characters: 1024 * 1024 };

/** The files of a project after a trial, sorted by path, without those of host and skills, links and long files. */
export async function readProject(
  project: string,
  { configFolders }: Pick<Host, "configFolders">,
): Promise<EvalFile[]> {
  const found: EvalFile[] = [];
  const read = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(project, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (folder === "" && configFolders.test(entry.name)) continue;
      if (found.length >= limits.files || leftInPackages.has(entry.name)) continue;
      if (entry.isDirectory()) await read(path);
      if (!entry.isFile() || (await lstat(join(project, path))).size > limits.characters) continue;
      found.push({ path: path.split(sep).join("/"), content: await readFile(join(project, path), "utf8") });
    }
  };
  await read("");
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function writeSkill(skill: SkillPackage, target: string): Promise<void> {
  await mkdir(target);
  const head = skill.dir === "" ? undefined : await copyPackage(skill.dir, target);
  const { frontMatter, body } = skill.document;
  // The wording under test may differ from the file's, and a skill must not grant itself permissions here.
  const isPlain = !privilegedFields.some((key) => key in frontMatter) && frontMatter.description === skill.description;
  if (head !== undefined && isPlain) return copyFile(head, join(target, "SKILL.md"));
  // Claude Code would show the situation behind a description that has it already, or that another wording replaces.
  const isOwn = squeeze(String(frontMatter.description)) === squeeze(skill.description);
  const left = isOwn ? privilegedFields : [...privilegedFields, "when_to_use"];
  const kept = Object.entries(frontMatter).filter(([key]) => !left.includes(key));
  const fields = { name: skill.name, ...Object.fromEntries(kept), description: skill.description };
  await writeFile(join(target, "SKILL.md"), `---\n${stringify(fields)}---\n${body}`);
}

/** Copies a package without its SKILL.md, whose path it returns, its tests, and links that lead out of it. */
async function copyPackage(dir: string, target: string): Promise<string | undefined> {
  const root = realPath(dir);
  if (root === undefined) return undefined;
  let head: string | undefined;
  const copy = async (path: string): Promise<void> => {
    const from = join(root, path);
    const to = join(target, path);
    const found = await lstat(from);
    const real = realPath(from);
    if (real === undefined || !isWithin(root, real)) return;
    if (path === "SKILL.md") head = real;
    else if (found.isDirectory()) {
      await mkdir(to, { recursive: true });
      const names = (await readdir(from)).filter((name) => !leftInPackages.has(name) && join(path, name) !== "evals");
      await Promise.all(names.map((name) => copy(join(path, name))));
    } else if (found.isFile()) await copyFile(from, to);
    else if (found.isSymbolicLink()) await symlink(relative(dirname(from), real) || ".", to);
  };
  await copy("");
  return head;
}

function inside(folder: string, path: string): string {
  const target = resolve(folder, path);
  if (target !== resolve(folder) && isWithin(folder, target)) return target;
  throw new Error(`"${path}" is not a path inside the project`);
}

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { LocalStart } from "../../diagnosis/local.ts";
import { scriptOf } from "../../lint/rules/registration.ts";
import type { CommandSpec, Env } from "../../toolsets/spec.ts";
import { inheritedVariables, launch } from "../../toolsets/stdio.ts";
import { greeting } from "./greeting.ts";

const mostNoise = 5;
const mostSigns = 200;
const mostLine = 64 * 1024;

/**
 * Runs a server's command as it stands and says what came of it: until it answers the protocol's first request, or ends,
 * or `ms` are over. Then it is ended. Does not throw.
 */
export async function runDirectly(
  spec: CommandSpec,
  { dir, env, ms, signal }: { dir: string; env: Env; ms: number; signal: AbortSignal },
): Promise<LocalStart> {
  const cwd = resolve(dir, spec.cwd ?? ".");
  const began = performance.now();
  const server = launch(spec, dir, env);
  const noise: string[] = [];
  const answer = new Promise<"answered">((done) => {
    linesOf(server.stdout, (line) => {
      if (isMessage(line)) done("answered");
      else if (noise.length < mostNoise) noise.push(line.slice(0, mostSigns));
    });
  });
  server.stdin.write(`${greeting}\n`);
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<"over">((done) => {
    timer = setTimeout(done, ms, "over");
    signal.addEventListener("abort", () => done("over"), { once: true });
  });
  const end = await Promise.race([answer, server.ended.then((how) => ({ how })), over]);
  clearTimeout(timer);
  const took = performance.now() - began;
  await server.stop();
  const script = scriptOf({ command: spec.command, args: [...(spec.args ?? [])] })?.path;
  return {
    kind: "local",
    command: spec.command,
    program: findProgram(spec.command, cwd, { ...env, ...spec.env }),
    folder: { path: cwd, exists: existsSync(cwd) },
    ...(script !== undefined && {
      script: {
        given: script,
        path: resolve(cwd, script),
        relative: !isAbsolute(script),
        exists: existsSync(resolve(cwd, script)),
      },
    }),
    ...(typeof end === "object" && { ended: end.how }),
    answered: end === "answered",
    ms: took,
    stderr: server
      .stderrTail()
      .split("\n")
      .filter(Boolean)
      .map((line) => (line.length > mostSigns ? `${line.slice(0, mostSigns)}…` : line)),
    noise,
    notPassedOn: new Set(
      Object.keys(env).filter((name) => !inheritedVariables.includes(name) && !(name in (spec.env ?? {}))),
    ),
  };
}

/** Tells every line that is not blank. A line without end is cut into pieces. */
function linesOf(stdout: NodeJS.ReadableStream, tell: (line: string) => void): void {
  let rest = "";
  const take = (text: string) => {
    if (text.trim() !== "") tell(text.trim());
  };
  stdout.on("data", (chunk: Buffer) => {
    const [first = "", ...others] = chunk.toString().split("\n");
    const lines = [rest + first, ...others];
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
    if (rest.length <= mostLine) return;
    take(rest);
    rest = "";
  });
  stdout.on("end", () => take(rest));
}

function isMessage(line: string): boolean {
  return line.startsWith("{") && line.includes('"jsonrpc"');
}

/** Where a command leads, looked up as the system does it: on PATH, unless it is a path. */
function findProgram(command: string, cwd: string, env: Env): LocalStart["program"] {
  const endings = process.platform === "win32" ? ["", ...(env.PATHEXT ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const places = /[/\\]/.test(command) ? [resolve(cwd, command)] : onPath(command, env);
  const all = places.flatMap((place) => endings.map((ending) => place + ending));
  if (all.some((path) => isFile(path, constants.X_OK))) return { kind: "found" };
  const there = all.find((path) => isFile(path, constants.F_OK));
  if (there !== undefined) return { kind: "not executable", path: there };
  const instead = `${command}3`;
  const has = onPath(instead, env).some((path) => isFile(path, constants.X_OK));
  const searched = /[/\\]/.test(command) ? places : folders(env);
  return { kind: "missing", searched, ...(has && { instead }) };
}

function folders(env: Env): string[] {
  return [...new Set((env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean))];
}

function onPath(command: string, env: Env): string[] {
  return folders(env).map((folder) => join(folder, command));
}

function isFile(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

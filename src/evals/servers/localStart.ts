import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { findScript, type LocalStart } from "./diagnosis/start.ts";
import type { CommandSpec, Env } from "./spec.ts";
import { inheritedVariables, type SeenStart } from "./stdio.ts";

/** What can be said of the command of a local server beside how it starts: its program, folder, script and variables. */
export function describeLocal(
  { command, args = [], cwd: folder = ".", env: own = {} }: CommandSpec,
  { dir, env }: { dir: string; env: Env },
): Omit<LocalStart, keyof SeenStart> {
  const cwd = resolve(dir, folder);
  const script = findScript({ command, args: [...args] })?.path;
  const path = resolve(cwd, script ?? "");
  return {
    kind: "local",
    command,
    program: findProgram(command, cwd, { ...env, ...own }),
    folder: { path: cwd, exists: existsSync(cwd) },
    ...(script !== undefined && {
      script: { given: script, path, relative: !isAbsolute(script), exists: existsSync(path) },
    }),
    notPassedOn: new Set(Object.keys(env).filter((name) => !inheritedVariables.includes(name) && !(name in own))),
    given: new Set(Object.keys(own)),
  };
}

/** Looks up a command as the system does: in PATH, unless it is a path. */
function findProgram(command: string, cwd: string, env: Env): LocalStart["program"] {
  const folders = [...new Set((env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean))];
  const endings = process.platform === "win32" ? ["", ...(env.PATHEXT ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const isPath = /[/\\]/.test(command);
  const places = isPath ? [resolve(cwd, command)] : folders.map((folder) => join(folder, command));
  const all = places.flatMap((place) => endings.map((ending) => place + ending));
  if (all.some((path) => isFile(path, constants.X_OK))) return { kind: "found" };
  const there = all.find((path) => isFile(path, constants.F_OK));
  if (there !== undefined) return { kind: "not executable", path: there };
  const instead = `${command}3`;
  const has = folders.some((folder) => isFile(join(folder, instead), constants.X_OK));
  return { kind: "missing", searched: isPath ? places : folders, ...(has && { instead }) };
}

function isFile(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

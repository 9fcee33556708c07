import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { EvalsError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { type HostFile, listHostFiles, readHostFile, windowsHostFiles } from "../input/hostFiles.ts";

/** A server that a host starts: its name, and the file that registers it, as messages name it. */
export type RegisteredServer = { name: string; file: string };

/** The servers in the configuration files of the project or, if it has none, of the user. */
export async function findRegisteredServers(io: Io): Promise<RegisteredServer[]> {
  const { HOME, USERPROFILE, APPDATA } = io.env;
  const home = HOME ?? USERPROFILE;
  const own = await readAll(
    listHostFiles("project").map((file) => resolve(io.cwd, file)),
    io,
  );
  if (own.length > 0) return own;
  return await readAll(
    [
      ...(home === undefined ? [] : listHostFiles("home").map((file) => join(home, file))),
      ...(APPDATA === undefined ? [] : windowsHostFiles.map((file) => join(APPDATA, file))),
    ],
    io,
  );
}

async function readAll(paths: readonly string[], io: Io): Promise<RegisteredServer[]> {
  const read = await Promise.all(paths.filter((path) => existsSync(path)).map((path) => readQuietly(path)));
  return read.flatMap((host) =>
    host ? [...host.entries.keys()].map((name) => ({ name, file: shorten(host.path, io) })) : [],
  );
}

/** A path relative to the project if it is inside it, otherwise absolute. */
function shorten(path: string, { cwd }: Io): string {
  const inside = relative(cwd, path);
  return inside.startsWith("..") ? path : inside;
}

async function readQuietly(path: string): Promise<HostFile | undefined> {
  try {
    return await readHostFile(path);
  } catch (error) {
    if (error instanceof EvalsError) return undefined;
    throw error;
  }
}

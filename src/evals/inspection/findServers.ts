import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { EvalsError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { listHostFiles, readHostFile, windowsHostFiles } from "../input/hostFiles.ts";

/** The servers in the configuration files of the project or, if none, of the user, as messages name the files. */
export async function findRegisteredServers(io: Io) {
  const { HOME, USERPROFILE, APPDATA } = io.env;
  const home = HOME ?? USERPROFILE;
  const ofProject = listHostFiles("project").map((file) => resolve(io.cwd, file));
  const ofUser = [
    ...(home === undefined ? [] : listHostFiles("home").map((file) => join(home, file))),
    ...(APPDATA === undefined ? [] : windowsHostFiles.map((file) => join(APPDATA, file))),
  ];
  const own = await readAll(ofProject, io);
  return own.length > 0 ? own : await readAll(ofUser, io);
}

async function readAll(paths: readonly string[], { cwd }: Io) {
  const reading = paths.filter(existsSync).map(async (path) => {
    const host = await readHostFile(path, cwd).catch((error: unknown) => {
      if (!(error instanceof EvalsError)) throw error;
    });
    const inside = relative(cwd, path);
    const file = inside.startsWith("..") ? path : inside;
    return [...(host?.entries.keys() ?? [])].map((name) => ({ name, file }));
  });
  return (await Promise.all(reading)).flat();
}

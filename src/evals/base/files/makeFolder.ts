import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a folder and those above it, with `mode`; one that exists is left as it is. Creates them one at a time: the
 * recursive `mkdir` of Node never returns in a file system that has no folders to create, such as /proc. Rejects with the
 * error of the file system.
 */
export async function makeFolder(path: string, { mode = 0o777 } = {}): Promise<void> {
  const error = await tryMake(path, mode);
  if (!error) return;
  const above = dirname(path);
  if (error.code !== "ENOENT" || above === path) throw error;
  await makeFolder(above, { mode });
  const again = await tryMake(path, mode);
  if (again?.code === "ENOENT")
    throw Object.assign(new Error(`no folder can be created in ${above}`), { code: "EPERM" });
  if (again) throw again;
}

/** Returns the error; undefined if the folder now exists, also if another process created it. */
async function tryMake(path: string, mode: number): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await mkdir(path, { mode });
    return undefined;
  } catch (error) {
    const found = await stat(path).catch(() => undefined);
    return found?.isDirectory() ? undefined : (error as NodeJS.ErrnoException);
  }
}

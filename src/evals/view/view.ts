import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { knownSecrets } from "../base/secrets/secrets.ts";
import type { ExitCode } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { startView } from "./server.ts";

/** `evals view`: serves the pages of all records until a signal stops it. */
export async function view(
  { out, port, open }: { out: string; port: number; open: boolean },
  io: Io,
): Promise<ExitCode> {
  const { redact } = knownSecrets(io.env);
  const server = await startView({ out: resolve(io.cwd, out), port, redact });
  io.out(`${server.url}\n`);
  io.err(`Serving the records under ${out} to this machine. Press Ctrl-C to stop.\n`);
  if (open) openBrowser(server.url, io);
  if (!io.signal.aborted) await once(io.signal, "abort");
  await server.close();
  return io.signalExitCode();
}

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens the page in the default browser. */
function openBrowser(url: string, io: Io): void {
  const [program, ...args] = openers[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", (error) => io.err(`warning: No browser could be opened: ${error.message}.\n`));
  child.unref();
}

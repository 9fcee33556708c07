import { spawn } from "node:child_process";
import { EvalsError, type ExitCode, exitCodes, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { count } from "../reports/format.ts";
import { connect } from "../servers/connect.ts";
import { login } from "../servers/login.ts";
import { TokenStore } from "../servers/tokens.ts";

/** The options of `evals login`. `timeout` is in seconds. */
export type LoginOptions = {
  url: string;
  forget: boolean;
  browser: boolean;
  clientId?: string | undefined;
  scope?: string | undefined;
  port?: number | undefined;
  timeout: number;
};

/** `evals login`: logs in to a remote server, and stores the tokens for all commands, or removes them. */
export async function logIn(options: LoginOptions, io: Io): Promise<ExitCode> {
  const { url, forget, browser, clientId, scope, port, timeout } = options;
  const example = "Give the URL of the server, for example https://host/mcp.";
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw usageError(`"${url}" is not an http or https URL.`, example);
  const store = new TokenStore(url, io.env);
  if (forget) {
    io.out((await store.remove()) ? `Forgot the login at ${url}.\n` : `There is no login at ${url}.\n`);
    return exitCodes.passed;
  }
  const open = (page: string) => {
    io.err(`To grant access, open this page:\n\n  ${page}\n\n`);
    if (browser) openBrowser(page, io);
  };
  const { env, signal } = io;
  const asked = await login(url, { env, signal, open, clientId, scope, port, timeoutMs: timeout * 1000 });
  const tools = await countTools(url, io).catch((error: unknown) => {
    // The error of a refused token advises what was just done.
    if (!asked || !(error instanceof EvalsError)) throw error;
    const hint =
      "The login is stored. Ask the operator of the server what it lacks, such as a scope: give that with --scope.";
    const problems = error.problems.map((problem) => ({ ...problem, hint }));
    throw new EvalsError(problems, error.exitCode);
  });
  io.out(asked ? `Logged in at ${url}: ${tools}.\nTokens: ${store.file}\n` : `${url} asks for no login: ${tools}.\n`);
  return exitCodes.passed;
}

async function countTools(url: string, { env, signal, cwd }: Io): Promise<string> {
  const server = await connect({ url }, { name: url, dir: cwd, env, signal });
  try {
    return count((await server.list(signal)).length, "tool");
  } finally {
    await server.close();
  }
}

/** Opens a page with the program in BROWSER, or with the default browser. Ignores failures: the URL is printed too. */
function openBrowser(page: string, { env }: Io): void {
  const system = { darwin: "open", win32: "explorer.exe" }[process.platform as string] ?? "xdg-open";
  const [program = system, ...args] = (env.BROWSER || system).split(" ");
  const child = spawn(program, [...args, page], { stdio: "ignore", detached: true, env: { ...env } });
  child.on("error", () => {});
  child.unref();
}

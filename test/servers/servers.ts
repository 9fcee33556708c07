import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, expect, vi } from "vitest";
import { type Connection, connect } from "../../src/evals/servers/connect.ts";
import type { CommandSpec, LiveSpec } from "../../src/evals/servers/spec.ts";
import { later } from "../fakes/later.ts";

const folder = fileURLToPath(new URL("../fixtures/servers/", import.meta.url));
/** Every process that is started here carries it as an argument, so that one left behind is found. */
const mark = `--owner=${process.pid}-${process.hrtime.bigint()}`;

export const never = new AbortController().signal;

/** A spec that starts a fixture over stdio. */
export function fixture(script: string, mode = "stdio", ...args: string[]): CommandSpec {
  return { command: process.execPath, args: [`${folder}${script}`, mode, ...args, mark] };
}

/** Connects to a server that is closed after the test. */
export async function open(spec: LiveSpec, signal: AbortSignal = never): Promise<Connection> {
  const server = await connect(spec, { name: "sut", dir: folder, env: process.env, signal });
  later(() => server.close());
  return server;
}

/** Starts a fixture as an HTTP server that is stopped after the test, and gives its URL. */
export async function serve(path: string, script: string, ...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [`${folder}${script}`, ...args, mark], { stdio: ["ignore", "pipe", "ignore"] });
  const gone = once(child, "exit");
  later(async () => {
    child.kill("SIGKILL");
    await gone;
  });
  const [port] = await once(child.stdout, "data");
  return `http://127.0.0.1:${String(port).trim()}${path}`;
}

/** To be called once in a test file: fails if a process of its tests is left. */
export function tidyUp(): void {
  const list = () =>
    execFileSync("ps", ["-axo", "pid,args"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes(mark));
  // A process that was killed takes its time to go on a busy machine.
  afterAll(() => vi.waitFor(() => expect(list()).toEqual([]), { timeout: 600_000 }));
}

import { setMaxListeners } from "node:events";
import type { Client } from "@modelcontextprotocol/client";
import { EvalsError } from "../errors.ts";
import { httpLink } from "./http.ts";
import type { ClientSdk, Link, Trouble } from "./link.ts";
import { launch } from "./process.ts";
import { type Env, type LiveSpec, serverError } from "./spec.ts";
import { stdioLink } from "./stdio.ts";

/** What a connection needs beside the spec. */
export type ConnectContext = {
  /** How messages name the server. */
  name: string;
  /** The absolute folder that a relative `cwd` starts from, and the default of it. */
  dir: string;
  env: Env;
  signal: AbortSignal;
  /** The protocol revision that this server spoke before: an old one need not be asked for its revision again. */
  revision?: string;
};

/** A client that is connected, and the link that it is connected by. */
export type Session = { client: Client; link: Link; sdk: ClientSdk };

/** How to find out what a server speaks: ask it, or go by what is known (`old`: it wants `initialize`). */
type Era = "ask" | "old" | "new";

/** A local server that is silent on the question for its revision for this long is taken for an old one. */
const probeMs = 5_000;
const newEra = "2026-07-28";
/** JSON-RPC's code for "unsupported protocol version": what a server of the new era alone says to `initialize`. */
const unsupportedVersion = -32022;
/** How long a failed write may be ahead of the news that the process is gone. */
const obituaryMs = 300;
/** The time limits are kept here, not by the client: it gets the longest that a timer can have. */
export const noClientTimeout = { timeout: 2 ** 31 - 1 };

/** Opens a session in at most `ms`. Throws EvalsError saying why there is none. */
export async function openSession(spec: LiveSpec, context: ConnectContext, ms: number): Promise<Session> {
  const began = performance.now();
  const old = context.revision !== undefined && context.revision < newEra;
  try {
    return await open(spec, context, old ? "old" : "ask", ms);
  } catch (error) {
    if (!(error instanceof WrongEra)) throw error;
    return await open(spec, context, error.speaks, Math.max(1, ms - (performance.now() - began)));
  }
}

/** The server may be reached, but not in the way that was tried. */
class WrongEra extends Error {
  readonly speaks: "old" | "new";
  constructor(speaks: "old" | "new") {
    super(`speaks the ${speaks} protocol`);
    this.speaks = speaks;
  }
}

async function open(spec: LiveSpec, context: ConnectContext, era: Era, ms: number): Promise<Session> {
  // The process starts before the client is loaded, so that both happen at once.
  const server = "command" in spec ? launch(spec, context.dir, context.env) : spec;
  const sdk = await import("@modelcontextprotocol/client");
  const link = "url" in server ? httpLink(server, sdk) : stdioLink(server, sdk);
  const probe = link.kind === "stdio" && era === "ask" ? Math.min(probeMs, ms / 2) : ms;
  const client = new sdk.Client(
    { name: "tool-evals", version: "0" },
    { versionNegotiation: { mode: "auto", probe: { timeoutMs: probe } } },
  );
  let connected = false;
  client.onerror = (error) => {
    if (connected) link.onError?.(error);
  };
  const prior = era === "old" ? { prior: { kind: "legacy" as const } } : {};
  try {
    await within(ms, context.signal, link, () => client.connect(link.transport, { ...noClientTimeout, ...prior }));
    connected = true;
    return { client, link, sdk };
  } catch (error) {
    const trouble = await troubleOf(error, link);
    await link.close();
    if (era === "ask" && trouble !== "cancelled") {
      // Servers of old SDKs exist that leave on any request before `initialize`.
      if (trouble.kind === "lost" && "pid" in server && server.pid !== undefined) throw new WrongEra("old");
      // A server of the new era alone that starts slowly misses the probe, and then refuses `initialize`.
      if (error instanceof sdk.ProtocolError && error.code === unsupportedVersion) throw new WrongEra("new");
    }
    throw troubleError(context.name, link, trouble);
  }
}

class Cancelled extends Error {}
class TooLate extends Error {
  readonly ms: number;
  constructor(ms: number) {
    super(`took more than ${ms} ms`);
    this.ms = ms;
  }
}
class Lost extends Error {}

/**
 * What `work` comes to, unless it is cancelled, takes longer than `ms` or loses the connection: then it is aborted and
 * this rejects at once, with an error that `troubleOf` can read.
 */
export function within<T>(ms: number, signal: AbortSignal, link: Link, work: (signal: AbortSignal) => Promise<T>) {
  return new Promise<T>((resolve, reject) => {
    const abort = new AbortController();
    // Every call under way listens: with many at once Node would warn of a leak.
    setMaxListeners(0, signal, link.lost);
    const stop = (error: Error) => {
      reject(error);
      abort.abort(error);
    };
    const cancel = () => stop(new Cancelled());
    const lose = () => stop(new Lost());
    const timer = setTimeout(() => stop(new TooLate(ms)), Math.min(ms, noClientTimeout.timeout));
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel);
    if (link.lost.aborted) lose();
    link.lost.addEventListener("abort", lose);
    work(abort.signal)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        link.lost.removeEventListener("abort", lose);
      });
  });
}

/** What a rejection of `within` means. A connection that is lost explains every other failure. */
export async function troubleOf(error: unknown, link: Link): Promise<Trouble | "cancelled"> {
  if (error instanceof Cancelled) return "cancelled";
  if (error instanceof TooLate) return { kind: "silent", ms: error.ms };
  if (link.kind === "stdio" && !link.lost.aborted && !(error instanceof EvalsError)) {
    await new Promise((resolve) => {
      link.lost.addEventListener("abort", resolve, { once: true });
      setTimeout(resolve, obituaryMs);
    });
  }
  return link.lost.aborted ? { kind: "lost", reason: String(link.lost.reason) } : { kind: "error", error };
}

/** A trouble as the error that the user reads. */
export function troubleError(name: string, link: Link, trouble: Trouble | "cancelled"): EvalsError {
  if (trouble === "cancelled") return serverError(`server "${name}" was not waited for: the run was cancelled`);
  if (trouble.kind === "error" && trouble.error instanceof EvalsError) return trouble.error;
  const { message, hint } = link.explain(trouble);
  return serverError(`server "${name}" ${message}`, hint);
}

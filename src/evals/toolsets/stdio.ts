import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { messageOf } from "../errors.ts";
import type { ClientSdk, Link, Trouble } from "./link.ts";
import type { ServerProcess } from "./process.ts";

const maxLineBytes = 10 * 1024 * 1024;
const quotedNoise = 120;

/**
 * The protocol over a process's stdin and stdout, one JSON message a line.
 *
 * It has the shape of the SDK's own stdio transport (`pid` and `stderr`), so the client judges a silent or failed probe
 * for the protocol revision as it does for any local process; but it is not that class, so the client probes on this
 * very process instead of starting a second one for it, which halves the time to the first answer.
 */
class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly stderr = null;
  readonly pid: number | undefined;
  /** The first line of stdout that was not a message. */
  noise: string | undefined;
  readonly #server: ServerProcess;
  readonly #parse: ClientSdk["deserializeMessage"];
  readonly #onOverlong: () => void;
  #line: Buffer[] = [];
  #lineBytes = 0;

  constructor(server: ServerProcess, parse: ClientSdk["deserializeMessage"], onOverlong: () => void) {
    this.pid = server.pid;
    this.#server = server;
    this.#parse = parse;
    this.#onOverlong = onOverlong;
  }

  async start(): Promise<void> {
    this.#server.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** The client closes what it could not connect to. The process is left to the link, which still has to ask why. */
  async close(): Promise<void> {
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.#take(rest.subarray(0, end));
      const line = Buffer.concat(this.#line).toString().trim();
      this.#line = [];
      this.#lineBytes = 0;
      if (line !== "") this.#deliver(line);
      rest = rest.subarray(end + 1);
    }
    this.#take(rest);
  }

  #take(part: Buffer): void {
    this.#lineBytes += part.length;
    if (this.#lineBytes <= maxLineBytes) this.#line.push(part);
    else this.#onOverlong();
  }

  #deliver(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = this.#parse(line);
    } catch {
      // Servers that print to stdout are common, and the hosts tolerate them.
      this.noise ??= line.slice(0, quotedNoise);
      return;
    }
    this.onmessage?.(message);
  }
}

/** A link to a server's process that was just launched. */
export function stdioLink(server: ServerProcess, sdk: ClientSdk): Link {
  const loss = new AbortController();
  const transport = new LineTransport(server, sdk.deserializeMessage, () => {
    loss.abort("sent a line of more than 10 MiB on stdout");
    void server.stop();
  });
  void server.ended.then((how) => {
    loss.abort(how);
    transport.onclose?.();
  });
  return {
    kind: "stdio",
    transport,
    lost: loss.signal,
    explain: (trouble) => ({
      message: `${inWords(trouble)}${evidence(server, transport.noise)}`,
      hint: hintFor(server, transport.noise),
    }),
    close: async () => {
      loss.abort("was closed");
      await server.stop();
    },
  };
}

function inWords(trouble: Trouble): string {
  switch (trouble.kind) {
    case "lost":
      return trouble.reason;
    case "silent":
      return `did not answer within ${trouble.ms / 1000} s`;
    case "error":
      return `answered with an error: ${messageOf(trouble.error)}`;
  }
}

function evidence(server: ServerProcess, noise: string | undefined): string {
  const stderr = server.stderrTail();
  return [
    noise === undefined ? "" : `; its stdout carries text that is not the protocol: ${JSON.stringify(noise)}`,
    stderr === "" ? "" : `; its stderr ends with:\n${stderr.replace(/^/gm, "    ")}`,
  ].join("");
}

function hintFor(server: ServerProcess, noise: string | undefined): string {
  if (server.pid === undefined) return "Check command and cwd: a program must be on the PATH, or be given by its path.";
  if (noise !== undefined) return "A server must write its logs to stderr: its stdout belongs to the protocol.";
  return "Run the server's command by hand, in the same folder, to see what it says.";
}

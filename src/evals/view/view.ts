import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { type ServerType, serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { type ExitCode, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { type RunsPage, toPage, type WrittenReport } from "../experiments/run/report/page.ts";
import { renderPage } from "../reports/html.ts";
import { Records } from "./records.ts";

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

/** How often an unfinished record is checked for changes, in milliseconds. */
const interval = 1000;

type ViewOptions = { out: string; port: number; redact(text: string): string };

/** The read-only pages of the records in a folder. Requests must name this host, against DNS rebinding. */
function createView({ out, redact }: Omit<ViewOptions, "port">, port: () => number): Hono {
  const records = new Records(out);
  /** Rendered once for all requests that share the data. */
  const rendered = new WeakMap<object, string>();
  const page = async (context: Context, data: WrittenReport | RunsPage | undefined) => {
    if (!data) return context.text("There is no such record.\n", 404);
    // In parts, because those of the data are JSON and stay JSON.
    const render = () => [...renderPage(toPage(data), { isServed: true })].map((part) => redact(part)).join("");
    const html = rendered.get(data) ?? render();
    rendered.set(data, html);
    return context.html(html);
  };
  return new Hono()
    .use(async (context, next) => {
      // A URL omits the port where it is 80.
      const hosts = ["127.0.0.1", "localhost"].map((name) => new URL(`http://${name}:${port()}`).host);
      const { host = "", origin } = context.req.header();
      const isForeign =
        (origin !== undefined && !hosts.some((one) => origin === `http://${one}`)) || isEmbedded(context.req.header());
      if (!hosts.includes(host) || isForeign)
        return context.text("This server only answers requests from its own pages.\n", 403);
      if (context.req.method !== "GET") return context.text("This server is read-only.\n", 405, { allow: "GET" });
      await next();
      context.header("cache-control", "no-store");
      context.header("cross-origin-resource-policy", "same-origin");
      context.header("referrer-policy", "no-referrer");
      context.header("x-content-type-options", "nosniff");
      context.header("x-frame-options", "DENY");
      return undefined;
    })
    .get("/", async (context) => page(context, await records.list()))
    .get("/compare", async (context) => {
      const { base = "", head = "" } = context.req.query();
      return page(context, await records.compare(base, head));
    })
    .get("/runs/:id", async (context) => page(context, await records.page(context.req.param("id"))))
    .get("/runs/:id/data", async (context) => {
      const data = await records.page(context.req.param("id"));
      if (!data) return context.text("There is no such record.\n", 404);
      return context.body(redact([...toPage(data).json].join("")), 200, { "content-type": "application/json" });
    })
    .get("/runs/:id/events", async (context) => {
      const id = context.req.param("id");
      if (!(await records.has(id))) return context.text("There is no such record.\n", 404);
      return streamSSE(context, async (stream) => {
        // The first event is sent at once, since the record may have changed after the page was made.
        for (let seen = ""; !stream.aborted; await stream.sleep(interval)) {
          const stamp = await records.stamp(id);
          if (stamp !== seen) await stream.writeSSE({ event: "changed", data: stamp });
          seen = stamp;
        }
      });
    })
    .notFound((context) => context.text("There is no such page.\n", 404))
    .onError((error, context) => context.text(`${redact(error.message)}\n`, 500));
}

/** Whether a page of another origin loads this in itself. Following a link to this server is permitted. */
function isEmbedded(headers: Record<string, string | undefined>): boolean {
  const { "sec-fetch-site": site = "none", "sec-fetch-dest": destination } = headers;
  return site !== "same-origin" && site !== "none" && destination !== "document";
}

/** Serves the pages on the loopback address. Throws a usage error if the port cannot be used. */
async function startView(options: ViewOptions): Promise<{ url: string; close(): Promise<void> }> {
  let port = options.port;
  const hint = "Name another with --port, or a free one with --port 0.";
  const app = createView(options, () => port);
  const server = await new Promise<ServerType>((resolve, reject) => {
    const started = serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }, (address) => {
      port = address.port;
      resolve(started);
    });
    started.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? usageError(`Port ${port} is in use.`, hint)
          : usageError(`Port ${port} cannot be used: ${error.message}.`, hint),
      ),
    );
  });
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // Event streams do not end by themselves.
        if ("closeAllConnections" in server) server.closeAllConnections();
      }),
  };
}

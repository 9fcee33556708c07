import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type ServerType, serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { EvalsError, type ExitCode, messageOf, type Problem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { RunManifest, RunSummary } from "../base/types/run.ts";
import { compareRecords } from "../experiments/compare/ask.ts";
import { comparisonDocument } from "../experiments/compare/report.ts";
import { defaultMargin } from "../experiments/design/statistics.ts";
import { readResults } from "../experiments/pipeline/record.ts";
import { readReport } from "../experiments/reporting/report.ts";
import {
  blocksPage,
  experimentPage,
  PageTrialCollector,
  type RunEntry,
  type RunsPage,
  toPage,
  type WrittenReport,
} from "../experiments/run/report/page.ts";
import { describeRecord, makeHistories, type PastRun, runsPage, sideBySide } from "../experiments/run/report/runs.ts";
import { readOrWarn } from "../records/find.ts";
import { isRun, journalPath, readManifest } from "../records/record.ts";
import { heading, plainText, text } from "../reports/document.ts";
import { renderPage } from "../reports/html.ts";

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

/** The journals of this many recent runs are read for the trend. Older runs are listed from their manifests. */
const maxRead = 100;

/** An id is the name of a folder directly below, so that no other path can be read. */
const idForm = /^[\w-][\w.-]*$/;

const home = "/";

/** Makes pages from the records in a folder. Summaries are cached until their record changes. */
export class Records {
  readonly #out: string;
  readonly #summaries = new Map<string, { stamp: string; summary: RunSummary }>();
  /** Pages that are being made, by what they show. */
  readonly #pages = new Map<string, Promise<unknown>>();

  constructor(out: string) {
    this.#out = out;
  }

  /** The list of all records, newest first, with the problems of unreadable ones. Other folders are ignored. */
  list(): Promise<RunsPage> {
    return this.#share("list", () => this.#list());
  }

  async #list(): Promise<RunsPage> {
    const unreadable: Problem[] = [];
    const warn = (problem: Problem) => unreadable.push(problem);
    const entries: RunEntry[] = [];
    const past: PastRun[] = [];
    // One after the other: many open files at a time can exceed the limit of the process.
    for (const id of await this.#listFolders(warn)) {
      const dir = join(this.#out, id);
      const manifest = (await isRun(dir)) ? await readOrWarn(readManifest(dir), warn) : undefined;
      if (manifest?.id !== id) continue;
      const isRead = entries.length < maxRead;
      const isSummarized = isRead && manifest.experiment === undefined;
      const summary = isSummarized ? await readOrWarn(this.#summary(manifest), warn) : undefined;
      const verdict = isRead ? await this.#verdict(manifest) : undefined;
      entries.push(describeRecord(manifest, { summary, verdict }));
      if (summary && manifest.finishedAt !== undefined) past.unshift({ manifest, suites: summary.suites });
    }
    return runsPage(this.#out, entries, makeHistories(past), unreadable);
  }

  /** The names of folders that can have a record, newest first. */
  async #listFolders(warn: (problem: Problem) => void): Promise<string[]> {
    try {
      return (await readdir(this.#out))
        .filter((name) => idForm.test(name))
        .sort()
        .reverse();
    } catch (error) {
      // Without a folder there is no record yet.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        warn({ severity: "warning", message: `${this.#out} cannot be read: ${messageOf(error)}.` });
      return [];
    }
  }

  async has(id: string): Promise<boolean> {
    return (await this.#find(id)) !== undefined;
  }

  /** The page of a record, live while the record is unfinished, or why it cannot be read. */
  page(id: string): Promise<WrittenReport | undefined> {
    return this.#share(`page ${id}`, () =>
      this.#page(id).catch((error) => explain("This record cannot be read", error)),
    );
  }

  /** The comparison of two runs, with all cases side by side, or why they cannot be compared. */
  compare(base: string, head: string): Promise<WrittenReport | undefined> {
    return this.#share(`compare ${base} ${head}`, () =>
      this.#compare(base, head).catch((error) => explain("These runs cannot be compared", error)),
    );
  }

  /** Makes a page once for all requests that come meanwhile: each would read whole journals. */
  #share<T>(what: string, make: () => Promise<T>): Promise<T> {
    const made = this.#pages.get(what) ?? make().finally(() => this.#pages.delete(what));
    this.#pages.set(what, made);
    return made as Promise<T>;
  }

  async #page(id: string): Promise<WrittenReport | undefined> {
    const manifest = await this.#find(id);
    if (!manifest) return undefined;
    const { experiment, finishedAt } = manifest;
    const dir = join(this.#out, id);
    const isFinished = finishedAt !== undefined;
    const served = { home, ...(!isFinished && { live: `/runs/${id}/data` }) };
    const read = () => readReport({ dir, manifest }, { withTrials: true });
    if (!experiment) return { ...(await read()).page(), ...served };
    const made = experiment.result && isFinished ? await read().catch(() => undefined) : undefined;
    if (made) return { ...made.page(), ...served };
    const trials = new PageTrialCollector(manifest);
    await readResults(dir, manifest, trials);
    const title = heading(1, `evals ${experiment.command}${isFinished ? "" : ": not finished"}`);
    const why = isFinished ? "Its result cannot be read: another version of tool-evals made this record." : undefined;
    return { ...experimentPage([title, text(why)], manifest, trials), ...served };
  }

  async #compare(base: string, head: string): Promise<WrittenReport | undefined> {
    const [a, b] = await Promise.all([this.#find(base), this.#find(head)]);
    if (!a || !b) return undefined;
    const { report } = await compareRecords(
      { base, head, margin: defaultMargin, out: this.#out },
      { cwd: this.#out, err: () => {} },
    );
    const [then, now] = await Promise.all([this.#summary(a), this.#summary(b)]);
    return { ...blocksPage([...comparisonDocument(report), ...sideBySide(then, now)]), home };
  }

  /** A stamp that changes whenever a trial is recorded or the record is finished. */
  async stamp(id: string): Promise<string> {
    const dir = join(this.#out, id);
    const files = [join(dir, "run.json"), journalPath(dir)].map((file) => stat(file).catch(() => undefined));
    return (await Promise.all(files)).map((one) => `${one?.mtimeMs}:${one?.size}`).join(" ");
  }

  /** The headline of a finished experiment; undefined if its result cannot be read. */
  async #verdict(manifest: RunManifest): Promise<RunEntry["result"] | undefined> {
    if (manifest.experiment?.result === undefined || manifest.finishedAt === undefined) return undefined;
    const read = await readReport({ dir: join(this.#out, manifest.id), manifest }, {}).catch(() => undefined);
    const first = read?.page().before.find((block) => block.kind === "heading");
    return first && { text: plainText(first.text), ...(first.tone && { tone: first.tone }) };
  }

  async #summary(manifest: RunManifest): Promise<RunSummary> {
    const { id } = manifest;
    const stamp = await this.stamp(id);
    const known = this.#summaries.get(id);
    if (known?.stamp === stamp) return known.summary;
    const summary = (await readResults(join(this.#out, id), manifest)).summary();
    this.#summaries.set(id, { stamp, summary });
    return summary;
  }

  /** Returns undefined if there is no such record. Throws EvalsError if it cannot be read. */
  async #find(id: string): Promise<RunManifest | undefined> {
    const dir = join(this.#out, id);
    if (!idForm.test(id) || !(await isRun(dir))) return undefined;
    const manifest = await readManifest(dir);
    return manifest.id === id ? manifest : undefined;
  }
}

/** A page with a problem of the user's files. Throws any other error again. */
function explain(title: string, error: unknown): WrittenReport {
  if (!(error instanceof EvalsError)) throw error;
  return { ...blocksPage([heading(1, title, "warn"), text(...error.message.split("\n"))]), home };
}

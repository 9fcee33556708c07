import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { EvalsError, messageOf, type Problem } from "../base/types/errors.ts";
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
  runPage,
  type WrittenReport,
} from "../experiments/run/report/page.ts";
import { describeRecord, makeHistories, type PastRun, runsPage, sideBySide } from "../experiments/run/report/runs.ts";
import { readOrWarn } from "../records/find.ts";
import { isRun, journalPath, readManifest } from "../records/record.ts";
import { heading, plainText, text } from "../reports/document.ts";

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
    const dir = join(this.#out, id);
    if (manifest.experiment?.result && manifest.finishedAt !== undefined) {
      const made = await readReport({ dir, manifest }, { withTrials: true }).catch(() => undefined);
      if (made) return { ...made.page(), home };
    }
    const trials = new PageTrialCollector(manifest);
    const results = await readResults(dir, manifest, trials);
    const served = { home, ...(manifest.finishedAt === undefined && { live: `/runs/${id}/data` }) };
    if (!manifest.experiment) return { ...runPage({ summary: results.summary(), manifest }, trials), ...served };
    const { command } = manifest.experiment;
    const blocks =
      manifest.finishedAt === undefined
        ? [heading(1, `evals ${command}: not finished`)]
        : [
            heading(1, `evals ${command}`),
            text("Its result cannot be read: another version of tool-evals made this record."),
          ];
    return { ...experimentPage(blocks, manifest, trials), ...served };
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

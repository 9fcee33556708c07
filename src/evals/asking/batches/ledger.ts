import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, open, truncate } from "node:fs/promises";
import * as z from "zod";
import { readRegularFile } from "../../base/files/readRegularFile.ts";
import { EvalsError, messageOf, usageError } from "../../base/types/errors.ts";
import { formatIssues } from "../../base/types/issues.ts";
import { usageSchema } from "../../base/types/trial.ts";
import { failToWrite, writeError } from "../../records/disk.ts";
import { createLineCheck, formatLine } from "../../records/journal.ts";
import { ledgerPath } from "../../records/record.ts";

/** A request in a batch: its id there, the key of its cell, and the number of the attempt at the cell, from 1. */
const entrySchema = z.object({
  id: z.string(),
  cell: z.string(),
  attempt: z.number().int().min(1),
  lost: usageSchema.optional().describe("what replies to earlier attempts cost that could not be used"),
});
export type LedgerEntry = z.infer<typeof entrySchema>;

export const lineSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("prepared").describe("about to be submitted"),
    label: z.string(),
    model: z.string(),
    after: z.string().nullable().describe("the newest batch of the account before"),
    at: z.string(),
    requests: z.array(entrySchema),
  }),
  z.object({ kind: z.literal("submitted"), label: z.string(), batch: z.string() }),
  z.object({
    kind: z.literal("released").describe("these bring nothing any more, so their cells may be submitted again"),
    requests: z.array(z.string()),
  }),
]);
type Line = z.infer<typeof lineSchema>;

/** One submission. Without `batch`, it is unknown whether it arrived. */
export type Chunk = {
  label: string;
  model: string;
  after: string | undefined;
  at: string;
  entries: Map<string, LedgerEntry>;
  batch?: string;
};

/** Creates the id of a request. It is unique among all batches of all runs, so that a batch can be recognized by it. */
export function createRequestId({ label }: Pick<Chunk, "label">, cell: string, attempt: number): string {
  const sum = createHash("sha256").update(JSON.stringify([label, cell, attempt]));
  return `eval-${sum.digest("hex").slice(0, 40)}`;
}

/** An attempt at a cell, and its submission. */
export type Sent = { entry: LedgerEntry; chunk: Chunk };

/**
 * What a run has submitted to batch APIs, in the file `batches.jsonl` of its folder. Every change is on disk before it
 * takes effect. A submission is recorded before it is sent, so that no request is paid for twice, whenever the process
 * is killed.
 */
export class Ledger {
  readonly #path: string;
  readonly #run: string;
  readonly #file: FileHandle;
  readonly #redact: (text: string) => string;
  readonly #chunks = new Map<string, Chunk>();
  /** The attempts at each cell. */
  readonly #sent = new Map<string, readonly Sent[]>();
  /** The cell of each request, by request id. */
  readonly #cells = new Map<string, string>();
  #lines = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, run: string, file: FileHandle, redact: (text: string) => string) {
    this.#path = path;
    this.#run = run;
    this.#file = file;
    this.#redact = redact;
  }

  /**
   * Opens the ledger of a run's folder, which every run in batches has from its start. `redact` removes known secrets
   * from its lines, even from ids of a service. Throws EvalsError if it is missing, cannot be read or written, or was
   * edited, because it is then unknown what was paid for.
   */
  static async open(dir: string, run: string, redact: (text: string) => string): Promise<Ledger> {
    const path = ledgerPath(dir);
    const text = await readRegularFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw writeError(path, error);
      throw usageError("The list of the run's batches is missing: it was removed.", restoreHint, { file: path });
    });
    // Drop an incomplete line, which a killed process leaves: it did not take effect.
    const complete = text.slice(0, text.lastIndexOf("\n") + 1);
    if (complete.length < text.length) await truncate(path, Buffer.byteLength(complete)).catch(failToWrite(path));
    const file = await open(path, "a").catch(failToWrite(path));
    const ledger = new Ledger(path, run, file, redact);
    const lines = complete.split("\n").slice(0, -1);
    const check = createLineCheck(run, { file: "the run's batches", isWhole: true });
    for (const [at, line] of lines.entries()) ledger.#take(parseLine(line, check, path, at + 1));
    ledger.#lines = lines.length;
    return ledger;
  }

  /** The submissions of a model. */
  list(model: string): Chunk[] {
    return [...this.#chunks.values()].filter((chunk) => chunk.model === model);
  }

  /** The last attempt at a cell that was not released. */
  find(cell: string): Sent | undefined {
    return this.#sent.get(cell)?.at(-1);
  }

  /** Whether a batch belongs to this run. */
  has(batch: string): boolean {
    return [...this.#chunks.values()].some((chunk) => chunk.batch === batch);
  }

  /** Creates a submission of this run, without entries. */
  start(model: string, after: string | undefined): Chunk {
    const label = `${this.#run}-${randomBytes(6).toString("hex")}`;
    return { label, model, after, at: new Date().toISOString(), entries: new Map() };
  }

  /** Records a submission that is about to be sent. */
  async prepare({ label, model, after, at, entries }: Chunk): Promise<Chunk> {
    await this.#write({ kind: "prepared", label, model, after: after ?? null, at, requests: [...entries.values()] });
    return this.#chunks.get(label) as Chunk;
  }

  /** Records the batch id of a submission. */
  async submitted({ label }: Chunk, batch: string): Promise<void> {
    await this.#write({ kind: "submitted", label, batch });
  }

  /** Records that these requests were not answered and will not be. */
  async release(requests: Iterable<string>): Promise<void> {
    const ids = [...requests];
    if (ids.length > 0) await this.#write({ kind: "released", requests: ids });
  }

  /** Records that these cells are asked again, whatever happened to their requests. */
  async restart(cells: Iterable<string>): Promise<void> {
    await this.release([...cells].flatMap((cell) => this.#sent.get(cell) ?? []).map(({ entry }) => entry.id));
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.#file.close().catch(failToWrite(this.#path));
  }

  #write(line: Line): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      try {
        const numbered = { ...line, run: this.#run, seq: ++this.#lines };
        await this.#file.appendFile(formatLine(JSON.stringify(numbered), this.#redact));
        await this.#file.datasync();
        if ((await this.#file.stat()).nlink === 0) throw new Error("it was removed");
      } catch (error) {
        throw writeError(this.#path, error);
      }
      this.#take(line);
    });
    return this.#writing;
  }

  #take(line: Line): void {
    if (line.kind === "prepared") {
      const { label, model, after, at, requests } = line;
      const entries = new Map(requests.map((entry) => [entry.id, entry]));
      const chunk: Chunk = { label, model, after: after ?? undefined, at, entries };
      this.#chunks.set(label, chunk);
      for (const entry of requests) {
        this.#cells.set(entry.id, entry.cell);
        this.#sent.set(entry.cell, [...(this.#sent.get(entry.cell) ?? []), { entry, chunk }]);
      }
    } else if (line.kind === "submitted") {
      const chunk = this.#chunks.get(line.label);
      if (chunk) chunk.batch = line.batch;
    } else {
      for (const id of line.requests) {
        const cell = this.#cells.get(id) ?? "";
        const left = this.#sent.get(cell)?.filter(({ entry }) => entry.id !== id) ?? [];
        if (left.length > 0) this.#sent.set(cell, left);
        else this.#sent.delete(cell);
      }
    }
  }
}

const restoreHint =
  "Restore the file, or start a new run. Without what was in it, requests in batches would be asked and paid for again.";

function parseLine(text: string, check: ReturnType<typeof createLineCheck>, file: string, line: number): Line {
  try {
    const data = JSON.parse(text);
    const fault = check(text, Object(data));
    if (fault !== undefined) throw usageError(fault, restoreHint, { file, line });
    return lineSchema.parse(data);
  } catch (error) {
    if (error instanceof EvalsError) throw error;
    const reason = error instanceof z.ZodError ? formatIssues(error) : messageOf(error);
    throw usageError(`This line of the run's batches cannot be read: ${reason}`, restoreHint, { file, line });
  }
}

import { createHash, randomBytes } from "node:crypto";
import * as z from "zod";
import { getOrAdd } from "../../base/collections.ts";
import { readRegularFile, replaceFile } from "../../base/files/files.ts";
import { EvalsError, formatIssues, messageOf, usageError } from "../../base/types/errors.ts";
import { usageSchema } from "../../base/types/trial.ts";
import { writeError } from "../../records/disk.ts";
import { createLineCheck, formatLine, recordMode } from "../../records/journal.ts";
import { ledgerPath } from "../../records/record.ts";

/** A request in a batch: its id there, the key of its cell, and the number of the attempt at the cell, from 1. */
const entrySchema = z.object({
  id: z.string(),
  cell: z.string(),
  attempt: z.number().int().min(1),
  lost: usageSchema.optional().describe("what replies to earlier attempts cost that could not be used"),
  released: z.boolean().optional().describe("it brings nothing any more, so its cell may be submitted again"),
});
export type LedgerEntry = z.infer<typeof entrySchema>;

const chunkSchema = z.object({
  label: z.string(),
  model: z.string(),
  after: z.string().optional().describe("the newest batch of the account before"),
  at: z.string(),
  batch: z.string().optional().describe("absent until it is known that it arrived"),
  requests: z.array(entrySchema),
});
/** One submission, which is written before it is sent. Without `batch`, it is unknown whether it arrived. */
export type Chunk = z.infer<typeof chunkSchema>;

export const ledgerSchema = z.object({ submissions: z.array(chunkSchema) });

/** Creates the id of a request. It is unique among all batches of all runs, so that a batch can be recognized by it. */
export function createRequestId({ label }: Pick<Chunk, "label">, cell: string, attempt: number): string {
  const sum = createHash("sha256").update(JSON.stringify([label, cell, attempt]));
  return `eval-${sum.digest("hex").slice(0, 40)}`;
}

/** An attempt at a cell, and its submission. */
export type Sent = { entry: LedgerEntry; chunk: Chunk };

/**
 * What a run has submitted to batch APIs, in the file `batches.json` of its folder, which is replaced as a whole with
 * every change. A submission is recorded before it is sent, so that no request is paid for twice, whenever the process
 * is killed.
 */
export class Ledger {
  readonly #chunks: Chunk[] = [];
  /** The attempts at each cell. */
  readonly #sent = new Map<string, Sent[]>();
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly path: string,
    private readonly run: string,
    private readonly redact: (text: string) => string,
  ) {}

  /**
   * Opens the ledger of a run's folder, which every run in batches has from its start. `redact` removes known secrets
   * from it, even from ids of a service. Throws EvalsError if it is missing, cannot be read or was edited, because it
   * is then unknown what was paid for.
   */
  static async open(dir: string, run: string, redact: (text: string) => string): Promise<Ledger> {
    const path = ledgerPath(dir);
    const text = await readRegularFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw writeError(path, error);
      throw usageError("The list of the run's batches is missing: it was removed.", restoreHint, { file: path });
    });
    const ledger = new Ledger(path, run, redact);
    for (const chunk of text === "" ? [] : parseLedger(text, run, path)) ledger.#add(chunk);
    return ledger;
  }

  /** The submissions of a model. */
  list(model: string): Chunk[] {
    return this.#chunks.filter((chunk) => chunk.model === model);
  }

  /** The last attempt at a cell that was not released. */
  find(cell: string): Sent | undefined {
    return this.#sent.get(cell)?.findLast(({ entry }) => !entry.released);
  }

  /** Whether a batch belongs to this run. */
  has(batch: string): boolean {
    return this.#chunks.some((chunk) => chunk.batch === batch);
  }

  /** Creates a submission of this run, without requests. */
  start(model: string, after: string | undefined): Chunk {
    const label = `${this.run}-${randomBytes(6).toString("hex")}`;
    return { label, model, ...(after !== undefined && { after }), at: new Date().toISOString(), requests: [] };
  }

  /** Records a submission that is about to be sent. */
  async prepare(chunk: Chunk): Promise<void> {
    this.#add(chunk);
    await this.#save();
  }

  /** Records the batch id of a submission. */
  async submitted(chunk: Chunk, batch: string): Promise<void> {
    chunk.batch = batch;
    await this.#save();
  }

  /** Records that these requests bring nothing any more, so that their cells are submitted again. */
  async release(requests: readonly LedgerEntry[]): Promise<void> {
    for (const entry of requests) entry.released = true;
    if (requests.length > 0) await this.#save();
  }

  /** Releases all requests of these cells. */
  async restart(cells: Iterable<string>): Promise<void> {
    await this.release([...cells].flatMap((cell) => this.#sent.get(cell) ?? []).map(({ entry }) => entry));
  }

  #add(chunk: Chunk): void {
    this.#chunks.push(chunk);
    for (const entry of chunk.requests) getOrAdd(this.#sent, entry.cell, () => []).push({ entry, chunk });
  }

  #save(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const state = JSON.stringify({ submissions: this.#chunks, run: this.run, seq: 1 });
      await replaceFile(this.path, formatLine(state, this.redact), { mode: recordMode }).catch((error) => {
        throw writeError(this.path, error);
      });
    });
    return this.#writing;
  }
}

const restoreHint =
  "Restore the file, or start a new run. Without what was in it, requests in batches would be asked and paid for again.";

function parseLedger(text: string, run: string, file: string): Chunk[] {
  const what = "The list of the run's batches";
  try {
    const data = Object(JSON.parse(text));
    const fault = createLineCheck(run, what)(text.trimEnd(), data);
    if (fault === undefined) return ledgerSchema.parse(data).submissions;
    throw usageError(fault, restoreHint, { file });
  } catch (error) {
    if (error instanceof EvalsError) throw error;
    const reason = error instanceof z.ZodError ? formatIssues(error) : messageOf(error);
    throw usageError(`${what} cannot be read: ${reason}`, restoreHint, { file });
  }
}

import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openJournal } from "../../src/evals/runs/journal.ts";
import {
  compactJournal,
  createRun,
  findRecord,
  findRun,
  newRunId,
  readManifest,
  readTrials,
} from "../../src/evals/runs/record.ts";
import type { Trial } from "../../src/evals/types/trial.ts";
import { aManifest, aTrial } from "../fakes/record.ts";

let out: string;
let dir: string;
beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), "evals-record-"));
  dir = join(out, "run-1");
});
afterEach(() => rmSync(out, { recursive: true }));

async function record(...trials: Trial[]): Promise<void> {
  const journal = await openJournal(join(dir, "trials.jsonl"));
  await Promise.all(trials.map((trial) => journal.append(trial)));
  await journal.close();
}

async function recorded(): Promise<Trial[]> {
  const trials: Trial[] = [];
  for await (const trial of readTrials(dir)) trials.push(trial);
  return trials;
}

describe("the run record", () => {
  it("reads back what was written, in the order of writing", async () => {
    const trials = Array.from({ length: 50 }, (_, index) => aTrial("c", index + 1));
    await createRun(dir, aManifest("c"));
    await record(...trials);
    expect(await readManifest(dir)).toEqual(aManifest("c"));
    expect(await recorded()).toEqual(trials);
  });

  it("has a line on the disk by the time its append resolves", async () => {
    await createRun(dir, aManifest("c"));
    const journal = await openJournal(join(dir, "trials.jsonl"));
    await journal.append(aTrial("c", 1));
    expect(JSON.parse(readFileSync(join(dir, "trials.jsonl"), "utf8"))).toEqual(aTrial("c", 1));
    await journal.close();
  });

  it("leaves out a last line that was cut off, and refuses any other bad line with its number", async () => {
    await createRun(dir, aManifest("c"));
    await record(aTrial("c", 1));
    appendFileSync(join(dir, "trials.jsonl"), '{"cell":{"suite":"s","ca');
    expect(await recorded()).toEqual([aTrial("c", 1)]);
    appendFileSync(join(dir, "trials.jsonl"), "\n");
    await expect(recorded()).rejects.toThrow(
      `${join(dir, "trials.jsonl")}:2: error: This line of the journal is not JSON.\n  Remove the line, which was edited by hand, and resume the run.`,
    );
  });

  it("compacts to one line a cell: torn lines and unwanted trials go, the rest stays as it was", async () => {
    await createRun(dir, aManifest("c"));
    const cancelled = aTrial("c", 2, { outcome: { kind: "broken", stage: "cancelled", message: "stopped" } });
    await record(aTrial("c", 1), cancelled, aTrial("c", 3));
    appendFileSync(join(dir, "trials.jsonl"), '{"cell":');
    const kept: number[] = [];
    await compactJournal(
      dir,
      (trial) => trial.outcome.kind === "answered",
      (trial) => kept.push(trial.cell.trial),
    );
    expect(kept).toEqual([1, 3]);
    expect(await recorded()).toEqual([aTrial("c", 1), aTrial("c", 3)]);
  });

  it("tells a run that is not there, truncated, or of another format", async () => {
    await expect(readManifest(dir)).rejects.toThrow(/is not a run: it has no run.json/);
    await createRun(dir, aManifest("c"));
    await expect(createRun(dir, aManifest("c"))).rejects.toThrow(/exists already/);
    writeFileSync(join(dir, "run.json"), '{"format":"tool-evals run 1",');
    await expect(readManifest(dir)).rejects.toThrow("The manifest is not JSON.");
    writeFileSync(join(dir, "run.json"), JSON.stringify({ ...aManifest("c"), format: "tool-evals run 9" }));
    await expect(readManifest(dir)).rejects.toThrow("Not a run record of this version");
  });

  it("finds a record by folder, by id and as the latest of its command", async () => {
    const experiment = { command: "crowd" as const, suite: "s", model: "scripted", cases: ["c"], arms: [], setup: {} };
    await createRun(dir, aManifest("c"));
    await createRun(join(out, "run-2"), { ...aManifest("c"), id: "run-2", experiment });
    expect((await findRecord("run", dir, out)).dir).toBe(dir);
    expect((await findRecord("run", "run-1", out)).manifest).toEqual(aManifest("c"));
    expect((await findRecord("run", "latest", out)).dir).toBe(dir);
    expect((await findRecord("crowd", "latest", out)).dir).toBe(join(out, "run-2"));
    await expect(findRecord("run", "run-2", out)).rejects.toThrow(
      "error: The record run-2 was made by `evals crowd`, not by `evals run`.\n  Give a record of `evals run`.",
    );
    await expect(findRecord("blame", "latest", out)).rejects.toThrow(
      `There is no record of \`evals blame\` under ${out}`,
    );
    await expect(findRun("run-3", out)).rejects.toThrow(
      `There is no run "run-3".\n  Runs are read from ${out}; change the folder with --out.`,
    );
  });

  it("names runs so that they sort by time and are file names everywhere", () => {
    expect(newRunId(new Date("2026-11-21T09:30:00.250Z"))).toBe("2026-11-21T09-30-00-250");
  });
});

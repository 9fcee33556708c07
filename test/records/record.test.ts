import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { EvalsError, exitCodes } from "../../src/evals/base/types/errors.ts";
import type { JsonObject } from "../../src/evals/base/types/json.ts";
import type { Trial } from "../../src/evals/base/types/trial.ts";
import { findRecord, findRun } from "../../src/evals/records/find.ts";
import { openJournal } from "../../src/evals/records/journal.ts";
import { compactJournal, createRun, newRunId, readManifest, readTrials } from "../../src/evals/records/record.ts";
import { makeFolder } from "../fakes/folder.ts";
import { aManifest, aTrial } from "../fakes/record.ts";

let out: string;
let dir: string;
beforeEach(() => {
  out = makeFolder();
  dir = join(out, "run-1");
});

async function record(...trials: Trial[]): Promise<void> {
  const journal = await openJournal(join(dir, "trials.jsonl"), "run-1");
  await Promise.all(trials.map((trial) => journal.append(trial)));
  await journal.close();
}

async function recorded(): Promise<Trial[]> {
  const trials: Trial[] = [];
  for await (const trial of readTrials(dir, "run-1")) trials.push(trial);
  return trials;
}

describe("the run record", () => {
  it("reads back what was written, in the order of writing", async () => {
    const trials = Array.from({ length: 50 }, (_, index) => aTrial("c", index + 1));
    await createRun(out, aManifest("c"));
    await record(...trials);
    expect(await readManifest(dir)).toEqual(aManifest("c"));
    expect(await recorded()).toEqual(trials);
  });

  it("has a line on disk when its append resolves", async () => {
    await createRun(out, aManifest("c"));
    const journal = await openJournal(join(dir, "trials.jsonl"), "run-1");
    await journal.append(aTrial("c", 1));
    expect(JSON.parse(readFileSync(join(dir, "trials.jsonl"), "utf8"))).toMatchObject(aTrial("c", 1));
    await journal.close();
  });

  it("ignores a truncated last line, and refuses any other bad line with its number", async () => {
    await createRun(out, aManifest("c"));
    await record(aTrial("c", 1));
    appendFileSync(join(dir, "trials.jsonl"), '{"cell":{"suite":"s","ca');
    expect(await recorded()).toEqual([aTrial("c", 1)]);
    appendFileSync(join(dir, "trials.jsonl"), "\n");
    await expect(recorded()).rejects.toThrow(
      `${join(dir, "trials.jsonl")}:2: error: This line of the journal is not JSON.\n  Remove the line, which was edited by hand, and resume the run.`,
    );
  });

  it("compacts to one line per cell: drops torn lines and unwanted trials, and keeps the rest", async () => {
    await createRun(out, aManifest("c"));
    const cancelled = aTrial("c", 2, { outcome: { kind: "broken", stage: "cancelled", message: "stopped" } });
    await record(aTrial("c", 1), cancelled, aTrial("c", 3));
    appendFileSync(join(dir, "trials.jsonl"), '{"cell":');
    const kept: number[] = [];
    writeFileSync(join(dir, "trials.jsonl.0123456789ab"), "left by a killed process");
    const lines = await compactJournal(dir, "run-1", {
      keep: (trial) => trial.outcome.kind === "answered",
      onKept: (trial) => kept.push(trial.cell.trial),
    });
    expect(kept).toEqual([1, 3]);
    expect(lines).toBe(2);
    expect(readdirSync(dir).sort()).toEqual(["run.json", "trials.jsonl"]);
    expect(await recorded()).toEqual([aTrial("c", 1), aTrial("c", 3)]);
  });

  it("refuses lines without a checksum", async () => {
    await createRun(out, aManifest("c"));
    appendFileSync(join(dir, "trials.jsonl"), `${JSON.stringify(aTrial("c", 1))}\n`);
    const compaction = compactJournal(dir, "run-1", { isOwn: true, keep: () => true, onKept: () => {} });
    await expect(compaction).rejects.toThrow("was edited: checksum mismatch");
  });

  it("refuses a line that is nested too deeply for the programs that read it, and keeps one of 100 levels", async () => {
    await createRun(out, aManifest("c"));
    const nested = (levels: number): JsonObject => (levels === 0 ? {} : { in: nested(levels - 1) });
    const trial = (at: number, levels: number) => {
      const { turns, ...rest } = aTrial("c", at);
      return {
        ...rest,
        turns: turns.map((turn) => ({ ...turn, calls: [{ id: "1", tool: "t", arguments: nested(levels) }] })),
      };
    };
    await record(trial(1, 99));
    expect(await recorded()).toEqual([trial(1, 99)]);
    await record(trial(2, 1_000));
    await expect(recorded()).rejects.toThrow(
      `${join(dir, "trials.jsonl")}:2: error: This line of the journal is nested too deeply.`,
    );
  });

  it("names an invalid line with a valid checksum", async () => {
    await createRun(out, aManifest("c"));
    const { outcome: _, ...edited } = aTrial("c", 2);
    await record(aTrial("c", 1), edited as Trial);
    const keep = (trial: Trial) => trial.outcome.kind === "answered";
    await expect(compactJournal(dir, "run-1", { isOwn: true, keep, onKept: () => {} })).rejects.toThrow(
      `${join(dir, "trials.jsonl")}:2: error: Not a run record of this version:`,
    );
  });

  it("is not rewritten if every line is kept: a torn line is cut off, and numbering continues", async () => {
    await createRun(out, aManifest("c"));
    await record(aTrial("c", 1), aTrial("c", 2));
    const file = join(dir, "trials.jsonl");
    const { ino } = statSync(file);
    appendFileSync(file, '{"cell":');
    const compact = () => compactJournal(dir, "run-1", { keep: () => true, onKept: () => {} });
    const lines = await compact();
    expect([lines, statSync(file).ino]).toEqual([2, ino]);
    const journal = await openJournal(file, "run-1", { lines });
    await journal.append(aTrial("c", 3));
    await journal.close();
    expect(await recorded()).toEqual([aTrial("c", 1), aTrial("c", 2), aTrial("c", 3)]);

    const [, ...rest] = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, rest.join("\n"));
    expect(await compact()).toBe(2);
    expect(readFileSync(file, "utf8")).toMatch(/"seq":1,.*\n.*"seq":2,/);
  });

  it("refuses a journal and a manifest that are not files", async () => {
    await createRun(out, aManifest("c"));
    rmSync(join(dir, "trials.jsonl"));
    mkdirSync(join(dir, "trials.jsonl"));
    await expect(readTrials(dir, "c").next()).rejects.toThrow("The journal is not a file.");
    rmSync(join(dir, "trials.jsonl"), { recursive: true });
    const all = { keep: () => true, onKept: () => {} };
    await expect(compactJournal(dir, "run-1", all)).rejects.toThrow("The journal of the run is missing");
    rmSync(join(dir, "run.json"));
    symlinkSync("/dev/zero", join(dir, "run.json"));
    await expect(readManifest(dir)).rejects.toThrow(/is not a run: it has no run.json/);
  });

  it.skipIf(!existsSync("/proc/self/mem"))("names a manifest that cannot be read", async () => {
    mkdirSync(dir);
    symlinkSync("/proc/self/mem", join(dir, "run.json"));
    await expect(readManifest(dir)).rejects.toThrow("The manifest cannot be read: ");
  });

  it("names a run that is missing, truncated, or of another format", async () => {
    await expect(readManifest(dir)).rejects.toThrow(/is not a run: it has no run.json/);
    await createRun(out, aManifest("c"));
    writeFileSync(join(dir, "run.json"), '{"format":"tool-evals run 1",');
    await expect(readManifest(dir)).rejects.toThrow("The manifest is not JSON.");
    writeFileSync(join(dir, "run.json"), `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`);
    await expect(readManifest(dir)).rejects.toThrow("The manifest is nested too deep.");
    writeFileSync(join(dir, "run.json"), JSON.stringify({ ...aManifest("c"), format: "tool-evals run 9" }));
    await expect(readManifest(dir)).rejects.toThrow("Not a run record of this version");
    const [suite] = aManifest("c").suites;
    const cases = suite?.cases.map((one) => ({ ...one, toolset: "__proto__" }));
    writeFileSync(join(dir, "run.json"), JSON.stringify({ ...aManifest("c"), suites: [{ ...suite, cases }] }));
    await expect(readManifest(dir)).rejects.toThrow("not a hash");
  });

  it("finds a record by folder, by id and as the latest of its command", async () => {
    const experiment = {
      ...{ command: "variants" as const, suite: "s", model: "scripted", cases: ["c"], arms: [], setup: {} },
    };
    await createRun(out, aManifest("c"));
    await createRun(out, { ...aManifest("c"), id: "run-2", experiment });
    expect((await findRecord("run", dir, out)).dir).toBe(dir);
    expect((await findRecord("run", "run-1", out)).manifest).toMatchObject(aManifest("c"));
    expect((await findRecord("run", "latest", out)).dir).toBe(dir);
    expect((await findRecord("variants", "latest", out)).dir).toBe(join(out, "run-2"));
    await expect(findRecord("run", "run-2", out)).rejects.toThrow(
      "error: The record run-2 was made by `evals variants`, not by `evals run`.\n  Give a record of `evals run`.",
    );
    await expect(findRecord("blame", "latest", out)).rejects.toThrow(
      `There is no record of \`evals blame\` under ${out}`,
    );
    await expect(findRun("run-3", out)).rejects.toThrow(
      `There is no run "run-3".\n  Runs are read from ${out}; change the folder with --out.`,
    );
  });

  it("gives a run the latest id, even if the clock was set back or two start in the same millisecond", async () => {
    const at = (id: string) => createRun(out, { ...aManifest("c"), id }).then(({ manifest }) => manifest.id);
    expect(await at("2026-11-21T09-30-00-250")).toBe("2026-11-21T09-30-00-250");
    expect(await at("2026-11-21T09-30-00-250")).toBe("2026-11-21T09-30-00-251");
    expect(await at("2020-01-01T00-00-00-000")).toBe("2026-11-21T09-30-00-252");
    expect((await findRecord("run", "latest", out)).manifest.id).toBe("2026-11-21T09-30-00-252");
    const same = await Promise.all(Array.from({ length: 5 }, () => at("2027-01-01T00-00-00-999")));
    expect(new Set(same).size).toBe(5);
  });

  it("names runs so that they sort by time and are file names everywhere", () => {
    expect(newRunId(new Date("2026-11-21T09:30:00.250Z"))).toBe("2026-11-21T09-30-00-250");
  });
});

describe("a line of the journal", () => {
  const file = () => join(dir, "trials.jsonl");
  const lines = () => readFileSync(file(), "utf8").split("\n").slice(0, -1);
  const write = (all: readonly string[]) => writeFileSync(file(), `${all.join("\n")}\n`);

  beforeEach(async () => {
    await createRun(out, aManifest("c"));
    await record(aTrial("c", 1), aTrial("c", 2), aTrial("c", 3));
  });

  it("names its run, its number and its checksum", () => {
    const [first = "", second = ""] = lines();
    expect(JSON.parse(first)).toMatchObject({ run: "run-1", seq: 1, sum: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(JSON.parse(second)).toMatchObject({ seq: 2 });
  });

  it.each<[string, (all: string[]) => string[], string]>([
    [
      "edited",
      (all) => all.map((line, at) => (at === 1 ? line.replace('"trial":2', '"trial":4') : line)),
      ":2: error: This line of the journal was edited: checksum mismatch.",
    ],
    [
      "edited, without its checksum",
      (all) => all.map((line, at) => (at === 1 ? JSON.stringify(aTrial("c", 4)) : line)),
      ":2: error: This line of the journal was edited: checksum mismatch.",
    ],
    [
      "doubled",
      ([one = "", two = "", three = ""]) => [one, two, two, three],
      ":3: error: This line of the journal is doubled or out of order: number 2 after number 2.",
    ],
    [
      "swapped",
      ([one = "", two = "", three = ""]) => [two, one, three],
      ":2: error: This line of the journal is doubled or out of order: number 1 after number 2.",
    ],
  ])("is refused with its number when it is %s", async (_, change, message) => {
    write(change(lines()));
    await expect(recorded()).rejects.toThrow(
      `${file()}${message}\n  Restore the file, or remove the line and resume the run: its trial is asked again.`,
    );
  });

  it("is refused in the journal of another run", async () => {
    await expect(readTrials(dir, "run-9").next()).rejects.toThrow(
      `${file()}:1: error: This line of the journal belongs to the run run-1, not to run-9.`,
    );
  });

  it("can be removed: the run is resumed without it", async () => {
    write(lines().toSpliced(1, 1));
    expect(await recorded()).toEqual([aTrial("c", 1), aTrial("c", 3)]);
  });
});

describe("a disk that fails", () => {
  const isIncomplete = (error: unknown) => error instanceof EvalsError && error.exitCode === exitCodes.incomplete;

  it("says why a folder cannot be created", async () => {
    const blocked = join(out, "file");
    writeFileSync(blocked, "");
    await expect(createRun(join(blocked, "reports"), aManifest("c"))).rejects.toThrow(
      "Choose another folder with --out: a part of this path is a file.",
    );
    await expect(createRun(join(blocked, "reports"), aManifest("c"))).rejects.toSatisfy(isIncomplete);
    await expect(createRun(blocked, aManifest("c"))).rejects.toThrow(
      "Choose another folder with --out: this is a file.",
    );
  });

  it.each([
    ["ENOSPC: no space left on device, write", "Free space on that disk"],
    ["EACCES: permission denied, open", "Choose a folder that you may write to with --out."],
    ["EPERM: operation not permitted, open", "Choose a folder that you may write to with --out."],
  ])("leaves no folder of a run whose manifest could not be written: %s", async (message, hint) => {
    const failing = () => {
      throw Object.assign(new Error(message), { code: message.split(":")[0] });
    };
    const writing = createRun(out, aManifest("c"), failing);
    await expect(writing).rejects.toThrow(`run.json cannot be written: ${message.slice(0, 6)}`);
    await expect(writing).rejects.toThrow(hint);
    expect(readdirSync(out)).toEqual([]);
  });

  it.each<[string, (file: string) => void, string]>([
    ["removed", () => rmSync(dir, { recursive: true }), "it was removed."],
    ["cut", (file) => truncateSync(file, 0), "another program changed it."],
  ])("rejects every line after the first that could not be written, when its file was %s", async (_, spoil, why) => {
    await createRun(out, aManifest("c"));
    const file = join(dir, "trials.jsonl");
    const journal = await openJournal(file, "run-1");
    await journal.append(aTrial("c", 1));
    spoil(file);
    await expect(journal.append(aTrial("c", 2))).rejects.toThrow(`error: ${file} cannot be written: ${why}`);
    await expect(journal.append(aTrial("c", 3))).rejects.toSatisfy(isIncomplete);
    await journal.close();
    mkdirSync(dir, { recursive: true });
  });

  it.skipIf(!existsSync("/dev/full"))("says what to do about a full disk", async () => {
    const journal = await openJournal("/dev/full", "run-1");
    await expect(journal.append(aTrial("c", 1))).rejects.toThrow(
      "Free space on that disk, then run it again, with --resume if it had begun.",
    );
    await journal.close();
  });
});

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { nightsFile, readNights, writeNight } from "../../src/evals/records/nights.ts";

const dir = mkdtempSync(join(tmpdir(), "evals-nights-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const of = { suite: "files", model: "anthropic:x", baseline: "run-0" };
const first = { night: "run-1", cases: { read: "3/3", move: "0/3+0/7" } };
const second = { night: "run-2", cases: { read: "2/3" } };

describe("the nights since a baseline", () => {
  it("are stored next to it, one line per night, each run once", async () => {
    const file = nightsFile(join(dir, "files.anthropic-x.json"));
    expect(file).toBe(join(dir, "files.anthropic-x.nights.jsonl"));
    expect(await readNights(file, of)).toEqual([]);
    await writeNight(file, of, first);
    await writeNight(file, of, { ...first, cases: {} });
    await writeNight(file, of, first);
    await writeNight(file, of, second);
    expect(await readNights(file, of)).toEqual([first, second]);
    expect(readFileSync(file, "utf8").split("\n")).toEqual([
      '{"format":"tool-evals nights 1","suite":"files","model":"anthropic:x","baseline":"run-0"}',
      '{"night":"run-1","cases":{"read":"3/3","move":"0/3+0/7"}}',
      '{"night":"run-2","cases":{"read":"2/3"}}',
      "",
    ]);
  });

  it("are all kept when jobs end at the same time, and leave no lock", async () => {
    const file = nightsFile(join(dir, "busy.json"));
    const nights = Array.from({ length: 12 }, (_, i) => ({ night: `run-${i}`, cases: { read: "3/3" } }));
    await Promise.all(nights.map((night) => writeNight(file, of, night)));
    const kept = await readNights(file, of);
    expect(kept.map(({ night }) => night).sort()).toEqual(nights.map(({ night }) => night).sort());
    expect(readdirSync(dir).filter((name) => name.startsWith("busy"))).toEqual(["busy.nights.jsonl"]);
  });

  it("are found under any id of the model", async () => {
    const file = join(dir, "alias.nights.jsonl");
    await writeNight(file, of, first);
    const now = { ...of, model: "anthropic:x-1", alias: "anthropic:x" };
    await writeNight(file, now, second);
    expect(await readNights(file, { ...of, model: "anthropic:x-1" })).toEqual([first, second]);
    await expect(readNights(file, of)).rejects.toThrow("on anthropic:x-1, not");
  });

  it("start over after a new baseline", async () => {
    const file = join(dir, "new.nights.jsonl");
    await writeNight(file, of, first);
    const now = { ...of, baseline: "run-9" };
    expect(await readNights(file, now)).toEqual([]);
    await writeNight(file, now, second);
    expect(await readNights(file, now)).toEqual([second]);
    expect(await readNights(file, of)).toEqual([]);
  });

  it("are refused with the line that cannot be read", async () => {
    const file = join(dir, "edited.nights.jsonl");
    await writeNight(file, of, first);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, `${text}{"night":"run-2","cases":{"read":"many"}}\n`);
    await expect(readNights(file, of)).rejects.toThrow(`${file}:3: error: This line of the nights cannot be read:`);
    writeFileSync(file, `${text}{"night":\n`);
    await expect(readNights(file, of)).rejects.toThrow("delete it to start the drift monitor anew");
    writeFileSync(file, "nights\n");
    await expect(readNights(file, of)).rejects.toThrow(`${file}:1: error`);
    writeFileSync(file, text);
    await expect(readNights(file, { ...of, suite: "others" })).rejects.toThrow(
      'The nights are of "files" on anthropic:x, not of "others" on anthropic:x.',
    );
  });
});

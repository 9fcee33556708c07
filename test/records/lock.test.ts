import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { lockRun, withFileLock } from "../../src/evals/records/lock.ts";
import { makeFolder } from "../fakes/folder.ts";

let dir: string;
beforeEach(() => {
  dir = makeFolder();
});

const lockByKernel = `
  const { tryLock } = require(${JSON.stringify(join(import.meta.dirname, "../../node_modules/fs-native-extensions"))});
  if (!tryLock(file.fd, 2 ** 30, 1)) throw new Error("not locked");`;
const lockBySocket = `
  const { dev, ino } = await file.stat();
  require("node:net").createServer().listen("\\0tool-evals-lock-" + dev + "-" + ino);`;

/** Locks without the native module. */
const bySocket = () => lockRun(dir, null);

describe.each([
  ["of the kernel", () => lockRun(dir)],
  ["by a socket", bySocket],
])("a lock %s", (_, lock) => {
  it("has one holder, which is named, until it is released", async () => {
    const { release } = await lock();
    await expect(lock()).rejects.toThrow(
      `error: The run ${dir} is being written by process ${process.pid}.\n  Wait until that process has ended, or stop it.`,
    );
    await release();
    await (await lock()).release();
  });

  it("is acquired by one of many", async () => {
    const all = await Promise.allSettled(Array.from({ length: 8 }, lock));
    const held = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(held).toHaveLength(1);
    await held[0]?.release();
  });

  it("whose file was removed is lost when another one is acquired, and is not released in its place", async () => {
    const first = await lock();
    rmSync(join(dir, "lock"));
    await first.verify();
    const second = await lock();
    await expect(first.verify()).rejects.toThrow(
      `error: The lock of the run ${dir} was removed, and another process writes the run now.`,
    );
    await first.release();
    await second.verify();
    await expect(lock()).rejects.toThrow("is being written by process");
    await second.release();
  });
});

describe.each([
  ["of the kernel", undefined],
  ["by a socket", null],
])("work in turn, with the lock %s", (_, tryLock) => {
  it.each([
    ["a free file", false],
    ["a file whose lock an ended process left", true],
  ])("on %s loses nothing of many who read and replace a file, and goes on after one that fails", async (_, isLeft) => {
    const file = join(dir, "list");
    writeFileSync(file, "");
    if (isLeft) writeFileSync(`${file}.lock`, await endedProcess());
    const add = (line: number) =>
      withFileLock(
        file,
        async () => {
          const before = await readFile(file, "utf8");
          if (line === 3) throw new Error("no");
          await writeFile(file, `${before}${line}\n`);
        },
        tryLock,
      );
    const lines = Array.from({ length: 60 }, (_, line) => line);
    const all = await Promise.allSettled(lines.map(add));
    expect(all.filter(({ status }) => status === "rejected")).toHaveLength(1);
    const added = readFileSync(file, "utf8").trim().split("\n").map(Number);
    expect(added.sort((a, b) => a - b)).toEqual(lines.filter((line) => line !== 3));
    expect(readdirSync(dir)).toEqual(["list"]);
  });
});

it("names the holder that writes its id only after another process asks", async () => {
  const tryLock = () => {
    setTimeout(() => writeFileSync(join(dir, "lock"), "4321"), 1);
    return false;
  };
  await expect(lockRun(dir, tryLock)).rejects.toThrow(`The run ${dir} is being written by process 4321.`);
});

it("that a file system cannot hold is reported with its file", async () => {
  const unknown = `Unknown system error -${constants.errno.ENOLCK}`;
  const withoutLocks = () => {
    throw Object.assign(new Error(unknown), { code: unknown });
  };
  await expect(lockRun(dir, withoutLocks)).rejects.toThrow(
    `error: ${join(dir, "lock")} cannot be written: ENOLCK: no locks available.\n  Choose a folder on another disk with --out: this one has no file locks.`,
  );
  await expect(lockRun(join(dir, "gone"))).rejects.toThrow(`error: ${join(dir, "gone", "lock")} cannot be written: `);
});

it.each([
  ["the kernel", lockByKernel, () => lockRun(dir)],
  ["a socket", lockBySocket, bySocket],
])("by %s is free immediately after its process was killed", async (_, script, lock) => {
  const holder = startHolder(script);
  try {
    await once(holder.stdout ?? holder, "data");
    await expect(lock()).rejects.toThrow(`is being written by process ${holder.pid}.`);
  } finally {
    holder.kill("SIGKILL");
    await once(holder, "exit");
  }
  await (await lock()).release();
});

/** The id of a process that has ended. */
async function endedProcess(): Promise<string> {
  const ended = spawn(process.execPath, ["--version"]);
  await once(ended, "exit");
  return String(ended.pid);
}

function startHolder(lock: string): ChildProcess {
  const script = `
    const { open } = require("node:fs/promises");
    open(${JSON.stringify(join(dir, "lock"))}, "a+").then(async (file) => {
      ${lock}
      await file.write(String(process.pid));
      console.log("locked");
      setInterval(() => file, 1000);
    });`;
  return spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
}

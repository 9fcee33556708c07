import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockRun, withFileLock } from "../../src/evals/records/lock.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "evals-lock-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Locks without the native module. */
const byProcessId = () => lockRun(dir, null);

describe.each([
  ["of the kernel", () => lockRun(dir)],
  ["by process id", byProcessId],
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
  ["by process id", null],
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
});

it("is free immediately after its process was killed", async () => {
  const holder = startHolder();
  try {
    await once(holder.stdout ?? holder, "data");
    await expect(lockRun(dir)).rejects.toThrow(`is being written by process ${holder.pid}.`);
  } finally {
    holder.kill("SIGKILL");
    await once(holder, "exit");
  }
  await (await lockRun(dir)).release();
});

it("by process id is free when that process has ended, and when the file is damaged", async () => {
  for (const text of [await endedProcess(), "", "not a number", "-1"]) {
    writeFileSync(join(dir, "lock"), text);
    const { release } = await byProcessId();
    expect(readFileSync(join(dir, "lock"), "utf8")).toMatch(new RegExp(`^${process.pid}( \\d+)?$`));
    await release();
  }
});

it.runIf(existsSync("/proc/self/stat"))("by process id is free when another process has got the id since", async () => {
  const { release } = await byProcessId();
  const [pid, start] = readFileSync(join(dir, "lock"), "utf8").split(" ");
  await release();
  writeFileSync(join(dir, "lock"), `${pid} ${Number(start) - 1}`);
  await (await byProcessId()).release();
  for (const held of [`${pid} ${start}`, `${pid}`]) {
    writeFileSync(join(dir, "lock"), held);
    await expect(byProcessId()).rejects.toThrow(`is being written by process ${pid}.`);
  }
});

it("by process id is free when a process ended while it removed the lock of another one", async () => {
  const lock = join(dir, "list.lock");
  writeFileSync(lock, await endedProcess());
  writeFileSync(`${lock}.ended`, await endedProcess());
  expect(await withFileLock(join(dir, "list"), async () => "done", null)).toBe("done");
  expect(readdirSync(dir)).toEqual([]);
});

/** The id of a process that has ended. */
async function endedProcess(): Promise<string> {
  const ended = spawn(process.execPath, ["--version"]);
  await once(ended, "exit");
  return String(ended.pid);
}

function startHolder(): ChildProcess {
  const script = `
    const { open } = require("node:fs/promises");
    const { tryLock } = require(${JSON.stringify(join(import.meta.dirname, "../../node_modules/fs-native-extensions"))});
    open(${JSON.stringify(join(dir, "lock"))}, "a+").then(async (file) => {
      if (!tryLock(file.fd, 2 ** 30, 1)) throw new Error("not locked");
      await file.write(String(process.pid));
      console.log("locked");
      setInterval(() => file, 1000);
    });`;
  return spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
}

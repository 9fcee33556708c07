import { readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type Ended, spawnEvals, start, summaryOf } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";

let dir: string;
let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
let onRequest: (index: number) => void | Promise<void>;
beforeEach(async () => {
  dir = makeFolder();
  onRequest = () => {};
  endpoint = await startMessagesEndpoint(async (_, index) => {
    await onRequest(index);
    return { calls: [{ name: "act", id: "call", input: {} }] };
  });
  writeActSuite(dir, 20, { maxTurns: 1 });
});

const evals = (...args: string[]) => spawnEvals(args, { cwd: dir });
const asked = () => ["run", "suite.json", "-m", "anthropic:x", "--base-url", endpoint.url, "-n", "1", "-c", "1"];
const ask = (...flags: string[]) => evals(...asked().slice(0, -2), "--json", ...flags);
const resume = (id: string, ...flags: string[]) => evals("run", "--resume", id, ...flags);
const findRun = () => readdirSync(join(dir, "reports"))[0] ?? "";
const path = (id: string, name: string) => join(dir, "reports", id, name);
const isPlain = ({ err }: Ended) => expect(err).not.toMatch(/Internal error|\n\s+at /);

describe("one record that cannot be read", () => {
  const unreadable = (id: string) =>
    new RegExp(
      `${id}/run\\.json: warning: The manifest is not JSON\\. The record is skipped\\.\\n {2}Restore the file, or remove its folder`,
    );

  it("is left out with a warning by what reads many records, and is an error for what acts on the latest", async () => {
    const ids: string[] = [];
    for (let made = 0; made < 4; made++) ids.push(summaryOf(await ask()).run);
    const [oldest = "", old = "", newer = "", newest = ""] = ids;
    truncateSync(path(newest, "run.json"), 700);
    const edited = readFileSync(path(oldest, "trials.jsonl"), "utf8").replace("right-tool", "wrong-tool");
    writeFileSync(path(oldest, "trials.jsonl"), edited);
    for (const args of [
      ["show"],
      ["show", "--failed"],
      ["compare", old, "latest"],
      ["show", "--history", "--json"],
      ["clean", "--dry-run"],
    ]) {
      const ended = await evals(...args);
      expect(ended, args.join(" ")).toMatchObject({ code: 0, err: expect.stringMatching(unreadable(newest)) });
      isPlain(ended);
    }
    const history = await evals("show", "--history", "--json");
    const { histories } = JSON.parse(history.out);
    expect(histories[0].runs.map(({ run }: { run: string }) => run)).toEqual([old, newer]);
    expect(history.err).toMatch(/trials\.jsonl:1: warning: .*checksum mismatch\. The record is skipped\./);
    expect((await evals("show")).out).toContain(newer);
    for (const args of [["run", "--resume", "latest"], ["baseline", "accept"], ["blame"]]) {
      const ended = await evals(...args);
      expect(ended, args.join(" ")).toMatchObject({
        code: 2,
        err: expect.stringContaining(`${newest}/run.json: error: The manifest is not JSON.`),
      });
      isPlain(ended);
    }
    // What cannot be read is not removed.
    await evals("clean", "--keep", "0");
    expect(readdirSync(join(dir, "reports")).filter((name) => ids.includes(name))).toEqual([newest]);
    const none = await evals("show", "--history");
    expect(none).toMatchObject({ code: 2, err: expect.stringMatching(unreadable(newest)) });
    expect(none.err).toContain("There is no finished run under reports that can be read");
  });
});

describe.skipIf(process.platform === "win32")("a record with a link to a file outside", () => {
  it.each(["lock", "trials.jsonl", "run.json", "report.html"])(
    "as %s is not resumed, and the file is kept",
    async (name) => {
      const { run: id } = summaryOf(await ask("--max-requests", "10"));
      const outside = join(dir, "outside");
      const text = name === "run.json" ? readFileSync(path(id, name), "utf8") : "kept";
      writeFileSync(outside, text);
      rmSync(path(id, name), { force: true });
      symlinkSync(outside, path(id, name));
      const resumed = await resume(id);
      expect(resumed).toMatchObject({
        code: 2,
        err: expect.stringContaining(`${id}/${name}: error: A record has no links`),
      });
      expect(readFileSync(outside, "utf8")).toBe(text);
    },
  );
});

describe("a journal that is removed or shortened", () => {
  it("after a run was stopped is reported with the number of its answers that are asked again", async () => {
    const { run: id } = summaryOf(await ask("--max-requests", "10"));
    const lines = readFileSync(path(id, "trials.jsonl"), "utf8").split("\n");
    writeFileSync(path(id, "trials.jsonl"), `${lines.slice(0, 4).join("\n")}\n`);
    const resumed = await resume(id, "--json");
    expect(resumed.code, resumed.err).toBe(0);
    expect(resumed.err).toMatch(
      /trials\.jsonl: warning: The journal lacks 6 answered trials that it had when the run was stopped\. They are asked and paid for again\./,
    );
    expect(endpoint.requests).toHaveLength(26);
  });
});

describe("a file of a record that is removed during the run", () => {
  /** Starts a run whose fifth request is held until `go` is called. */
  async function startHeld() {
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    let isReached = () => {};
    const reached = new Promise<void>((resolve) => {
      isReached = resolve;
    });
    onRequest = async (index) => {
      if (index !== 4) return;
      isReached();
      await held;
    };
    const { ended } = start([...asked(), "--json"], { cwd: dir });
    await reached;
    return { id: findRun(), ended, go };
  }

  it("is written again at its end, if it is run.json", async () => {
    const { id, ended, go } = await startHeld();
    rmSync(path(id, "run.json"));
    go();
    expect(summaryOf(await ended).totals).toMatchObject({ passed: 20, missing: 0 });
    expect((await evals("show", id)).code).toBe(0);
  });

  it("lets another process resume it, if it is the lock: the first one stops, and the record is whole", async () => {
    const { id, ended, go } = await startHeld();
    rmSync(path(id, "lock"));
    const resumed = await resume(id, "--json");
    expect(summaryOf(resumed).totals).toMatchObject({ passed: 20, missing: 0 });
    go();
    const stopped = await ended;
    expect(stopped.code).toBe(3);
    expect(stopped.err).toMatch(
      /error: The lock of the run \S+ was removed, and another process writes the run now\.\n {2}What this process has recorded is kept\./,
    );
    expect((await evals("show", id)).code).toBe(0);
    expect(readFileSync(path(id, "trials.jsonl"), "utf8").trim().split("\n")).toHaveLength(20);
  });
});

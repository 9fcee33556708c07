import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, get, type OutgoingHttpHeaders } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunManifest } from "../../src/evals/base/types/run.ts";
import type { PageData } from "../../src/evals/experiments/run/report/page.ts";
import { openJournal } from "../../src/evals/records/journal.ts";
import { createRun } from "../../src/evals/records/record.ts";
import { Records } from "../../src/evals/view/view.ts";
import { needsBrowser } from "../e2e/browser.ts";
import { pageOf } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { aManifest, aTrial, passed } from "../fakes/record.ts";
import { listen } from "../fixtures/ports.ts";

const cli = join(import.meta.dirname, "../../dist/evals/cli.js");

const dir = makeFolder();

/** Starts `evals view` on a folder. `files`: the most open files that it may have. */
async function startView(out: string, files = 1_000) {
  const command = `ulimit -n ${files}; exec "$0" "$@"`;
  const args = ["-c", command, process.execPath, cli, "view", "--port", "0", "--out", out];
  const child = spawn("sh", args, { cwd: dir, env: { PATH: process.env.PATH }, stdio: ["ignore", "pipe", "ignore"] });
  const [printed] = await once(child.stdout, "data");
  const url = String(printed).trim();
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { url, stop };
}

/** Writes a finished record of a suite with one case. Returns its folder. */
async function writeRecord(out: string, id: string, changes: Partial<RunManifest> = {}): Promise<string> {
  const manifest = { ...aManifest("c"), id, finishedAt: "2026-11-21T10:00:00.000Z", ...changes };
  const made = await createRun(join(dir, out), manifest);
  const journal = await openJournal(join(made.dir, "trials.jsonl"), id);
  await journal.append(aTrial("c", 1, { verdict: passed }));
  await journal.close();
  return made.dir;
}
const nameRun = (at: number) =>
  new Date(Date.UTC(2026, 0, 1) + at).toISOString().replace(/[:.]/g, "-").replace("Z", "");

const read = async (url: string): Promise<PageData> => pageOf(await (await fetch(url)).text());
const readList = async (url: string) => {
  const page = await read(url);
  if (page.kind !== "runs") throw new Error("this is not the list");
  return { ids: page.runs.map(({ id }) => id), warnings: JSON.stringify(page.trends) };
};

describe("records under evals view", () => {
  it("are read once for the requests that come meanwhile", async () => {
    await writeRecord("shared", nameRun(0));
    const records = new Records(join(dir, "shared"));
    const open = () => Promise.all([records.page(nameRun(0)), records.page(nameRun(0))]);
    const [first, second] = await open();
    expect(first).toBeDefined();
    expect(second).toBe(first);
    expect((await open())[0]).not.toBe(first);
  });

  it("are all listed, however few files may be open at a time", async () => {
    const first = await writeRecord("many", nameRun(0));
    for (let at = 1; at < 400; at++) {
      cpSync(first, join(dir, "many", nameRun(at)), { recursive: true });
      writeFileSync(join(dir, "many", nameRun(at), "run.json"), JSON.stringify({ ...aManifest("c"), id: nameRun(at) }));
    }
    const { url, stop } = await startView("many", 200);
    expect((await readList(url)).ids).toHaveLength(400);
    await stop();
  });

  it("that cannot be read are named with the reason, on the list and on their pages", async () => {
    const good = await writeRecord("spoiled", nameRun(0));
    const [loop, gap, tail, large, invalid] = await Promise.all(
      [1, 2, 3, 4, 5].map((at) => writeRecord("spoiled", nameRun(at * 1_000_000))),
    );
    if (!loop || !gap || !tail || !large || !invalid) throw new Error("nothing was written");
    rmSync(join(loop, "trials.jsonl"));
    symlinkSync("trials.jsonl", join(loop, "trials.jsonl"));
    const size = 300 * 1024 * 1024;
    truncateSync(join(tail, "trials.jsonl"), size);
    truncateSync(join(gap, "trials.jsonl"), size);
    appendFileSync(join(gap, "trials.jsonl"), "\n");
    truncateSync(join(large, "run.json"), 3e9);
    writeFileSync(join(invalid, "run.json"), JSON.stringify({ format: "tool-evals run 0", id: nameRun(5_000_000) }));
    // What is no name of a record has no page, so it is not listed.
    for (const name of ["a?b#c", "..x", "%2e%2e", "javascript:alert(1)"]) {
      cpSync(good, join(dir, "spoiled", name), { recursive: true });
      writeFileSync(join(dir, "spoiled", name, "run.json"), JSON.stringify({ ...aManifest("c"), id: name }));
    }
    const { url, stop } = await startView("spoiled");
    const { ids, warnings } = await readList(url);
    expect(ids).toEqual([tail, gap, loop, good].map((one) => one.slice(-23)));
    const reasons = {
      [loop]: "The journal cannot be read: ELOOP",
      [gap]: "trials.jsonl:2: error: This line of the journal is longer than 256 MiB.",
      [tail]: "The last line of the journal is longer than 256 MiB.",
      [large]: "The manifest cannot be read: File size",
      [invalid]: "Not a run record of this version:",
    };
    for (const [folder, reason] of Object.entries(reasons)) {
      expect(warnings).toContain(reason.replace("error", "warning"));
      const page = JSON.stringify(await read(`${url}runs/${folder.slice(-23)}`));
      expect(page).toContain("This record cannot be read");
      expect(page).toContain(reason);
    }
    await stop();
  });

  it("are not replaced by an empty list if the folder cannot be read", async () => {
    writeFileSync(join(dir, "file"), "");
    const { url, stop } = await startView("file");
    expect((await readList(url)).warnings).toMatch(/\/file cannot be read: ENOTDIR/);
    await stop();
  });
});

describe("a browser that opens evals view", () => {
  const browser = needsBrowser();
  let view: Awaited<ReturnType<typeof startView>>;
  const ids = [nameRun(0), nameRun(1_000_000)];
  beforeAll(async () => {
    for (const id of ids) await writeRecord("shown", id);
    view = await startView("shown");
  });
  afterAll(async () => {
    await view?.stop();
  });

  it("cannot make it read records for a page of another origin, but follows a link to it", async () => {
    const path = `runs/${ids[1]}`;
    const page = `<a href="${view.url}">records</a><script>document.domain</script>
      ${["img", "script", "iframe", "embed", "video"].map((tag) => `<${tag} src="${view.url}${path}?${tag}"></${tag}>`).join("")}
      <link rel="stylesheet" href="${view.url}${path}?style"><script>fetch("${view.url}${path}?fetch", { mode: "no-cors" })</script>`;
    const other = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(page));
    const port = await listen(other);
    // Another port of the same host, and another site.
    for (const host of ["127.0.0.1", "localhost"]) {
      const opened = await browser().newPage();
      const statuses = new Map<string, number>();
      opened.on("response", (answer) => statuses.set(new URL(answer.url()).search, answer.status()));
      await opened.goto(`http://${host}:${port}/`);
      await expect.poll(() => statuses.size).toBeGreaterThanOrEqual(8);
      statuses.delete("");
      expect(new Set(statuses.values()), JSON.stringify([...statuses])).toEqual(new Set([403]));
      await opened.getByRole("link").click();
      await opened.getByRole("heading", { name: "Recorded runs" }).waitFor();
      await opened.close();
    }
  });

  it("is not answered under the name of another site, whatever else it sends", async () => {
    const { port } = new URL(view.url);
    const ask = (path: string, headers: OutgoingHttpHeaders) =>
      new Promise<number | undefined>((resolve, reject) =>
        get({ port, path, headers, agent: false }, (answer) => resolve(answer.resume().statusCode)).on("error", reject),
      );
    const own = `127.0.0.1:${port}`;
    expect(await ask("http://evil.test/", { host: "evil.test" })).toBe(403);
    expect(await ask(`http://${own}/`, { host: "evil.test" })).toBe(403);
    expect(await ask("/", { host: `user@${own}` })).toBe(400);
    expect(await ask("/", { host: own, range: "bytes=0-5", "if-none-match": "*" })).toBe(200);
    expect(await ask(`/${"a".repeat(20_000)}`, { host: own })).toBe(431);
    expect(await ask("/runs/%ff%zz", { host: own })).toBe(404);
  });
});

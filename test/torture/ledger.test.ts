import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { spawnEvals, start, summaryOf } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import { startMessageBatches } from "../fixtures/endpoints/batches.ts";

let dir: string;
let endpoint: Awaited<ReturnType<typeof startMessageBatches>>;
let kill: () => void;
const world = () => ({ cwd: dir, env: { ANTHROPIC_BASE_URL: endpoint.url } });
const ledger = () => join(dir, "reports", readdirSync(join(dir, "reports")).sort()[0] ?? "", "batches.json");
const flags = ["run", "--batch", "-m", "anthropic:claude-haiku-5-5", "--seed", "7", "--json"];
const cells = 20;
const resume = (id = "latest") => spawnEvals(["run", "--resume", id, "--json"], world());

beforeEach(async () => {
  dir = makeFolder();
  writeActSuite(dir, cells, { trials: 1, maxTurns: 1 }, "evals/suite.json");
  kill = () => {};
  endpoint = await startMessageBatches({
    answer: () => ({ calls: [{ name: "act", input: {} }] }),
    treat: (operation) => {
      if (operation === "poll") kill();
      return "normal";
    },
  });
});

/** A run that is killed when its batch was submitted. */
async function killWhenSubmitted(): Promise<void> {
  const { child, ended } = start(flags, world());
  kill = () => void child.kill("SIGKILL");
  expect((await ended).code).toBe(null);
  kill = () => {};
}

const swap = (from: RegExp, to: string) => (text: string) => text.replace(from, to);

describe("a ledger of batches", () => {
  it.each([
    ["with another id of a batch", swap(/"batch":"batch_1"/, '"batch":"batch_9"'), /was edited: checksum mismatch/],
    ["with another id of a request", swap(/"id":"eval-./, '"id":"eval-x'), /was edited: checksum mismatch/],
    ["with another cell", swap(/c7/, "c8"), /was edited: checksum mismatch/],
    ["without a sum", swap(/,"sum":"[0-9a-f]+"\}\n$/, "}\n"), /cannot be read|was edited/],
    ["that is cut off in its middle", (text: string) => text.slice(0, 90), /cannot be read/],
    ["that is no object", () => "null", /was edited|cannot be read/],
  ])("%s is refused, and nothing is asked", async (_, change, message) => {
    await killWhenSubmitted();
    const text = readFileSync(ledger(), "utf8");
    expect(change(text)).not.toBe(text);
    writeFileSync(ledger(), change(text));
    const paid = { ...endpoint.paid };
    const creates = endpoint.counts.create;
    const { code, err } = await resume();
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(message) });
    expect(err).toContain("batches.json: error: ");
    expect(err).toContain("Restore the file, or start a new run.");
    expect(err).not.toMatch(/Internal error|\n\s+at /);
    expect([endpoint.paid, endpoint.counts.create]).toEqual([paid, creates]);
    // Restored, the run is completed, and every request was paid for once.
    writeFileSync(ledger(), text);
    const resumed = await resume();
    expect(summaryOf(resumed).totals, resumed.err).toMatchObject({ trials: cells, passed: cells });
    expect(endpoint.paid.plain + endpoint.paid.batched).toBe(cells);
  });

  it("of another run, or removed, is refused", async () => {
    await killWhenSubmitted();
    const own = ledger();
    const text = readFileSync(own, "utf8");
    rmSync(own);
    const removed = await resume();
    expect(removed).toMatchObject({
      code: 2,
      err: expect.stringContaining("The list of the run's batches is missing: it was removed."),
    });
    const other = summaryOf(await spawnEvals(flags, world()));
    writeFileSync(join(other.dir, "batches.json"), text);
    const foreign = await resume(other.run);
    expect(foreign).toMatchObject({
      code: 2,
      err: expect.stringMatching(/batches\.json: error: The list of the run's batches belongs to the run /),
    });
  });
});

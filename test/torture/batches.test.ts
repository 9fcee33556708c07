import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { start, summaryOf, trialsOf } from "../e2e/evals.ts";
import { type BatchEndpoint, startCompletionBatches, startMessageBatches } from "../fixtures/endpoints/batches.ts";
import { readPeakMiB } from "./memory.ts";

/** The long form: EVALS_TORTURE=long, with another number of cases in EVALS_TORTURE_CELLS. */
const isLong = process.env.EVALS_TORTURE === "long";
const cases = isLong ? Number(process.env.EVALS_TORTURE_CELLS ?? 100_000) : 1_000;

const providers = {
  anthropic: {
    model: "anthropic:claude-haiku-5-5",
    open: (): Promise<BatchEndpoint<object>> =>
      startMessageBatches({ answer: () => ({ calls: [{ name: "read", input: {} }] }) }),
    env: (url: string) => ({ ANTHROPIC_BASE_URL: url }),
  },
  openai: {
    model: "openai:gpt-6.1",
    open: (): Promise<BatchEndpoint<object>> =>
      startCompletionBatches({ answer: () => ({ calls: [{ name: "read", arguments: "{}" }] }) }),
    env: (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "test" }),
  },
};

describe.each(["anthropic", "openai"] as const)("a run in batches on %s", (name) => {
  const { model, open, env } = providers[name];

  /** Kills a run and resumes it. Returns false when the run was over before it was killed. */
  async function killAndResume(): Promise<boolean> {
    const dir = mkdtempSync(join(tmpdir(), "evals-batches-"));
    const endpoint = await open();
    try {
      mkdirSync(join(dir, "evals"));
      const tools = [{ name: "read", description: "Reads a file.", inputSchema: { type: "object" } }];
      writeFileSync(join(dir, "tools.json"), JSON.stringify(tools));
      const list = Array.from({ length: cases }, (_, i) => ({
        id: `c${i}`,
        input: `Read the file ${i}`,
        expect: { tool: "read" },
      }));
      const suite = { name: "files", server: { tools: "../tools.json" }, trials: 1, maxTurns: 1, cases: list };
      writeFileSync(join(dir, "evals/files.json"), JSON.stringify(suite));

      let peakMiB = 0;
      const run = async (args: readonly string[], isOver: () => boolean) => {
        const began = performance.now();
        const { child, ended } = start([...args, "--json"], { cwd: dir, env: env(endpoint.url) });
        let isRunning = true;
        void ended.then(() => {
          isRunning = false;
        });
        for (; isRunning; await pause(100)) {
          peakMiB = Math.max(peakMiB, readPeakMiB(child.pid));
          if (isOver()) child.kill("SIGKILL");
        }
        return { ...(await ended), seconds: (performance.now() - began) / 1_000 };
      };
      const first = await run(["run", "--batch", "-m", model, "--seed", "7"], () => countLines(dir) >= cases / 2);
      if (first.code === 0) return false;
      const recorded = countLines(dir);
      const last = await run(["run", "--resume", "latest"], () => false);
      console.log(
        `${cases} cases in batches on ${name}: ${first.seconds.toFixed(0)} s until it was killed with ${recorded} recorded, ` +
          `${last.seconds.toFixed(0)} s after that; peak memory ${peakMiB.toFixed(0)} MiB; ${endpoint.batches.length} batches`,
      );
      expect(first.code, first.err).toBe(null);
      expect(last.code, last.err).toBe(0);
      expect(endpoint.refused).toEqual([]);
      expect(endpoint.paid).toEqual({ plain: 1, batched: cases - 1 });
      expect(new Set(trialsOf(summaryOf(last).dir).map(({ cell }) => cell.case)).size).toBe(cases);
      expect(countLines(dir)).toBe(cases);
      return true;
    } finally {
      await endpoint.close();
      rmSync(dir, { recursive: true, force: true });
    }
  }

  it("that is killed while it records, and resumed, has every case and pays for no request twice", async () => {
    // On a busy machine the run can be over before the kill.
    while (!(await killAndResume()));
  }, 3_600_000);
});

/** The lines of the only record. */
function countLines(dir: string): number {
  const out = join(dir, "reports");
  const [id = ""] = existsSync(out) ? readdirSync(out) : [];
  const file = join(out, id, "trials.jsonl");
  return existsSync(file) ? readFileSync(file, "latin1").split("\n").length - 1 : 0;
}

import fc from "fast-check";
import { expect, it } from "vitest";
import type { RunManifest } from "../../../src/evals/base/types/run.ts";
import { runCommandLine } from "../../../src/evals/commands/index.ts";
import { runCommand } from "../../../src/evals/commands/run.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import type { RunOptions } from "../../../src/evals/experiments/run/runOptions.ts";
import { list, project, read } from "./project.ts";

/** The options of a command line, with what the file of the project adds. */
async function parse(words: readonly string[], io: ReturnType<ReturnType<typeof project>["io"]>): Promise<RunOptions> {
  let options: RunOptions | undefined;
  const keep = {
    ...runCommand,
    run: async (args: object) => {
      options = args as RunOptions;
      return 0 as const;
    },
  };
  await runCommandLine(["run", ...words], io, "0", [keep]);
  if (!options) throw new Error("nothing was parsed");
  return options;
}

/** What decides the answers of a run: all of its manifest but its name, the times and the totals. */
function withoutTimes({ id: _, nonce: ____, startedAt: __, finishedAt: ___, totals, ...manifest }: RunManifest) {
  return { ...manifest, totals: { ...totals, ms: 0 } };
}

/** Flags that a suite's own settings in the project file can contradict, and others. */
const flags = fc.record(
  {
    trials: fc.constantFrom("--trials=1", "--trials=2"),
    passRate: fc.constantFrom("--pass-rate=0.5", "--pass-rate=1"),
    maxTurns: fc.constantFrom("--max-turns=1", "--max-turns=3"),
    execute: fc.constantFrom("--execute=never", "--execute=read-only"),
    model: fc.constant("--model=lexical"),
    case: fc.constantFrom("--case=read", "--case=*"),
    failOn: fc.constantFrom("--fail-on=rate", "--fail-on=any"),
    check: fc.constant("--check=off"),
    concurrency: fc.constant("--concurrency=2"),
  },
  { requiredKeys: [] },
);
const settings = fc.record(
  {
    trials: fc.constantFrom(1, 3),
    passRate: fc.constantFrom(0, 0.8),
    maxTurns: fc.constant(2),
    execute: fc.constant("never"),
    model: fc.constantFrom("lexical", ["lexical"]),
  },
  { requiredKeys: [] },
);

it("a resumed run has the manifest, and so the plan for workers, of one that was not interrupted", async () => {
  let interrupted = 0;
  await fc.assert(
    fc.asyncProperty(flags, settings, settings, async (given, ofProject, ofSuite) => {
      const suite = { name: "files", server: { tools: "../tools.json" }, trials: 2, cases: [read, list] };
      const made = project({
        "evals/files.json": suite,
        "evals.config.json": { ...ofProject, suites: { files: ofSuite } },
      });
      const words = [...Object.values(given), "--json", "--seed=7"];
      const ask = async (line: readonly string[]) => {
        const io = made.io();
        await run(await parse(line, io), io);
        return made.manifest(JSON.parse(io.printed()).run);
      };
      const whole = await ask(words);
      const stopped = await ask([...words, "--max-requests=1"]);
      interrupted += stopped.finishedAt === undefined ? 1 : 0;
      const resumed = stopped.finishedAt ? stopped : await ask(["--resume", stopped.id, "--json"]);
      expect(withoutTimes(resumed)).toEqual(withoutTimes(whole));
    }),
    { numRuns: process.env.EVALS_TORTURE === "long" ? 300 : 12 },
  );
  expect(interrupted).toBeGreaterThan(0);
});

import { executionPolicies } from "../types/execution.ts";
import { defineCommand, number, texts } from "./command.ts";
import { formerThresholdFlag, jsonFlag, seedRange, serverFlags, severityFlag } from "./flags.ts";

export const probeCommand = defineCommand({
  command: "probe [paths..]",
  describe: "Call tools with inputs generated from their schemas, and check the results; no model is called",
  positionals: {
    paths: texts("Suite files or folders whose servers are probed (default: evals/, unless a flag names a server)"),
  },
  flags: {
    ...serverFlags,
    tool: texts("Probe only tools whose name matches this pattern (* matches any text)"),
    execute: {
      choices: executionPolicies,
      describe:
        "Which tools are called (default: as in the suite, otherwise safe: those annotated read-only or non-destructive; " +
        "the latter may leave data behind)",
    },
    runs: number({
      min: 1,
      max: 100_000,
      integer: true,
      default: 5,
      describe: "Maximum inputs per tool and kind of probe",
    }),
    seed: number({ ...seedRange, describe: "Seed of the generated inputs (default: random, printed)" }),
    timeout: number({ above: 0, max: 3600, default: 10, describe: "Timeout of one call, in seconds" }),
    "max-calls": number({
      min: 0,
      max: 100_000,
      integer: true,
      default: 50,
      describe: "Maximum further calls to shrink a failing input",
    }),
    call: texts('Make this call instead: {"tool": "...", "arguments": {...}}; repeatable, executed in order'),
    severity: severityFlag,
    profile: {
      choices: ["general", "spec"] as const,
      describe: "Rules to check; spec adds conventions of failures and texts, for your own servers (default: general)",
    },
    "failure-threshold": {
      choices: ["error", "warning", "info"] as const,
      default: "warning" as const,
      describe: "Lowest severity that exits with code 1",
    },
    "fail-on": formerThresholdFlag,
    json: jsonFlag,
  },
  examples: [
    ['probe --server "node dist/main.js"', "Probe every tool that is annotated as harmless"],
    ['probe --server "node dist/main.js" --execute always', "Probe every tool; only where nothing can be lost"],
    ['probe --config .mcp.json --name files --tool "read_*"', "Probe some tools of a registered server"],
    [
      `probe --server "node dist/main.js" --call '{"tool": "echo", "arguments": {"text": ""}}'`,
      "Repeat one call and check its result",
    ],
  ],
  run: async (args, io) => (await import("../inspection/probe/probe.ts")).probe(args, io),
});

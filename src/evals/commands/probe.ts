import { defaultPolicy } from "../base/types/flagValues.ts";
import { choice, defineCommand, number, texts } from "./command.ts";
import { executeFlag, findingFormat, jsonFlag, seedRange, serverFlags, severityFlag } from "./flags.ts";

export const probeCommand = defineCommand({
  command: "probe [paths..]",
  describe: "Call tools with inputs generated from their schemas, and check the results",
  positionals: {
    paths: texts("URL, command line in quotes, host configuration, or suites (default: evals/)"),
  },
  flags: {
    ...serverFlags,
    tool: texts(
      "Probe only tools whose name matches this pattern (* matches any text); one named in full is called in any case",
    ),
    execute: executeFlag(`Which tools are called (default: as in the suite, otherwise ${defaultPolicy})`),
    runs: number("Maximum inputs per tool and kind of probe", { min: 1, max: 100_000, integer: true, default: 5 }),
    seed: number("Seed of the generated inputs (default: random, printed)", seedRange),
    timeout: number("Timeout of one call, in seconds", { above: 0, max: 3600, default: 10 }),
    yes: { alias: "y", type: "boolean", default: false, describe: "Make the calls without asking for consent" },
    call: texts('Make this call instead: {"tool": "...", "arguments": {...}}; repeatable, executed in order'),
    severity: severityFlag,
    profile: choice(
      "Rules to check; spec adds conventions of failures and texts, for your own servers (default: general)",
      ["general", "spec"],
    ),
    "failure-threshold": choice("Lowest severity that exits with code 1", ["error", "warning", "info"], {
      default: "warning",
    }),
    format: findingFormat,
    json: { ...jsonFlag, describe: "Same as --format json" },
  },
  examples: [
    ['probe --server "node dist/main.js"', "Probe every tool that is annotated as read-only"],
    ['probe --server "node dist/main.js" --execute all', "Probe every tool; only where nothing can be lost"],
    ['probe --config .mcp.json --name files --tool "read_*"', "Probe some tools of a registered server"],
    [
      `probe --server "node main.js" --call '{"tool": "echo", "arguments": {}}'`,
      "Repeat one call and check its result",
    ],
  ],
  run: async (args, io) => (await import("../inspection/probe/probe.ts")).probe(args, io),
});

import { defaultPolicy } from "../base/types/flagValues.ts";
import { defineCommand, number, texts } from "./command.ts";
import { executeFlag, findingFormat, jsonFlag, serverFlags } from "./flags.ts";

export const doctorCommand = defineCommand({
  command: "doctor [paths..]",
  describe: "Start servers, list their tools, and explain how to fix what fails",
  positionals: {
    paths: texts("URL, command line in quotes, host configuration, or suites (default: evals/)"),
  },
  flags: {
    ...serverFlags,
    execute: { ...executeFlag("Which tools without required arguments are called once"), default: defaultPolicy },
    timeout: number("Timeout of a server's start, in seconds", { above: 0, max: 3600, default: 30 }),
    host: texts(
      "Also examine how a host shows the tools, at no cost: claude-code, codex, copilot or goose, or a model in one",
    ),
    format: findingFormat,
    json: { ...jsonFlag, describe: "Same as --format json" },
  },
  epilogue: "Exit code 1 when a server is unhealthy.",
  examples: [
    ['doctor --server "node dist/main.js"', "Examine one server"],
    ["doctor --config .mcp.json", "Examine every server that a host starts, and its entry"],
    ["doctor --host codex --config .mcp.json", "What Codex shows of the tools of these servers"],
    ["doctor --url https://example.com/mcp --execute never", "Call no tool"],
  ],
  run: async (args, io) => (await import("../inspection/doctor/doctor.ts")).doctor(args, io),
});

import { defaultPolicy } from "../base/types/flagValues.ts";
import { defineCommand, number, text, texts } from "./command.ts";
import { envFlags, executeFlag, headerFlag } from "./flags.ts";

export const workerCommand = defineCommand({
  command: "worker <queue> [paths..]",
  describe: "Run the trials that `evals run --queue` puts on a queue, in this checkout",
  positionals: {
    queue: text("URL of the Redis or Valkey server: redis:// or rediss://", { demandOption: true }),
    paths: texts("Files and folders with the suites that runs may use (default: evals/)"),
  },
  flags: {
    concurrency: number("Maximum concurrent trials per provider", {
      alias: "c",
      min: 1,
      max: 10_000,
      integer: true,
      default: 50,
    }),
    hosts: text(
      "Also run trials that start programs here, separated by commas: claude-code, codex, copilot, goose, custom",
      { coerce: parseHosts },
    ),
    execute: {
      ...executeFlag("Most permissive --execute with which a run may override its suites"),
      default: defaultPolicy,
    },
    "max-idle": number("Exit after this many seconds without a trial (default: never)", { above: 0 }),
    "base-url": text("Base URL of the model's API; it must be that of the run"),
    header: headerFlag,
    "claude-path": text("Claude Code executable (default: $CLAUDE_CODE_PATH, then claude on the PATH)"),
    ...envFlags,
  },
  epilogue:
    "Start it in the same checkout as the run, with the API keys of the models in its environment: keys, commands and URLs " +
    "are never put on the queue. It refuses a run whose files, tools or settings differ, and exits with 3. An interrupted " +
    "trial goes back to the queue. Give the user and password of the server in the URL, or in REDIS_USERNAME and " +
    "REDIS_PASSWORD. Needs the packages bullmq and ioredis.",
  examples: [
    ["worker redis://127.0.0.1:6379", "Run trials of anthropic, openai and lexical models until Ctrl-C"],
    ["worker rediss://queue.example:6380 -c 200", "The same over TLS, with up to 200 concurrent trials"],
    ["worker redis://queue:6379 --hosts claude-code,codex -c 4", "Also run trials in these hosts"],
    ["worker redis://queue:6379 --max-idle 60", "In CI: exit after a minute without a trial"],
    ["run --queue redis://queue:6379 -m anthropic:claude-haiku-5-5", "The run that plans, records and decides"],
  ],
  run: async ({ hosts, ...args }, io) =>
    (await import("../experiments/queue/worker.ts")).work({ ...args, hosts: hosts as string[] | undefined }, io),
});

const hostProviders = ["claude-code", "codex", "copilot", "goose", "custom"];

/** Throws for a word that is not a host. */
function parseHosts(value: string): string[] {
  const words = value.split(",").map((word) => word.trim());
  const wrong = words.find((word) => !hostProviders.includes(word));
  if (wrong === undefined) return words;
  throw new Error(`"${wrong}" is not a host. Use ${hostProviders.join(", ")}.`);
}

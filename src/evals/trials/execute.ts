import { executable } from "../scoring/policy.ts";
import { isJsonObject } from "../types/json.ts";
import type { ExecutionPolicy } from "../types/suite.ts";
import type { Toolset } from "../types/tool.ts";
import type { Broken, Call, Execution } from "../types/trial.ts";
import type { Lease, ServerPool } from "./serverPool.ts";

/** Executes the calls of one trial. `close` gives the server back, if one was needed. */
export type Executor = {
  execute(call: Call, signal: AbortSignal): Promise<Execution | Broken>;
  close(): Promise<void>;
};

const skipped = (reason: string): Execution => ({ status: "skipped", reason });

/**
 * The executor of one trial: a call is executed when its tool is listed, its arguments are an object and the policy
 * permits it. A server is asked for only when the first such call comes.
 */
export function executorFor(toolset: Toolset, policy: ExecutionPolicy, pool: ServerPool | undefined): Executor {
  let lease: Lease | undefined;
  return {
    async execute(call, signal) {
      const tool = toolset.tools.find((candidate) => candidate.name === call.tool);
      if (!tool) return skipped(`there is no tool ${call.tool}`);
      if (!isJsonObject(call.arguments)) return skipped("its arguments are not a JSON object");
      const permission = executable(tool, policy);
      if (!permission.yes) return skipped(permission.reason);
      if (!pool) return skipped(`${call.tool} comes from a static list, without a server`);
      if (!lease) {
        const acquired = await pool.acquire(signal);
        if ("kind" in acquired) return acquired;
        lease = acquired;
      }
      const startedAt = performance.now();
      const outcome = await lease.server.call(call.tool, call.arguments, signal);
      if (outcome.kind === "broken") return outcome;
      if (outcome.kind === "unknown-tool") return skipped(outcome.message);
      return { status: "executed", result: outcome.result, ms: performance.now() - startedAt };
    },
    async close() {
      await lease?.release();
    },
  };
}

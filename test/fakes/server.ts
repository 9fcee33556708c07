import type { CallOutcome, ToolServer } from "../../src/evals/base/types/tool.ts";

/** A server that answers by a function and can be made to die. */
export function scriptedServer(
  answer: (tool: string, args: unknown) => CallOutcome,
): ToolServer & { calls: [string, unknown][]; die(): void; closed: number } {
  let alive = true;
  const server = {
    name: "scripted",
    about: {},
    calls: [] as [string, unknown][],
    closed: 0,
    list: async () => [],
    async call(tool: string, args: unknown): Promise<CallOutcome> {
      server.calls.push([tool, args]);
      return alive ? answer(tool, args) : { kind: "broken", stage: "server", message: "the server is gone" };
    },
    alive: () => alive,
    die: () => {
      alive = false;
    },
    async close() {
      alive = false;
      server.closed++;
    },
  };
  return server;
}

/** A result of one text. */
export const text = (body: string): CallOutcome => ({
  kind: "result",
  result: { isError: false, content: [{ type: "text", text: body }] },
});

import { createHash } from "node:crypto";
import { type MessageAnswer, type MessagesBody, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { spoiled } from "./spoiled.ts";

type Case = { id: string; input: string; expect: { tool: string | string[] } };
type Listed = NonNullable<MessagesBody["tools"]>[number];

/**
 * A Messages endpoint that answers by lot: right in 95 of 100 trials, and in 30 where the spoiled wording is listed and the
 * case is the one that hangs on it. The lot is drawn from the request, so it is the same however trials are interleaved; a
 * request that comes again draws anew.
 */
export function startNoisyEndpoint(cases: readonly Case[], seed: string) {
  const times = new Map<string, number>();
  return startMessagesEndpoint((body): MessageAnswer => {
    const request = JSON.stringify(body);
    const again = (times.get(request) ?? 0) + 1;
    times.set(request, again);
    const lot = createHash("sha256").update(`${seed} ${again} ${request}`).digest().readUInt32BE() / 2 ** 32;
    const asked = JSON.stringify(body.messages);
    const one = cases.find(({ input }) => asked.includes(JSON.stringify(input)));
    const hurt = one?.id === spoiled.case && body.tools?.some(({ description }) => description === spoiled.wording);
    const [wanted = "none"] = [one?.expect.tool ?? "none"].flat();
    const right = lot < (hurt ? 0.3 : 0.95);
    if (right === (wanted === "none")) return { text: "There is no tool for that." };
    const tool = body.tools?.find(({ name }) => name === (right ? wanted : "list_allowed_directories"));
    return { calls: tool ? [{ name: tool.name, input: leastInput(tool) }] : [] };
  });
}

/** An input that the tool's schema takes. */
function leastInput({ input_schema: schema = {} }: Listed): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Record<string, { type?: string }>;
  const required = (schema.required ?? []) as string[];
  return Object.fromEntries(required.map((name) => [name, properties[name]?.type === "array" ? ["a"] : "a"]));
}

import { text } from "node:stream/consumers";
import { startLoopback } from "../../base/network/loopback.ts";
import { findWire } from "../protocols/index.ts";
import type { Wire } from "../protocols/wire.ts";

/** A provider on this machine whose model answers "Done." to everything. `bodies` are the model requests, in order. */
type OfflineProvider = { url: string; bodies: readonly string[]; close(): Promise<void> };

/** Starts a free provider that shows what a host sends. */
export async function startOfflineProvider(): Promise<OfflineProvider> {
  const bodies: string[] = [];
  const { http, url } = await startLoopback(async (request, response) => {
    const body = await text(request);
    const wire = findWire((request.url ?? "").split("?", 1)[0] ?? "");
    if (!wire) return void response.writeHead(404).end();
    bodies.push(body);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(replies[wire.name]());
  });
  return {
    url,
    bodies,
    async close() {
      http.closeAllConnections();
      await new Promise((done) => http.close(done));
    },
  };
}

const replyText = "Done.";

/** The stream of that reply, in each API. */
const replies: Record<Wire["name"], () => string> = {
  messages() {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const head = { id: "msg_offline", type: "message", role: "assistant", model: "offline", content: [] };
    return stream(
      { type: "message_start", message: { ...head, stop_reason: null, stop_sequence: null, usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: replyText } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
      { type: "message_stop" },
    );
  },
  responses() {
    const content = [{ type: "output_text", text: replyText, annotations: [] }];
    const item = { type: "message", id: "msg_offline", role: "assistant", status: "completed", content };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const response = { id: "resp_offline", object: "response", model: "offline", output: [item], usage };
    return stream(
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...response, status: "completed" } },
    );
  },
  completions() {
    const head = { id: "offline", object: "chat.completion.chunk", created: 0, model: "offline" };
    const chunks = [
      { ...head, choices: [{ index: 0, delta: { role: "assistant", content: replyText }, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { ...head, choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
    ];
    return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
  },
  gemini() {
    const content = { role: "model", parts: [{ text: replyText }] };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    return `data: ${JSON.stringify({ candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata })}\n\n`;
  },
};

function stream(...events: { type: string; [key: string]: unknown }[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

// A Messages endpoint that always gives one answer, in a separate process so that its CPU time is not counted.
// Arguments: latency in ms, and the skill to load instead of calling a tool.
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const latencyMs = Number(process.argv[2] ?? 0);
const call = process.argv[3]
  ? { name: "Skill", input: { skill: process.argv[3] } }
  : { name: "tool_3", input: { path: "notes.txt", limit: 5 } };
const body = JSON.stringify({
  id: "msg_bench",
  type: "message",
  role: "assistant",
  model: "bench",
  content: [
    { type: "text", text: "I will look that up." },
    { type: "tool_use", id: "toolu_bench", ...call },
  ],
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 900, output_tokens: 40, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
});
const headers = {
  "content-type": "application/json",
  "content-length": Buffer.byteLength(body),
  "request-id": "req_bench",
};

const server = createServer((request, response) => {
  request.resume();
  request.on("end", async () => {
    if (latencyMs > 0) await pause(latencyMs);
    response.writeHead(200, headers).end(body);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));

import * as z from "zod";
import { anyJson, count, cutStream, defineWire, listOf, maybe, type ReceivedReply, text, toUsage } from "./wire.ts";

const part = z.object({
  text,
  functionCall: maybe(z.object({ id: text, name: text, args: anyJson.catch({}) })),
  functionResponse: maybe(z.object({ id: text, name: text, response: anyJson.catch({}) })),
});
const content = z.object({ role: text, parts: listOf(part) });
const request = z.object({
  systemInstruction: maybe(content),
  contents: listOf(content),
  tools: listOf(z.object({ functionDeclarations: listOf(z.object({ name: text, description: text })) })),
});
const reply = z.object({
  responseId: text,
  modelVersion: text,
  candidates: listOf(z.object({ content: content.catch({ role: "", parts: [] }), finishReason: text })),
  promptFeedback: maybe(z.object({ blockReason: text })),
  error: maybe(z.object({ message: text })),
  usageMetadata: maybe(
    z.object({
      promptTokenCount: count,
      candidatesTokenCount: count,
      thoughtsTokenCount: count,
      cachedContentTokenCount: count,
    }),
  ),
});

/** Google's generateContent API. Calls without an id are numbered by name, as their results come back. */
export const gemini = defineWire({
  name: "gemini",
  matches: (path) => /:(streamGenerateContent|generateContent)$/.test(path),
  readRequest(body, path) {
    const { systemInstruction, contents, tools } = request.parse(body);
    const textsOf = (one: z.infer<typeof content> | undefined) =>
      (one?.parts ?? []).map((item) => item.text).filter((item) => item !== "");
    const others = contents.filter(({ role }) => role !== "model");
    const seen = new Map<string, number>();
    const outputs = others.flatMap(({ parts }) =>
      parts.flatMap(({ functionResponse: output }) => {
        if (!output) return [];
        return [
          { callId: output.id || countId(seen, output.name), text: JSON.stringify(output.response), isError: false },
        ];
      }),
    );
    const last = others.findLastIndex(({ parts }) => parts.some((one) => one.functionResponse));
    return {
      model: /models\/([^:/]+)/.exec(path)?.[1] ?? "",
      tools: tools.flatMap(({ functionDeclarations }) =>
        functionDeclarations.map(({ name, description }) => ({ name, description, deferred: false })),
      ),
      texts: [...textsOf(systemInstruction), ...others.flatMap(textsOf)],
      opening: textsOf(others[0]).join("\n"),
      outputs,
      notes: last < 0 ? [] : others.slice(last).flatMap(textsOf),
    };
  },
  readEvents(events) {
    const chunks = events.map((one) => reply.parse(one));
    const error = chunks.find((one) => one.error)?.error;
    if (error) return { fault: error.message || "the stream reported an error" };
    const candidates = chunks.flatMap((one) => one.candidates.slice(0, 1));
    const isBlocked = chunks.some((one) => one.promptFeedback?.blockReason);

    const finish = candidates.findLast((one) => one.finishReason !== "")?.finishReason;
    if (finish === undefined && !isBlocked) return cutStream;
    const parts = candidates.flatMap((one) => one.content.parts);
    const seen = new Map<string, number>();
    const calls = parts.flatMap(({ functionCall: call }) =>
      call ? [{ id: call.id || countId(seen, call.name), tool: call.name, arguments: call.args }] : [],
    );
    const usage = chunks.findLast((one) => one.usageMetadata)?.usageMetadata;
    const written = (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0);
    const stops: Record<string, ReceivedReply["stop"]> = { MAX_TOKENS: "cut", SAFETY: "refused" };
    return {
      id: chunks[0]?.responseId ?? "",
      ...(chunks[0]?.modelVersion && { model: chunks[0].modelVersion }),
      text: parts.map((one) => one.text).join(""),
      calls,
      usage: toUsage(usage?.promptTokenCount ?? 0, written, usage?.cachedContentTokenCount ?? 0),
      stop: isBlocked ? "refused" : (stops[finish ?? ""] ?? (calls.length > 0 ? "calls" : "done")),
    };
  },
});

function countId(seen: Map<string, number>, name: string): string {
  const number = (seen.get(name) ?? 0) + 1;
  seen.set(name, number);
  return `${name}#${number}`;
}

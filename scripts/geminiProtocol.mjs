// Google's generateContent API, for scripts that capture what Gemini CLI shows: the harness asks no model with it.
// Calls without an id are numbered by name, as their results come back.

export const gemini = {
  name: "gemini",
  matches: (path) => /:(streamGenerateContent|generateContent)$/.test(path),
  readRequest({ systemInstruction, contents = [], tools = [] }, path) {
    const textsOf = (content) => (content?.parts ?? []).map(({ text }) => text).filter(Boolean);
    const others = contents.filter(({ role }) => role !== "model");
    const number = createNumbering();
    const outputs = others.flatMap(({ parts = [] }) =>
      parts.flatMap(({ functionResponse: output }) =>
        output
          ? [{ callId: output.id || number(output.name), text: JSON.stringify(output.response), isError: false }]
          : [],
      ),
    );
    const last = others.findLastIndex(({ parts = [] }) => parts.some((part) => part.functionResponse));
    return {
      model: /models\/([^:/]+)/.exec(path)?.[1] ?? "",
      tools: tools
        .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
        .map(({ name, description = "" }) => ({ name, description, deferred: false })),
      texts: [...textsOf(systemInstruction), ...others.flatMap(textsOf)],
      opening: textsOf(others[0]).join("\n"),
      outputs,
      notes: last < 0 ? [] : others.slice(last).flatMap(textsOf),
    };
  },
  readReply(body) {
    const chunks = body.split("\n").flatMap((line) => (line.startsWith("data:") ? [JSON.parse(line.slice(5))] : []));
    const candidates = chunks.flatMap((chunk) => chunk.candidates?.slice(0, 1) ?? []);
    if (!candidates.some(({ finishReason }) => finishReason)) {
      return { kind: "fault", stage: "model", message: "the reply was cut off", isTransient: true };
    }
    const parts = candidates.flatMap(({ content }) => content?.parts ?? []);
    const number = createNumbering();
    const calls = parts.flatMap(({ functionCall: call }) =>
      call ? [{ id: call.id || number(call.name), tool: call.name, arguments: call.args ?? {} }] : [],
    );
    return {
      id: "",
      model: chunks[0]?.modelVersion ?? "",
      text: parts.map(({ text = "" }) => text).join(""),
      calls,
      answered: [],
      usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
      stop: calls.length > 0 ? "calls" : "done",
    };
  },
};

function createNumbering() {
  const seen = new Map();
  return (name) => {
    const number = (seen.get(name) ?? 0) + 1;
    seen.set(name, number);
    return `${name}#${number}`;
  };
}

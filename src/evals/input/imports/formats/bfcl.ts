import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suite.ts";
import { asObject, asText } from "./data.ts";
import { type Format, type ImportedCase, keep, leaveOut } from "./imported.ts";

/** The Berkeley leaderboard: a JSON object per line, `{ id, question, function, ground_truth? }`. */
export const bfcl: Format = {
  name: "bfcl",
  label: "Berkeley Function-Calling Leaderboard",
  recognises: ({ file, text }) => /\.jsonl?$/.test(file) && /^\s*\{"id":\s*"[^"]+",\s*"question":/.test(text),
  async read({ file, text }) {
    const cases = text.split(/\r?\n/).flatMap((line, at): ImportedCase[] => {
      if (line.trim() === "") return [];
      const place = { file, line: at + 1 };
      let entry: JsonObject;
      try {
        entry = asObject(JSON.parse(line) as Json);
      } catch {
        return [leaveOut({ name: `line ${at + 1}`, place, unsaid: [] }, "the line is not JSON")];
      }
      return [readEntry(entry, place)];
    });
    return { file, cases, unsaid: [] };
  },
};

function readEntry(entry: JsonObject, place: ImportedCase["place"]): ImportedCase {
  const id = asText(entry.id) ?? "";
  const common = { name: id, place, unsaid: [] };
  const turns = Array.isArray(entry.question) ? entry.question : [];
  if (turns.length !== 1) return leaveOut(common, "a conversation of several turns with an executed backend");
  const messages = ([turns].flat(2) as Json[]).filter(isJsonObject).map(({ role, content }) => ({ role, content }));
  const functions = ([entry.function ?? []].flat() as Json[]).filter(isJsonObject);
  const tools = functions.map(({ name, description, parameters }) => ({
    name: String(name).replaceAll(".", "_"),
    description: String(description ?? ""),
    inputSchema: toSchema(asObject(parameters)),
  }));
  const base = { id, messages, tools } as unknown as CaseFile;
  if (/irrelevance/.test(id)) return keep(common, { ...base, expect: { tool: "none" } });
  const truth = ([entry.ground_truth ?? []].flat() as Json[]).filter(isJsonObject);
  if (truth.length === 0)
    return leaveOut(common, "the accepted answers are in another file; join them as `ground_truth`");
  const calls = truth.map((answer) => {
    const [[name = "", args] = []] = Object.entries(answer);
    return { tool: name.replaceAll(".", "_"), args: asObject(args) };
  });
  return keep(common, { ...base, expect: { calls, order: "any", argsMatch: "bfcl" } });
}

const types: Readonly<Record<string, string>> = { dict: "object", tuple: "array", float: "number", any: "string" };

/** Converts the leaderboard's type names to those of JSON Schema. */
function toSchema(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
      if (key === "optional") return [];
      if (key === "type" && typeof value === "string") return [[key, types[value] ?? value]];
      if (key === "properties")
        return [
          [
            key,
            Object.fromEntries(Object.entries(asObject(value)).map(([name, one]) => [name, toSchema(asObject(one))])),
          ],
        ];
      return [[key, key === "items" ? toSchema(asObject(value)) : value]];
    }),
  );
}

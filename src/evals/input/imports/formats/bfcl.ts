import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suiteFile.ts";
import { asObject, asText, listOtherKeys, toLiteral, toObject } from "./data.ts";
import { type Format, type ImportedCase, keep, leaveOut } from "./imported.ts";

const ownRules =
  "here, space and punctuation in texts count, texts inside of values are compared without case, any number fits a number, and parallel calls are paired so that as many as possible fit";

/** The Berkeley leaderboard: a JSON object per line, `{ id, question, function, ground_truth? }`. */
export const bfcl: Format = {
  name: "bfcl",
  label: "Berkeley Function-Calling Leaderboard",
  recognizes: ({ file, text }) => /\.jsonl?$/.test(file) && /^\s*\{"id":\s*"[^"]+",\s*"question":/.test(text),
  async read({ file, text }) {
    const cases = text.split(/\r?\n/).flatMap((line, at): ImportedCase[] => {
      if (line.trim() === "") return [];
      const location = { file, line: at + 1 };
      try {
        return [readEntry(asObject(JSON.parse(line) as Json), location)];
      } catch {
        return [leaveOut({ name: `line ${at + 1}`, location, losses: [] }, "the line is not JSON")];
      }
    });
    return { file, cases, losses: [{ what: "rules of the leaderboard", detail: ownRules }] };
  },
};

function readEntry(entry: JsonObject, location: ImportedCase["location"]): ImportedCase {
  const id = asText(entry.id) ?? "";
  const common = { name: id, location, losses: listOtherKeys(entry, ["id", "question", "function", "ground_truth"]) };
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
  const calls = truth.flatMap((answer) =>
    Object.entries(answer).map(([name, args]) => {
      return { tool: name.replaceAll(".", "_"), args: acceptMembers(asObject(args)) };
    }),
  );
  return keep(common, { ...base, expect: { calls, order: "any", argsMode: "exact" } });
}

const acceptMembers = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).map(([name, accepted]) => [name, acceptAny(accepted)]));

/** A matcher for a list of accepted values, in which "" means that the value may be omitted. */
function acceptAny(accepted: Json): Json {
  const given = Array.isArray(accepted) ? accepted : [accepted];
  const values = new Map(given.filter((one) => one !== "").map((one) => [JSON.stringify(one), acceptOne(one)]));
  const [only = { $absent: true }, ...others] = values.values();
  const matcher = others.length === 0 ? only : { $anyOf: [only, ...others] };
  return given.includes("") && values.size > 0 ? { $optional: matcher } : matcher;
}

/** Texts are compared without case. The members of an object are lists of accepted values again. */
function acceptOne(value: Json): Json {
  if (typeof value === "string") return { $ignoreCase: value };
  if (Array.isArray(value)) return value.map(acceptOne);
  return isJsonObject(value) ? toObject(acceptMembers(value)) : toLiteral(value);
}

const types: Readonly<Record<string, string>> = { dict: "object", tuple: "array", float: "number", any: "string" };

/** Converts the leaderboard's type names to those of JSON Schema. */
function toSchema(schema: JsonObject): JsonObject {
  const convert = (key: string, value: Json): Json => {
    if (key === "type" && typeof value === "string") return types[value] ?? value;
    if (key === "items") return toSchema(asObject(value));
    if (key !== "properties") return value;
    return Object.fromEntries(Object.entries(asObject(value)).map(([name, one]) => [name, toSchema(asObject(one))]));
  };
  const kept = Object.entries(schema).filter(([key]) => key !== "optional");
  return Object.fromEntries(kept.map(([key, value]) => [key, convert(key, value)]));
}

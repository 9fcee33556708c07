import { isJsonObject, type Json } from "../types/json.ts";

/** A reply of a model without the code fence around it. */
export const unfence = (reply: string) => reply.replace(/^\s*```\w*\s*|\s*```\s*$/g, "").trim();

/** The first JSON array or object in a reply of a model: alone, in a code fence, or among words. Undefined if there is none. */
export function findJson(reply: string): Json | undefined {
  const fenced = [...reply.matchAll(/```\w*\s*\n([\s\S]*?)```/g)].map(([, inside = ""]) => inside);
  const starts = ["[", "{"].map((sign) => reply.indexOf(sign)).filter((at) => at >= 0);
  const from = reply.slice(Math.min(...starts, reply.length));
  const end = Math.max(from.lastIndexOf("]"), from.lastIndexOf("}")) + 1;
  for (const text of [...fenced, unfence(reply), from.slice(0, end)]) {
    try {
      const value = JSON.parse(text) as Json;
      if (Array.isArray(value) || isJsonObject(value)) return value;
    } catch {
      // The next candidate may be JSON.
    }
  }
  return undefined;
}

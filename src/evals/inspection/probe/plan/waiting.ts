import type { JsonObject } from "../../../base/types/json.ts";
import { splitWords } from "./parameterValues.ts";
import { listDefaults } from "./plan.ts";

const times = /^(?:wait|delay|sleep|pause|duration|timeout|seconds|secs?|ms|millis(?:econds)?|minutes|interval)$/;

/** Whether a call asks a tool to wait: an argument, or the default of an omitted one, is a time. */
export function asksToWait(inputSchema: JsonObject, args: JsonObject): boolean {
  return Object.entries({ ...listDefaults(inputSchema), ...args }).some(
    ([name, value]) => typeof value === "number" && value > 0 && splitWords(name).some((word) => times.test(word)),
  );
}

import type { JsonObject } from "../types/json.ts";
import { listDefaults } from "./plan.ts";

const times = /^(?:wait|delay|sleep|pause|duration|timeout|seconds|secs?|ms|millis(?:econds)?|minutes|interval)$/;

/** Whether a call asks a tool to wait: an argument, or the default of an omitted one, is a time. */
export function asksToWait(inputSchema: JsonObject, args: JsonObject): boolean {
  return Object.entries({ ...listDefaults(inputSchema), ...args }).some(
    ([name, value]) => typeof value === "number" && value > 0 && splitParameter(name).some((word) => times.test(word)),
  );
}

function splitParameter(name: string): readonly string[] {
  return name
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
}

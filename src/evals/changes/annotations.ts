import { isJsonObject, type JsonObject } from "../types/json.ts";
import { type Change, segment } from "./change.ts";

/** What a host assumes of a tool that does not say, and the value that makes it more careful. */
const hints = [
  { hint: "readOnlyHint", assumed: false, riskier: false },
  { hint: "destructiveHint", assumed: true, riskier: true },
  { hint: "idempotentHint", assumed: false, riskier: false },
  { hint: "openWorldHint", assumed: true, riskier: true },
] as const;

/** What changed in the hints by which hosts decide whether they ask before a call. */
export function* annotationChanges(name: string, before: JsonObject, after: JsonObject): Iterable<Change> {
  const read = ({ annotations }: JsonObject, hint: string, assumed: boolean) => {
    const value = isJsonObject(annotations) ? annotations[hint] : undefined;
    return typeof value === "boolean" ? value : assumed;
  };
  for (const { hint, assumed, riskier } of hints) {
    const [was, is] = [read(before, hint, assumed), read(after, hint, assumed)];
    if (was === is) continue;
    const common = { id: `${segment(name)}:annotations`, tool: name, path: [name, "annotations", hint] };
    const what = `${hint} of ${segment(name)} was ${was} and is ${is}.`;
    if (is !== riskier) yield { ...common, kind: "annotation-safer", class: "compatible", what };
    else {
      const fix = "Set it back if the tool does what it did; offer what it does beyond that as a new tool.";
      yield { ...common, kind: "annotation", class: "unknown", what, fix };
    }
  }
}

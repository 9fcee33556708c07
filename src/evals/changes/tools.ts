import type { JsonObject } from "../types/json.ts";
import { type Change, segment, versionsOf } from "./change.ts";
import { renamings } from "./same.ts";

/** A list by name. Of two tools of one name the first counts, and one without a name not at all. */
export type Listed = ReadonlyMap<string, JsonObject>;

/** The tool that a description names as the one to use instead, for a tool that is marked deprecated. */
type Deprecation = { successor: string | undefined };

/** A deprecation is a description that starts `DEPRECATED: use X_v2`, or `Deprecated:` as most people write it. */
export function deprecationOf({ description }: JsonObject): Deprecation | undefined {
  if (typeof description !== "string") return undefined;
  const found = /^\s*(?:DEPRECATED\b|Deprecated(?=[:.!]))(?::?\s*[Uu]se\s+[`"']?([\w.-]*\w))?/.exec(
    description.slice(0, 300),
  );
  return found ? { successor: found[1] } : undefined;
}

/** The newest listed version of a tool above it, by the suffix of its name: `search_v3` for `search` and `search_v2`. */
export function successorOf(name: string, listed: Listed): string | undefined {
  let found: string | undefined;
  for (let { next } = versionsOf(name); listed.has(next); { next } = versionsOf(next)) found = next;
  return found;
}

type Of<T> = Omit<Change, "id" | "tool" | "path"> & T;

/** Tools that one of the lists lacks, and tools that are or were marked deprecated. */
export function* toolChanges(before: Listed, after: Listed): Iterable<Change> {
  const renamed = renamings(bodies(before), bodies(after));
  for (const [name, tool] of before) {
    const now = after.get(name);
    const path = now && deprecationOf(now) ? [name, "description"] : [name];
    const said = now ? deprecated(name, tool, now, before, after) : gone(name, tool, before, after, renamed.get(name));
    if (said) yield { id: `${segment(name)}${said.aspect}`, tool: name, path, ...withoutAspect(said) };
  }
  const successors = new Set(renamed.values());
  for (const name of after.keys()) {
    if (before.has(name) || successors.has(name)) continue;
    const old = versionsOf(name).before;
    const beside = old !== undefined && before.has(old) && after.has(old) ? `, beside ${segment(old)}` : "";
    const what = `${segment(name)} is new${beside}.`;
    yield { id: `${segment(name)}:added`, tool: name, path: [name], kind: "tool-added", class: "compatible", what };
  }
}

function withoutAspect({ aspect: _, ...said }: Of<{ aspect: string }>): Of<object> {
  return said;
}

function gone(
  name: string,
  tool: JsonObject,
  before: Listed,
  after: Listed,
  to: string | undefined,
): Of<{ aspect: string }> {
  const shown = segment(name);
  if (to !== undefined) {
    const what = `${shown} was renamed to ${segment(to)}: calls of the old name fail.`;
    const fix = `List ${shown} as well for a time, its description starting "DEPRECATED: use ${to}".`;
    return { aspect: ":renamed", kind: "tool-renamed", class: "breaking", what, fix };
  }
  const removed = { aspect: ":removed", class: "breaking" } as const;
  const early = { ...removed, kind: "deprecated-early" } as const;
  const deprecation = deprecationOf(tool);
  if (!deprecation) {
    const newer = successorOf(name, after);
    if (newer === undefined) {
      const fix = "List it again, or mark it deprecated for a time before it goes.";
      return { ...removed, kind: "tool-removed", what: `${shown} was removed.`, fix };
    }
    const fix = `List it again for a time, its description starting "DEPRECATED: use ${newer}".`;
    return {
      ...early,
      what: `${shown} went without having been marked deprecated in favour of ${segment(newer)}.`,
      fix,
    };
  }
  const { successor } = deprecation;
  if (successor === undefined) {
    const what = `${shown} was removed after having been marked deprecated, in favour of no other tool.`;
    return { ...removed, kind: "tool-retired", class: "unknown", what };
  }
  const newer = segment(successor);
  if (!after.has(successor)) {
    const fix = `List ${newer}, or keep ${shown} until it is listed.`;
    return { ...early, what: `${shown} went, and ${newer}, which it sent its callers to, is not listed.`, fix };
  }
  if (!before.has(successor)) {
    const fix = `List both until callers had time to move to ${newer}.`;
    return { ...early, what: `${shown} went as ${newer} came: the two never stood side by side.`, fix };
  }
  const what = `${shown} was removed after having stood deprecated beside ${newer}.`;
  return { ...removed, kind: "tool-retired", class: "compatible", what };
}

/** A tool that is newly marked deprecated, or whose successor is newly missing. */
function deprecated(
  name: string,
  tool: JsonObject,
  now: JsonObject,
  before: Listed,
  after: Listed,
): Of<{ aspect: string }> | undefined {
  const deprecation = deprecationOf(now);
  if (!deprecation) return undefined;
  const [{ successor }, then] = [deprecation, deprecationOf(tool)];
  const shown = segment(name);
  if (successor !== undefined && !after.has(successor)) {
    if (then?.successor === successor && !before.has(successor)) return undefined;
    const what = `${shown} sends its callers to ${segment(successor)}, which is not listed.`;
    const fix = `List ${segment(successor)}, or name the tool that takes its place.`;
    return { aspect: "", kind: "successor-missing", class: "unknown", what, fix };
  }
  if (then && then.successor === successor) return undefined;
  const what = `${shown} is now marked deprecated${successor === undefined ? "" : ` in favour of ${segment(successor)}`}.`;
  return { aspect: "", kind: "deprecated", class: "compatible", what };
}

/** A tool without what may differ when it is renamed; one that is deprecated is not looked for under another name. */
function bodies(listed: Listed): Map<string, JsonObject> {
  const body = ({ name: _, title: __, ...rest }: JsonObject) => rest;
  return new Map([...listed].map(([name, tool]) => [name, deprecationOf(tool) ? {} : body(tool)]));
}

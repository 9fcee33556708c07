import type { Path } from "../parsing/tree.ts";
import type { JsonObject } from "../types/json.ts";
import type { ResultMatcher } from "../types/suite.ts";
import type { Fault } from "./fault.ts";
import { matcherFaults, regexFaults } from "./matchers.ts";
import { type ExpectFile, kindOf, namesOf } from "./shape.ts";

type Kind = NonNullable<ReturnType<typeof kindOf>>;
type Key = keyof ExpectFile;

/** What an expectation is called in messages, and the keys that mean something in it. */
const kinds: Record<Kind, { name: string; keys: readonly Key[] }> = {
  tool: { name: "`tool`", keys: ["tool", "avoid", "args", "argsMode", "argsMatch", "result", "extras"] },
  none: { name: "`tool: none`", keys: ["tool", "avoid"] },
  any: { name: "`tool: any`", keys: ["tool", "avoid", "result"] },
  calls: { name: "`calls`", keys: ["calls", "avoid", "order", "extras", "argsMode", "argsMatch"] },
  skill: { name: "`skill`", keys: ["skill", "avoid"] },
  avoid: { name: "`avoid` alone", keys: ["avoid"] },
};

/** What is wrong with an `expect` beyond its schema: parts that exclude each other, names, matchers. */
export function expectFaults(expect: ExpectFile, path: Path): Fault[] {
  const present = (Object.keys(expect) as Key[]).filter((key) => expect[key] !== undefined);
  if (present.length === 0) {
    return [{ path, message: "`expect` is empty: nothing would be checked", hint: "add tool, calls, skill or avoid" }];
  }
  const [head, second] = present.filter((key) => key === "tool" || key === "calls" || key === "skill");
  if (head && second) {
    const message = `\`${head}\` and \`${second}\` cannot stand in one \`expect\``;
    return [{ path: [...path, second], part: "key", message, hint: "keep one of them, or write two cases" }];
  }
  const kind = kindOf(expect);
  if (!kind) {
    const message = "`expect` names no tool, so nothing would be checked";
    return [{ path, message, hint: "add tool, calls, skill or avoid" }];
  }
  return [
    ...present.filter((key) => !kinds[kind].keys.includes(key)).map((key) => misplaced(key, kind, path)),
    ...nameFaults(expect, path),
    ...partFaults(expect, path, expect.argsMatch),
    ...(expect.calls ?? []).flatMap((call, i) => partFaults(call, [...path, "calls", i], expect.argsMatch)),
  ];
}

function misplaced(key: Key, kind: Kind, path: Path): Fault {
  const moved = kind === "calls" && (key === "args" || key === "result");
  const hint = moved ? `write \`${key}\` beside \`tool\` in the entries of \`calls\`` : "remove it";
  return { path: [...path, key], part: "key", message: `\`${key}\` means nothing beside ${kinds[kind].name}`, hint };
}

function nameFaults(expect: ExpectFile, path: Path): Fault[] {
  const lists = [
    { at: [...path, "tool"], names: namesOf(expect.tool), alone: namesOf(expect.tool).length === 1 },
    ...(expect.calls ?? []).map(({ tool }, i) => ({
      at: [...path, "calls", i, "tool"],
      names: namesOf(tool),
      alone: false,
    })),
  ];
  const avoided = new Set(namesOf(expect.avoid));
  return lists.flatMap(({ at, names, alone }) =>
    names.flatMap((name, i): Fault[] => {
      const place = [...at, i];
      if (avoided.has(name)) {
        const message = `\`${name}\` is expected and avoided: no trial could pass`;
        return [{ path: place, message, hint: "remove it from one of the two" }];
      }
      if (alone || (name !== "none" && name !== "any")) return [];
      const message = `\`${name}\` cannot stand ${expect.calls ? "in `calls`" : "in a list with tools"}`;
      return [{ path: place, message, hint: "name the tools; `tool: none` and `tool: any` stand alone" }];
    }),
  );
}

type Part = { args?: JsonObject | undefined; result?: ResultMatcher | undefined };

/** The checks of one call: its arguments and its result. */
function partFaults({ args, result }: Part, path: Path, rules: ExpectFile["argsMatch"]): Fault[] {
  const wanted = Object.entries(args ?? {}).flatMap(([name, value]): Fault[] => {
    const at = [...path, "args", name];
    if (rules !== "bfcl") return matcherFaults(value, at);
    if (Array.isArray(value)) return [];
    return [
      { path: at, message: `\`${name}\` must be the list of its accepted values`, hint: "argsMatch: bfcl asks for it" },
    ];
  });
  const at = [...path, "result"];
  return [
    ...wanted,
    ...regexFaults(result?.matches, [...at, "matches"]),
    ...(result?.json === undefined ? [] : matcherFaults(result.json, [...at, "json"])),
  ];
}

import type { Path } from "../parsing/tree.ts";
import { isJsonObject, type Json } from "../types/json.ts";
import type { CaseFile } from "../types/suite.ts";
import { expectFaults } from "./expectation.ts";
import { explain } from "./explain.ts";
import type { Fault } from "./fault.ts";
import { caseSchema, type Header, headerSchema, kindOf } from "./shape.ts";

/** The content of a suite file, typed; each case with the path that it stands at. */
export type Checked = { header: Header; cases: readonly { path: Path; content: CaseFile }[] };

/**
 * Everything that is wrong with the data of a suite file, and its typed content when none of it is an error.
 * Cases are checked one by one, so that a fault in one hides none in another.
 */
export function checkSuite(data: Json): { faults: Fault[]; checked?: Checked } {
  const header = headerSchema.safeParse(data);
  const { key, list, faults: listFaults } = caseList(data);
  const checks = list.map((one, i) => checkCase(one, [key, i]));
  const cases = checks.flatMap(({ path, content }) => (content ? [{ path, content }] : []));
  const faults = [
    ...(header.success ? [] : explain(headerSchema, data)),
    ...listFaults,
    ...checks.flatMap((check) => check.faults),
    ...repeatedIds(cases),
  ];
  const sound = header.success && faults.every(({ severity }) => severity === "warning");
  if (!sound) return { faults };
  return {
    faults: [...faults, ...suiteWarnings(cases.map(({ content }) => content))],
    checked: { header: header.data, cases },
  };
}

function caseList(data: Json): { key: string; list: readonly Json[]; faults: Fault[] } {
  const none = { key: "cases", list: [] };
  // Of another type: the schema tells.
  if (!isJsonObject(data)) return { ...none, faults: [] };
  const [key, second] = Object.keys(data).filter((name) => name === "cases" || name === "evals");
  const hint = "list the cases under `cases` (or `evals`)";
  if (key === undefined)
    return { ...none, faults: [{ path: [], message: "no cases: neither `cases` nor `evals`", hint }] };
  if (second !== undefined) {
    const message = "both `cases` and `evals`: they mean the same";
    return { ...none, faults: [{ path: [second], part: "key", message, hint: "put all cases into one of them" }] };
  }
  const list = data[key];
  if (!Array.isArray(list)) return { ...none, faults: [] };
  const empty: Fault = {
    path: [key],
    part: "key",
    message: `no cases: \`${key}\` is empty`,
    hint: "add at least one case",
  };
  return { key, list, faults: list.length > 0 ? [] : [empty] };
}

function checkCase(data: Json, path: Path): { path: Path; content?: CaseFile; faults: Fault[] } {
  const result = caseSchema.safeParse(data);
  if (!result.success) return { path, faults: explain(caseSchema, data, path) };
  const content = result.data;
  const faults = [...promptFaults(content, path), ...goalFaults(content, path), ...toolFaults(content, path)];
  return { path, content, faults };
}

function promptFaults({ input, messages }: CaseFile, path: Path): Fault[] {
  if (input !== undefined && messages) {
    const message = "both `input` and `messages`: a case has one prompt";
    return [{ path: [...path, "messages"], part: "key", message, hint: "remove one of them" }];
  }
  if (input === undefined && !messages) {
    return [{ path, message: "a case without a prompt", hint: "add `input` (or `messages`)" }];
  }
  if (!messages || messages.at(-1)?.role === "user") return [];
  const at = [...path, "messages", messages.length - 1];
  return [{ path: at, message: "`messages` must end with a message of the user", hint: "add one with role: user" }];
}

function goalFaults({ expect, expected_behavior: behavior }: CaseFile, path: Path): Fault[] {
  if (expect) return expectFaults(expect, [...path, "expect"]);
  if (behavior) return [];
  return [{ path, message: "not gradable: the case expects nothing", hint: "add `expect` or `expected_behavior`" }];
}

function toolFaults({ tools = [] }: CaseFile, path: Path): Fault[] {
  const names = tools.map(({ name }) => name);
  return names.flatMap((name, i) =>
    names.indexOf(name) === i
      ? []
      : [{ path: [...path, "tools", i, "name"], message: `two tools are named \`${name}\``, hint: "rename one" }],
  );
}

function repeatedIds(cases: Checked["cases"]): Fault[] {
  const seen = new Set<string>();
  return cases.flatMap(({ path, content: { id } }): Fault[] => {
    if (id === undefined || (!seen.has(id) && seen.add(id))) return [];
    return [
      { path: [...path, "id"], message: `the id "${id}" is taken by a case above`, hint: "ids are unique in a suite" },
    ];
  });
}

/** "On about 5 to 10 typical queries": fewer show little, and without one that wants no tool over-triggering is not seen. */
function suiteWarnings(cases: readonly CaseFile[]): Fault[] {
  const kinds = new Set(cases.map(({ expect }) => expect && kindOf(expect)));
  const abstains = kinds.has("none") || cases.some(({ expect }) => expect?.skill === "none");
  const picks = (["tool", "any", "calls", "skill"] as const).some((kind) => kinds.has(kind));
  const few = `${cases.length} ${cases.length === 1 ? "case is" : "cases are"} few`;
  return [
    ...(cases.length < 5 ? [advice(few, "write about 5 to 10 typical queries")] : []),
    ...(picks && !abstains
      ? [
          advice(
            "no case wants no tool, so over-triggering goes unseen",
            "add a query with `tool: none` (or `skill: none`)",
          ),
        ]
      : []),
  ];
}

function advice(message: string, hint: string): Fault {
  return { path: [], severity: "warning", linted: true, message, hint };
}

import type { JsonObject } from "../../types/json.ts";
import { quote } from "../schema/text.ts";
import { type EntryRule, hosts, onEntry } from "./entry.ts";

const relativeCommand = onEntry(
  {
    id: "registration-command-relative",
    severity: "warning",
    why: "A host starts the server in a folder of its own choice, from where a relative path leads elsewhere.",
    docs: hosts,
    clauses: ["a command with a path has an absolute one", "no ~, which only a shell fills in"],
  },
  function* ({ command: given }, { absolute }) {
    if (typeof given !== "string" || !/[/\\]|^~/.test(given) || absolute(given) || given.startsWith("${")) return;
    yield {
      at: ["command"],
      message: `The command ${quote(given)} is a relative path.`,
      fix: "Write it from the root.",
    };
  },
);

const interpreters =
  /(?:^|[/\\])(?:node|nodejs|bun|deno|tsx|ts-node|python[\d.]*|pythonw?|ruby|php|perl|bash|sh|java)(?:\.exe)?$/i;
const script = /\.(?:[cm]?[jt]s|py|rb|php|pl|sh|jar)$/i;

/** The argument that names the script which an interpreter runs; none where it runs a module, a package or a line. */
export function scriptOf({ command: given, args: list }: JsonObject): { path: string; index: number } | undefined {
  if (typeof given !== "string" || !interpreters.test(given) || !Array.isArray(list)) return undefined;
  const index = list.findIndex((one) => typeof one === "string" && script.test(one) && !one.startsWith("-"));
  const path = list[index];
  const before = list.slice(0, Math.max(0, index));
  if (typeof path !== "string" || before.includes("-m") || before.includes("-e") || before.includes("-c"))
    return undefined;
  return { path, index };
}

const absoluteScript = onEntry(
  {
    id: "registration-absolute-script",
    severity: "error",
    why: "A host starts the server in a folder of its own choice, and a script with a relative path is not found there.",
    docs: hosts,
    clauses: ["the script has an absolute path"],
  },
  function* (entry, { absolute }) {
    const found = scriptOf(entry);
    if (!found || absolute(found.path) || found.path.startsWith("${")) return;
    const message = `The script ${quote(found.path)} is given by a relative path.`;
    yield { at: ["args", found.index], message, fix: "Give it from the root of the file system." };
  },
);

const missingScript = onEntry(
  {
    id: "registration-script-missing",
    severity: "error",
    why: "The server cannot start, and the host shows no tools.",
    docs: hosts,
    clauses: ["the script is there", "a command with an absolute path is there"],
  },
  function* (entry, { absolute, exists }) {
    const found = scriptOf(entry);
    const fix = "Build the server, or mend the path.";
    const { command: program } = entry;
    if (typeof program === "string" && absolute(program) && !program.includes("${") && !exists(program))
      yield { at: ["command"], message: `There is no program ${quote(program)}.`, fix };
    if (found && absolute(found.path) && !found.path.includes("${") && !exists(found.path))
      yield { at: ["args", found.index], message: `There is no script ${quote(found.path)}.`, fix };
  },
);

/** The paths in an entry: those of programs and of scripts. */
export const pathRules: readonly EntryRule[] = [relativeCommand, absoluteScript, missingScript];

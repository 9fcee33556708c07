import { fork } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../../base/types/errors.ts";
import { getMember } from "./builtIns.ts";
import { getNode, getNodes, type Node, parseSource } from "./syntax.ts";
import { Closure, isFunction, Native, type SourceCall, Unknown, type Value } from "./values.ts";

/** A value of a source that was run, as JSON. A stub is a name whose module is not run, such as `Matcher.anyOf`. */
export type Term =
  | null
  | string
  | number
  | boolean
  | { kind: "undefined" }
  | { kind: "list"; items: Term[] }
  | { kind: "object"; members: [string, Term][] }
  | { kind: "pattern"; source: string; flags: string }
  | { kind: "stub"; path: readonly string[]; args?: Term[]; line: number }
  | { kind: "function"; source: string; returned?: Term }
  | { kind: "unknown"; reason: string };

/** `functions`: the names whose calls are returned. `given`: other names that are always stubs. */
export type ExecuteRequest = { path: string; cwd: string; functions: readonly string[]; given: readonly string[] };
export type ExecuteReply = { calls: { name: string; args: Term[]; line: number }[] } | { failed: string };

const limitMs = 20_000;

/**
 * Runs a source and the files of its repository that it imports, and returns the calls that it makes of some functions.
 * The process has an empty environment, cannot write files or start programs, and is killed after 20 s. Packages and
 * most modules of Node (except those for files, paths and URLs) are stubs. Does not reject.
 */
export async function executeSource(
  request: Omit<ExecuteRequest, "given">,
  given: Readonly<Record<string, Value>>,
): Promise<{ calls: SourceCall[] } | { failed: string }> {
  const reply = await askProcess({ ...request, given: Object.keys(given) });
  if ("failed" in reply) return reply;
  return {
    calls: reply.calls.map(({ name, args, line }) => ({ name, line, args: args.map((arg) => readTerm(arg, given)) })),
  };
}

function askProcess(request: ExecuteRequest): Promise<ExecuteReply> {
  // Next to this file, with the same ending: .js in the package.
  const script = fileURLToPath(new URL(`./executeProcess${extname(import.meta.url)}`, import.meta.url));
  const { allowedNodeEnvironmentFlags: flags } = process;
  const permission = flags.has("--permission") ? "--permission" : "--experimental-permission";
  const child = fork(script, {
    cwd: request.cwd,
    env: {},
    execArgv: [permission, "--allow-fs-read=*", "--no-warnings"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  let stderr = "";
  child.stderr?.on("data", (chunk) => {
    stderr = `${stderr}${chunk}`.slice(-2_000);
  });
  return new Promise((resolve) => {
    child.once("message", (reply) => {
      resolve(reply as ExecuteReply);
      child.kill("SIGKILL");
    });
    child.once("error", (error) => resolve({ failed: messageOf(error) }));
    child.once("close", (code, signal) => {
      const why =
        signal === "SIGKILL" ? `it did not end within ${limitMs / 1000} s` : `it ended with ${code ?? signal}`;
      resolve({ failed: [why, ...(stderr.trim() === "" ? [] : [stderr.trim().split("\n").at(-1)])].join(": ") });
    });
    child.send(request);
  });
}

/** Converts a term to a value. Stubs of given names become the values that the format defines. */
function readTerm(term: Term, given: Readonly<Record<string, Value>>): Value {
  const read = (one: Term) => readTerm(one, given);
  if (term === null || typeof term !== "object") return term;
  switch (term.kind) {
    case "undefined":
      return undefined;
    case "list":
      return term.items.map(read);
    case "object":
      return Object.fromEntries(term.members.map(([key, member]) => [key, read(member)]));
    case "pattern":
      return new RegExp(term.source, term.flags);
    case "unknown":
      return new Unknown(term.reason, 1);
    case "function": {
      const node = parseFunction(term.source);
      const call = () =>
        term.returned ? read(term.returned) : new Unknown("a function with parameters is not run", 1);
      return node ? new Closure(node, call) : new Native("a function", call);
    }
    case "stub": {
      const [root = "", ...members] = term.path;
      if (!Object.hasOwn(given, root))
        return new Unknown(`${term.path.join(".")} is of a module that is not run`, term.line);
      const value = members.reduce<Value>((object, name) => getMember(object, name, term.line), given[root]);
      return term.args && isFunction(value) ? value.call(term.args.map(read), term.line) : value;
    }
  }
}

/** Parses the text of a function: an expression, or a method of an object. */
function parseFunction(source: string): Node | undefined {
  for (const text of [`(${source})`, `({ ${source} })`]) {
    try {
      const [statement] = getNodes(parseSource(text, "function"), "body");
      const expression = statement && getNode(statement, "expression");
      if (expression?.type !== "ObjectExpression") return expression;
      const [property] = getNodes(expression, "properties");
      return property && getNode(property, "value");
    } catch {
      // Try the other form.
    }
  }
  return undefined;
}

import { isToken } from "../../../base/secrets/recognize.ts";
import { quote, showValue } from "../../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../../base/types/json.ts";
import { findScript } from "../../../servers/diagnosis/start.ts";
import { defineRules, type Found, type RegistrationSubject, type RuleRow } from "../rule.ts";

const docs = "https://modelcontextprotocol.io/docs/develop/connect-local-servers";
const claudeCode = "https://code.claude.com/docs/en/mcp";

/** Rules about entries that are objects. */
const table: readonly RuleRow<RegistrationSubject & { entry: JsonObject }>[] = [
  {
    id: "registration-command",
    severity: "error",
    why: "The command is started as written, without a shell, so nothing splits it or expands variables in it.",
    at: ["command"],
    *check({ entry: { command, args }, exists }) {
      if (typeof command !== "string" || !/^[\w.-]+\s+\S/.test(command) || exists(command)) return;
      const more = args === undefined ? "" : ", before the existing ones";
      yield { message: `The command ${quote(command)} contains arguments.`, fix: `Put them under args${more}.` };
    },
  },
  {
    id: "registration-relative-path",
    severity: "error",
    why: "A host starts the server in a folder of its choice, where a relative path leads elsewhere.",
    fix: "Write an absolute path.",
    *check({ entry, absolute, isFolderKnown }) {
      for (const { path, at } of listPaths(entry)) {
        // In the file of a project an absolute path would be right on one machine only.
        const isElsewhere = !absolute(path) && !path.startsWith("${") && (!isFolderKnown || path.startsWith("~"));
        const what = at[0] === "command" ? "command" : "script";
        if (isElsewhere) yield { at, message: `The ${what} ${quote(path)} is a relative path.` };
      }
    },
  },
  {
    id: "registration-script-missing",
    severity: "error",
    why: "The server cannot start, and the host shows no tools.",
    fix: "Build the server, or correct the path.",
    *check({ entry, absolute, exists, isFolderKnown }) {
      for (const { path, at } of listPaths(entry)) {
        const isKnown = absolute(path) || (isFolderKnown && !path.startsWith("~"));
        const what = at[0] === "command" ? "program" : "script";
        if (isKnown && !path.includes("${") && !exists(path))
          yield { at, message: `The ${what} ${quote(path)} does not exist.` };
      }
    },
  },
  {
    id: "registration-unset-variable",
    docs: `${claudeCode}#environment-variable-expansion-in-mcp-json`,
    why: "A host does not expand a variable that is not set, so the server gets its name as the value.",
    *check({ entry, isSet }) {
      for (const { text, at } of isSet ? listTexts(entry) : [])
        for (const [, variable = ""] of text.matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)\}/g)) {
          if (isSet?.(variable)) continue;
          const fix = `Set it, or give a default: \${${variable}:-value}.`;
          yield { at, message: `The variable ${variable} is not set.`, fix };
        }
    },
  },
  {
    id: "registration-url",
    severity: "error",
    docs: claudeCode,
    why: "A host can reach a server only by an http or https URL.",
    at: ["url"],
    fix: "Write it as https://host/path.",
    find({ entry: { url } }) {
      if (url === undefined || hasVariable(url) || parseUrl(url)) return undefined;
      return `The url is ${showValue(url)}, which is not an http or https URL.`;
    },
  },
  {
    id: "registration-url-plain",
    docs: "https://modelcontextprotocol.io/specification/2025-11-25/basic/security_best_practices",
    why: "Requests, answers and the token in the headers can be read and changed on the way.",
    at: ["url"],
    fix: "Use https.",
    find({ entry: { url } }) {
      const parsed = hasVariable(url) ? undefined : parseUrl(url);
      const isPlain = parsed?.protocol === "http:" && !localhost.test(parsed.hostname);
      return isPlain && `Calls to ${quote(parsed.host)} are not encrypted.`;
    },
  },
];

export const registrationRules = defineRules<RegistrationSubject>(docs, [
  {
    id: "registration-entry",
    severity: "error",
    why: "A host skips an entry that starts no server or has a value of a wrong type, or rejects the whole file.",
    fix: "Give a command with args for a local server, or a url for a remote one.",
    *check({ entry }) {
      if (!isJsonObject(entry)) {
        yield { message: `The entry is ${showValue(entry as Json)}.` };
        return;
      }
      const { command, url } = entry;
      if (command === undefined && url === undefined) yield { message: "The entry has neither a command nor a url." };
      else if (command !== undefined && url !== undefined)
        yield { at: ["url"], message: "The entry has both a command and a url." };
      yield* findMistyped(entry);
    },
  },
  {
    id: "registration-name",
    docs: claudeCode,
    why: "Hosts prefix the name to that of every tool, where only letters, digits, _ and - are allowed.",
    at: [],
    fix: "Use letters, digits, _ and -.",
    find: ({ name }) => !/^[\w-]+$/.test(name) && `Hosts replace or reject characters of the name ${quote(name)}.`,
  },
  ...defineRules(docs, table).map(({ check, ...head }) => ({
    ...head,
    check: ({ entry, ...subject }: RegistrationSubject) => (isJsonObject(entry) ? check({ entry, ...subject }) : []),
  })),
  {
    id: "registration-secret",
    docs: `${claudeCode}#environment-variable-expansion-in-mcp-json`,
    why: "The file is shared or committed sooner or later, and the secret with it.",
    fix: `Put it in an environment variable, and write \${NAME} here.`,
    // The secret itself is never repeated in a message.
    *check({ entry }) {
      for (const { text, at } of isJsonObject(entry) ? listTexts(entry) : []) {
        const start = text.slice(0, 10_000);
        if (start.split(/[^\w.+/-]+/).some(isToken)) yield { at, message: "The entry contains a token." };
        else if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]+:(?!\$\{)[^\s/@]+@/i.test(start))
          yield { at, message: "The url contains a password." };
      }
    },
  },
]);

/** The values of an entry that hosts refuse: command, arguments, environment and headers are strings. */
function* findMistyped({ command, args = [], env = {}, headers = {} }: JsonObject): Iterable<Found> {
  if (command !== undefined && (typeof command !== "string" || command.trim() === "")) {
    const message = command === "" ? "The command is empty." : `The command is ${showValue(command)}.`;
    yield { at: ["command"], message, fix: "Name the program that starts the server." };
  }
  const fix = 'Write each argument as a separate string: ["/path/server.js", "--port", "80"].';
  if (!Array.isArray(args)) yield { at: ["args"], message: `args is ${showValue(args)}, not a list.`, fix };
  for (const [index, one] of (Array.isArray(args) ? args : []).entries())
    if (typeof one !== "string")
      yield { at: ["args", index], message: `The argument is ${showValue(one)}, not a string.`, fix };
  for (const [key, map] of Object.entries({ env, headers })) {
    const quoteFix = "Write its values in quotes.";
    if (!isJsonObject(map)) yield { at: [key], message: `${key} is ${showValue(map)}, not a map.`, fix: quoteFix };
    const [name, value] = Object.entries(isJsonObject(map) ? map : {}).find(([, one]) => typeof one !== "string") ?? [];
    if (name !== undefined && value !== undefined)
      yield { at: [key, name], message: `${quote(name)} is ${showValue(value)}, not a string.`, fix: quoteFix };
  }
}

/** The paths that an entry starts: its command, if it is one, and the script of an interpreter. */
function listPaths(entry: JsonObject): { path: string; at: Path }[] {
  const { command } = entry;
  const script = findScript(entry);
  return [
    ...(typeof command === "string" && /[/\\]|^~/.test(command) ? [{ path: command, at: ["command"] }] : []),
    ...(script ? [{ path: script.path, at: ["args", script.index] }] : []),
  ];
}

/** The texts of an entry in which hosts expand variables: command, args, env, url and headers. */
function* listTexts(entry: JsonObject): Iterable<{ text: string; at: Path }> {
  for (const key of ["command", "args", "env", "url", "headers"]) {
    const value = entry[key];
    if (typeof value === "string") yield { text: value, at: [key] };
    else if (Array.isArray(value) || isJsonObject(value))
      for (const [step, one] of Array.isArray(value) ? value.entries() : Object.entries(value))
        if (typeof one === "string") yield { text: one, at: [key, step] };
  }
}

const localhost = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|.*\.localhost)$/;

const hasVariable = (value: Json | undefined) => typeof value === "string" && value.includes("${");

function parseUrl(value: Json | undefined): URL | undefined {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

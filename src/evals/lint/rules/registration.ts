import { isJsonObject, type Json } from "../../types/json.ts";
import { type EntryRule, hosts, onEntry } from "../registration/entry.ts";
import { pathRules } from "../registration/paths.ts";
import { secretRule } from "../registration/secrets.ts";
import { textsOf } from "../registration/texts.ts";
import { quote, show } from "../schema/text.ts";

const claudeCode = "https://code.claude.com/docs/en/mcp";

const shape: EntryRule = {
  id: "registration-entry",
  severity: "error",
  why: "An entry that neither starts a server nor says where one is makes a host pass over it, or over the whole file.",
  docs: hosts,
  clauses: ["an object", "a command or a url", "not both"],
  *check({ entry }) {
    const fix = "Give a command with args for a local server, or a url for a remote one.";
    if (!isJsonObject(entry)) yield { at: [], message: `The entry is ${show(entry as Json)}.`, fix };
    else if (entry.command === undefined && entry.url === undefined)
      yield { at: [], message: "The entry has neither a command nor a url.", fix };
    else if (entry.command !== undefined && entry.url !== undefined)
      yield { at: ["url"], message: "The entry has a command and a url: a host takes either.", fix };
  },
};

const name: EntryRule = {
  id: "registration-name",
  severity: "warning",
  why: "Hosts put the name before that of every tool, where only letters, digits, _ and - may stand.",
  docs: claudeCode,
  clauses: ["only letters, digits, _ and -"],
  *check({ name: given }) {
    if (/^[\w-]+$/.test(given)) return;
    yield {
      at: [],
      message: `Hosts replace or refuse characters of the name ${quote(given)}.`,
      fix: "Use letters, digits, _ and -.",
    };
  },
};

const command = onEntry(
  {
    id: "registration-command",
    severity: "error",
    why: "The command is started as it stands, without a shell: nothing in it is split or filled in by one.",
    docs: hosts,
    clauses: ["a text", "not blank", "the program alone, its arguments under args"],
  },
  function* ({ command: given, args }, { exists }) {
    const at = ["command"];
    if (given === undefined) return;
    if (typeof given !== "string" || given.trim() === "") {
      const message = given === "" ? "The command is empty." : `The command is ${show(given)}.`;
      yield { at, message, fix: "Name the program that starts the server." };
    } else if (/^[\w.-]+\s+\S/.test(given) && !exists(given)) {
      const more = args === undefined ? "" : ", before those that are there";
      yield { at, message: `The command ${quote(given)} holds arguments.`, fix: `Put them under args${more}.` };
    }
  },
);

const args = onEntry(
  {
    id: "registration-args",
    severity: "error",
    why: "Arguments reach the server one by one; a host refuses a list that holds anything but texts.",
    docs: hosts,
    clauses: ["args is a list", "of texts"],
  },
  function* ({ args: given }) {
    if (given === undefined) return;
    const fix = 'Write each argument as a text of its own: ["/path/server.js", "--port", "80"].';
    if (!Array.isArray(given)) {
      yield { at: ["args"], message: `args is ${show(given)}, not a list.`, fix };
      return;
    }
    for (const [index, one] of given.entries())
      if (typeof one !== "string") yield { at: ["args", index], message: `The argument is ${show(one)}.`, fix };
  },
);

const env = onEntry(
  {
    id: "registration-env",
    severity: "error",
    why: "Environment variables and headers are texts; a host refuses an entry with any other value.",
    docs: claudeCode,
    clauses: ["env is a map of texts", "headers is a map of texts"],
  },
  function* (entry) {
    for (const key of ["env", "headers"] as const) {
      const map = entry[key];
      if (map === undefined) continue;
      const odd = isJsonObject(map) ? Object.entries(map).find(([, value]) => typeof value !== "string") : undefined;
      const fix = "Write its values in quotes.";
      if (!isJsonObject(map)) yield { at: [key], message: `${key} is ${show(map)}, not a map.`, fix };
      else if (odd) yield { at: [key, odd[0]], message: `${quote(odd[0])} is ${show(odd[1])}.`, fix };
    }
  },
);

const unset = onEntry(
  {
    id: "registration-unset-variable",
    severity: "warning",
    why: "A host leaves a variable that is not set as it is written, and the server gets its name for a value.",
    docs: `${claudeCode}#environment-variable-expansion-in-mcp-json`,
    clauses: ["a variable without a default is set"],
  },
  function* (entry, { isSet }) {
    for (const { text, at } of isSet ? textsOf(entry) : [])
      for (const [, variable = ""] of text.matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)\}/g))
        if (!isSet?.(variable)) {
          const fix = `Set it, or give a default: \${${variable}:-value}.`;
          yield { at, message: `The variable ${variable} is not set.`, fix };
        }
  },
);

const url = onEntry(
  {
    id: "registration-url",
    severity: "error",
    why: "A host cannot reach a server by anything but an http or https URL.",
    docs: claudeCode,
    clauses: ["a URL", "http or https"],
  },
  function* ({ url: given }) {
    if (given === undefined || isFilledIn(given) || urlOf(given)) return;
    const message = `The url is ${show(given)}, which is no http or https URL.`;
    yield { at: ["url"], message, fix: "Write it as https://host/path." };
  },
);

const plainUrl = onEntry(
  {
    id: "registration-url-plain",
    severity: "warning",
    why: "What is asked and answered, and the token in the headers, can be read and changed on the way.",
    docs: "https://modelcontextprotocol.io/specification/2025-11-25/basic/security_best_practices",
    clauses: ["https but for this machine"],
  },
  function* ({ url: given }) {
    const found = isFilledIn(given) ? undefined : urlOf(given);
    if (found?.protocol !== "http:" || thisMachine.test(found.hostname)) return;
    yield {
      at: ["url"],
      message: `Calls to ${quote(found.host)} go over the network in the clear.`,
      fix: "Use https.",
    };
  },
);

const thisMachine = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|.*\.localhost)$/;

function isFilledIn(given: Json | undefined): boolean {
  return typeof given === "string" && given.includes("${");
}

function urlOf(given: Json | undefined): URL | undefined {
  const found = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  return found && /^https?:$/.test(found.protocol) ? found : undefined;
}

/** The entries that register servers with a host. */
export const registrationRules: readonly EntryRule[] = [
  shape,
  name,
  command,
  args,
  env,
  ...pathRules,
  unset,
  secretRule,
  url,
  plainUrl,
];

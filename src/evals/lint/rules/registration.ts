import type { Path } from "../../jsonSchema/paths.ts";
import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { quote, showValue } from "../../types/quote.ts";
import type { RegistrationSubject, Rule, Violation } from "../rule.ts";

/** An entry, and where it is known, whether an environment variable is set where the host runs. */
export type RegistrationFacts = RegistrationSubject & { isSet?(variable: string): boolean };

export type EntryRule = Rule<RegistrationFacts>;

/** The protocol's own page on registering a local server. */
export const hosts = "https://modelcontextprotocol.io/docs/develop/connect-local-servers";

/** A rule over entries that are objects: all but the first one. */
export function onEntry(
  rule: Omit<EntryRule, "check">,
  check: (entry: JsonObject, subject: RegistrationFacts) => Iterable<Violation>,
): EntryRule {
  return { ...rule, check: (subject) => (isJsonObject(subject.entry) ? check(subject.entry, subject) : []) };
}

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

/** Beginnings by which the issuers themselves mark their tokens, long enough not to be met in other texts. */
const tokens: readonly { of: string; sees: RegExp }[] = [
  { of: "GitHub", sees: /\b(?:gh[opsu]_[A-Za-z0-9]{30,}|github_pat_\w{40,})/ },
  { of: "Anthropic", sees: /\bsk-ant-[\w-]{20,}/ },
  { of: "OpenAI", sees: /\bsk-(?:proj|svcacct)-[\w-]{20,}|\bsk-[A-Za-z0-9]{40,}/ },
  { of: "AWS", sees: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/ },
  { of: "Google", sees: /\bAIza[\w-]{35}/ },
  { of: "Slack", sees: /\bxox[abprs]-[\w-]{10,}/ },
  { of: "GitLab", sees: /\bglpat-[\w-]{20,}/ },
  { of: "npm", sees: /\bnpm_[A-Za-z0-9]{36}/ },
  { of: "Hugging Face", sees: /\bhf_[A-Za-z0-9]{30,}/ },
  { of: "Stripe", sees: /\b[rs]k_live_[A-Za-z0-9]{20,}/ },
  { of: "a JSON web token's issuer", sees: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/ },
];

/** A secret that is written into the file; it is never repeated in a message. */
export const secretRule: Rule<RegistrationSubject> = {
  id: "registration-secret",
  severity: "warning",
  why: "The file is shared or committed sooner or later, and the secret with it.",
  docs: "https://code.claude.com/docs/en/mcp#environment-variable-expansion-in-mcp-json",
  clauses: [...tokens.map(({ of }) => `no token of ${of}`), "no password in a url"],
  *check({ entry }) {
    for (const { text, at } of isJsonObject(entry) ? textsOf(entry) : []) {
      const owner = tokens.find(({ sees }) => sees.test(text.slice(0, 10_000)))?.of;
      const fix = `Put it into an environment variable, and write \${NAME} here.`;
      if (owner !== undefined) yield { at, message: `A token of ${owner} is written into the entry.`, fix };
      else if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]+:(?!\$\{)[^\s/@]+@/i.test(text.slice(0, 10_000)))
        yield { at, message: "A password is written into the url.", fix };
    }
  },
};

/** The texts of an entry in which hosts fill in variables: command, args, env, url and headers. */
export function* textsOf(entry: JsonObject): Iterable<{ text: string; at: Path }> {
  for (const key of ["command", "args", "env", "url", "headers"]) {
    const value = entry[key];
    if (typeof value === "string") yield { text: value, at: [key] };
    else if (Array.isArray(value) || isJsonObject(value))
      for (const [step, one] of Array.isArray(value) ? value.entries() : Object.entries(value))
        if (typeof one === "string") yield { text: one, at: [key, step] };
  }
}

const claudeCode = "https://code.claude.com/docs/en/mcp";

const shape: EntryRule = {
  id: "registration-entry",
  severity: "error",
  why: "An entry that neither starts a server nor says where one is makes a host pass over it, or over the whole file.",
  docs: hosts,
  clauses: ["an object", "a command or a url", "not both"],
  *check({ entry }) {
    const fix = "Give a command with args for a local server, or a url for a remote one.";
    if (!isJsonObject(entry)) yield { at: [], message: `The entry is ${showValue(entry as Json)}.`, fix };
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
      const message = given === "" ? "The command is empty." : `The command is ${showValue(given)}.`;
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
      yield { at: ["args"], message: `args is ${showValue(given)}, not a list.`, fix };
      return;
    }
    for (const [index, one] of given.entries())
      if (typeof one !== "string") yield { at: ["args", index], message: `The argument is ${showValue(one)}.`, fix };
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
      if (!isJsonObject(map)) yield { at: [key], message: `${key} is ${showValue(map)}, not a map.`, fix };
      else if (odd) yield { at: [key, odd[0]], message: `${quote(odd[0])} is ${showValue(odd[1])}.`, fix };
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
    const message = `The url is ${showValue(given)}, which is no http or https URL.`;
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

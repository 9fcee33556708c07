import { isSecretName } from "../../base/secrets/recognize.ts";
import { cut } from "../../base/text/text.ts";
import type { Finding } from "../../base/types/finding.ts";

/** What is wrong, and how to fix it. */
export type Cause = Pick<Finding, "rule" | "message" | "fix">;

/**
 * The cause that a text of a server names, on stderr or in an answer. `variables`: the environment variables that the
 * server needs.
 */
export type KnownError = Cause & {
  variables?: readonly string[];
  /** The line of the text that says so. */
  line: string;
  /** Whether the server can start without what is missing. */
  isNotice: boolean;
};

/** The maximum number of characters of a text that are searched. */
const maxRead = 20_000;

/** Where a text stands: what a server printed before it ended, or what one says that goes on. */
type Speaker = "ended" | "running";

/** The cause that a text names: a key that the server cannot start without, else the first known error in it. */
export function findKnownError(text: string, speaker: Speaker): KnownError | undefined {
  const key = findMissingKey(text, speaker);
  if (key && !key.isNotice) return key;
  for (const line of text.slice(0, maxRead).split("\n")) {
    if (line === key?.line || isAside(line)) continue;
    for (const { rule, pattern, message, fix } of signatures) {
      const match = pattern.exec(line);
      if (!match) continue;
      const [, ...groups] = match;
      const subject = groups.find((group) => group !== undefined);
      return { rule, message: message.replace("{}", subject ?? "a module"), fix, line, isNotice: false };
    }
  }
  return key;
}

/** A log line about something that the server does without, or about what a setting is for: no complaint. */
const isAside = (line: string) => /\bwarn(?:ing)?\b/i.test(line) || (aside.test(line) && !complaint.test(line));
const aside =
  /\b(?:default(?:s|ed|ing)?|using|instead|optional(?:ly)?|disabl\w+|skipp\w*|continu\w*|ignor\w+|retry\w*|fall(?:ing|s)? ?back|anonymous\w*|if|unless|when(?:ever)?|only|whether|to enable|in-memory|for (?:more|higher|better|private|full|verbose))\b/i;
const complaint = /\b(?:\w*error|fatal|throw|must)\b/i;
/** Marks a complaint with which a server goes on. */
const goesOn = /\b(?:running|continu\w*|keyless|optional|disabled?|skipp\w*|limited|fall(?:ing|s)? ?back|warn\w*)\b/i;

const variable = "[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+";
const several = `${variable}(?:(?:, and |, or |, | and | or )${variable})*`;
const lacking =
  "(?:is |are |was )?(?:required|missing|not (?:set|provided|configured|specified))|must be (?:set|provided)";

/** Texts that name missing variables. Exact forms only: a line that mentions a variable is no complaint. */
const missingVariables = [
  new RegExp(`(?<!\\b[Nn]o )\\b(${several})[\`'"]? (?:environment variables? )?(?:${lacking})\\b`),
  new RegExp(`\\b[Mm]issing (?:required )?(?:environment variables?:? )?[\`'"]?(${several})\\b`),
  new RegExp(`\\bKeyError: '(${variable})'`),
  new RegExp(`\\b[Ss]et (?:the )?[\`'"]?(${several})[\`'"]? (?:as )?(?:an )?(?:environment variables?|env vars?)\\b`),
  new RegExp(`\\b[Nn]o (${variable}) (?:is |was )?(?:set|provided|found|configured)\\b`),
];

const credential =
  "(?:(?:API|access|secret|licen[cs]e)[ _-]?keys?|(?:access|auth|authentication|API|bearer|bot|OAuth)[ _-]?tokens?|credentials)";
/** Texts that name a missing or refused credential by its kind. */
const missingCredential = new RegExp(
  [
    `(?<!\\bno )(?<!\\bno \\w+ )\\b${credential} (?:${lacking}|(?:is |was )?(?:invalid|expired))\\b`,
    `\\b(?:missing|invalid|expired) (?:\\w+ )?${credential}\\b`,
    `\\bno ${credential} (?:is |was )?(?:set|provided|found|configured)\\b`,
    "\\b401[: ]+Unauthorized\\b|\\bplease (?:log|sign) in\\b|\\bnot logged in\\b",
  ].join("|"),
  "i",
);
/** The variable may be named this many lines after the credential. */
const linesAfter = 3;

/** The names of settings. Codes of errors and ids are written like variables, too. */
const isSetting = (name: string) =>
  isSecretName(name) ||
  /_(?:URL|URI|DSN|HOST|HOSTNAME|ENDPOINT|CONNECTION_STRING|REGION|USER|USERNAME|EMAIL)$/.test(name);

/**
 * The first line that says that a key or another variable is missing, and the variables that it names. What a running
 * server says counts only of names of settings.
 */
export function findMissingKey(text: string, speaker: Speaker): KnownError | undefined {
  const lines = text.slice(0, maxRead).split("\n");
  for (const [at, line] of lines.entries()) {
    if (isAside(line) && !/^\W*warn/i.test(line)) continue;
    const named = missingVariables
      .map((pattern) => pattern.exec(line)?.[1])
      .find((names) => names !== undefined && (speaker === "ended" || readNames(names).every(isSetting)));
    const isNotice = goesOn.test(line);
    if (named !== undefined) return { ...explainVariables(readNames(named)), line, isNotice };
    if (!missingCredential.test(line)) continue;
    const naming = lines.slice(at, at + 1 + linesAfter).find((one) => listSecrets(one).length > 0);
    if (naming === undefined) return { ...withoutKey, line, isNotice };
    return { ...explainVariables(listSecrets(naming).slice(0, 1)), line: naming, isNotice };
  }
  return undefined;
}

const listSecrets = (line: string) => (line.match(new RegExp(`\\b${variable}\\b`, "g")) ?? []).filter(isSecretName);

/** The variables of "A and B", or the first of "A or B". */
function readNames(text: string): string[] {
  const names = text.match(new RegExp(variable, "g")) ?? [];
  return text.includes(" or ") ? names.slice(0, 1) : names;
}

const withoutKey = {
  rule: "credentials",
  message: "The server has no valid API key or token.",
  fix: 'Give it one in "env" or "args" of its entry, as its documentation describes.',
};

function explainVariables(variables: readonly string[]): Cause & { variables: readonly string[] } {
  return {
    rule: "variable-missing",
    message: `The server needs the environment variable${variables.length > 1 ? "s" : ""} ${variables.join(" and ")}.`,
    fix: `Set ${variables.join(" and ")} where the server runs.`,
    variables,
  };
}

/** How to give variables to a local server. `set`: those that are set in the user's shell, and not passed on. */
export function passVariables(variables: readonly string[], set: ReadonlySet<string>): string {
  const [here, missing] = [true, false].map((isSet) => variables.filter((name) => set.has(name) === isSet));
  const list = (names: readonly string[] = []) => `${names.join(" and ")} ${names.length > 1 ? "are" : "is"}`;
  const states = [
    ...(here?.length
      ? [`${list(here)} set in this shell, but servers inherit only a few variables, such as HOME.`]
      : []),
    ...(missing?.length ? [`${list(missing)} not set in this shell.`] : []),
  ];
  const flags = variables.map((name) => `--env ${name}${set.has(name) ? "" : "=<value>"}`).join(" ");
  const fix = `Add ${flags}, or "env": { "${variables[0]}": "\${${variables[0]}}" } to its entry or suite.`;
  return [...states, fix].join(" ");
}

/** Errors by the exact text of programs and runtimes. The first match wins; `{}` stands for what a pattern captures. */
const signatures: readonly (Cause & { pattern: RegExp })[] = [
  {
    rule: "native-module",
    pattern:
      /Could not locate the bindings file|NODE_MODULE_VERSION \d|ERR_DLOPEN_FAILED|No native build was found for|Cannot find (?:module '[^']+\.node'|native binding)|Could not load the "[\w-]+" module using|invalid ELF header/,
    message: "The native code of a dependency is missing, or was built for another Node.js or system.",
    fix: "Install the server on this machine with its install scripts, or run `npm rebuild` in its folder.",
  },
  {
    rule: "module-missing",
    pattern:
      /Cannot find (?:module|package) '([^']+)'|No module named '?([\w.]+)|can't open file '([^']+)'|MODULE_NOT_FOUND/,
    message: "The server cannot load {}.",
    fix: "Install its dependencies, build it, or correct the path.",
  },
  {
    rule: "package-missing",
    pattern:
      /npm (?:error|ERR!) (?:code E)?404|No solution found when resolving|not found in the (?:package )?registry/,
    message: "The package of the server was not found in the registry.",
    fix: "Check the name and version of the package, and that the registry can be reached.",
  },
  {
    rule: "port-in-use",
    pattern: /EADDRINUSE|[Aa]ddress already in use/,
    message: "The port of the server is already in use.",
    fix: "Stop the program that uses it, possibly an earlier instance of this server, or configure another port.",
  },
  {
    rule: "syntax",
    pattern: /^\s*(?:Uncaught )?SyntaxError\b|ERR_UNKNOWN_FILE_EXTENSION|^TSError\b/,
    message: "The interpreter cannot parse the code of the server.",
    fix: "Build the server, or run it with the interpreter and version that it was written for.",
  },
  {
    ...withoutKey,
    pattern: /\b[Ss]tatus(?: code)?["']?:? ?401\b|\bHTTP Error:? 401\b|\berror \(401\)|\b401 Client Error\b/,
  },
  {
    rule: "credentials",
    pattern:
      /\b[Ss]tatus(?: code)?["']?:? ?403\b|\bHTTP Error:? 403\b|\berror \(403\)|\b403 Client Error\b|\b403 Forbidden\b|^Forbidden\.?$/,
    message: "A service answers 403 Forbidden: it refuses the credentials of the server, or they lack a permission.",
    fix: "Give the server another key or token, or grant the one it has the permission that the call needs.",
  },
  {
    rule: "permission",
    pattern: /\bEACCES\b|\bEPERM\b|\[Errno 13\]/,
    message: "The server does not have permission to open a file or port that it needs.",
    fix: "Grant the permission to the user who runs it, or configure another location.",
  },
  {
    rule: "service-unreachable",
    pattern: /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH)\b|\[Errno 111\]|^TypeError: fetch failed\b/,
    message: "The server cannot reach a service that it needs to start.",
    fix: "Start that service, correct its address, or check the network and its proxy.",
  },
  {
    rule: "arguments",
    pattern:
      /^\s*[Uu]sage:|[Mm]issing required argument|the following arguments are required|\bas a command[- ]line argument/,
    message: "The server was started with the wrong arguments.",
    fix: 'Set "args" according to its usage message.',
  },
];

/** The maximum numbers of characters that are quoted from the start and the end of a text. */
const maxQuoted = { start: 1_400, end: 600 };

/**
 * Lines as evidence. More than 2,000 characters are cut to the start, the line that names the cause if it is known, and
 * the end.
 */
export function quoteLines(label: string, lines: readonly string[], cause?: string): string[] {
  const text = lines.join("\n");
  const { start, end } = maxQuoted;
  const left = text.length - start - end;
  const [head, tail] = [text.slice(0, start), text.slice(-end)];
  const line = cause === undefined || head.includes(cause) || tail.includes(cause) ? "" : `${cut(cause, end)}\n`;
  const shown = left > 0 ? `${head}…\n(${left} characters left out)\n${line}…${tail}` : text;
  return shown.split("\n").flatMap((line) => (line.trim() === "" ? [] : [`${label}: ${line}`]));
}

import { isSecretName } from "../../../base/secrets/secrets.ts";
import { cut } from "../../../base/text/text.ts";
import type { Diagnosis } from "./report.ts";

/**
 * The cause that a text of a server names, on stderr or in an answer. `variables`: the environment variables that the
 * server needs.
 */
export type KnownError = Pick<Diagnosis, "id" | "wrong" | "remedy"> & {
  variables?: readonly string[];
  /** The line of the text that says so. */
  line?: string;
  /** Whether it is a key that the server can start without. */
  isNotice: boolean;
};

type Explained = Omit<KnownError, "line" | "isNotice">;

/** The maximum number of characters of a text that are searched. */
const maxRead = 20_000;
/** The maximum numbers of characters that are quoted from the start and the end of a text. */
const maxQuoted = { start: 1_400, end: 600 };

/**
 * Lines as evidence. More than 2,000 characters are cut to the start, the line that names the cause if it is known, and the
 * end.
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

/** The cause that a text names. A missing key takes precedence, unless the server starts without it. */
export function findKnownError(text: string): KnownError | undefined {
  const read = text.slice(0, maxRead);
  const key = findMissingKey(read);
  if (key && !key.isNotice) return key;
  for (const { id, pattern, ...known } of knownErrors) {
    for (const match of read.matchAll(new RegExp(pattern, "g"))) {
      const line = lineAt(read, match.index);
      if (line === key?.line || warning.test(line)) continue;
      return { id, line, isNotice: false, ...("explain" in known ? known.explain(match.slice(1)) : known) };
    }
  }
  return key;
}

/** Marks a log line about something that the server can do without. */
const warning = /\bwarn(?:ing)?\b/i;

function lineAt(text: string, index: number): string {
  const start = text.lastIndexOf("\n", index) + 1;
  const end = text.indexOf("\n", index);
  return text.slice(start, end === -1 ? undefined : end);
}

/** Codes of errors are written like variables: EAI_AGAIN, INVALID_ARGUMENT, VALIDATION_ERROR, PERMISSION_DENIED. */
const errorCode =
  "(?:E|ERR|EAI|UND|INVALID|MISSING|NOT|BAD|UNKNOWN|UNABLE|VALIDATION)_|\\w+_(?:ERROR|DENIED|FAILED|INVALID|MISSING|REQUIRED|EXPIRED|EXCEEDED|EXHAUSTED|UNAVAILABLE|PRECONDITION|FOUND)\\b";
const variableName = `\\b(?!${errorCode})[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\\b`;
const variables = new RegExp(variableName, "g");
const listVariables = (line: string) => line.match(variables) ?? [];

/** Two patterns close to each other on one line. */
const near = (one: string, other: string) => `${one}[^\\n]{0,60}?${other}|${other}[^\\n]{0,60}?${one}`;
const lacks =
  "\\b(?:no|missing|without|required?|requires|not (?:set|defined|found|provided|configured|valid|specified)|undefined|unset|set|provided?|needs?|empty|invalid|expired|must be|lacks?|bad|KeyError)\\b";
const credential =
  "\\b(?:(?:API|access|secret|licen[cs]e)[ _-]?keys?|(?:access|auth|authentication|authorization|API|bearer|bot|OAuth)[ _-]?tokens?|credentials?|(?:app|client)[ _-]?secret)\\b";
const lacksCredential = new RegExp(near(lacks, credential), "i");
const refused =
  /\bunauthori[sz]ed\b|\bnot authenticated\b|\bauthentication (?:is )?(?:required|failed)\b|\bnot logged in\b|\bplease (?:log|sign) in\b/i;
const goesOn = /\b(?:running|continu\w*|keyless|optional|disabled?|skipp\w*|limited|fall(?:ing|s)? ?back|warn\w*)\b/i;
/** The variable may be named this many lines after what is missing. */
const linesAfter = 3;

/** The first line that says that a key is missing or refused, and the variables that it names. */
export function findMissingKey(text: string): KnownError | undefined {
  const lines = text.slice(0, maxRead).split("\n");
  for (const [at, line] of lines.entries()) {
    const inWords = line.replace(variables, (name) => (isSecretName(name) ? "API key" : name));
    if (!lacksCredential.test(inWords) && !refused.test(inWords)) continue;
    const naming = lines.slice(at, at + 1 + linesAfter).find((one) => listVariables(one).some(isSecretName));
    return { ...explainKey(listNeeded(naming ?? "")), line: naming ?? line, isNotice: goesOn.test(line) };
  }
  return undefined;
}

const conjunction = new RegExp(`${variableName}(?:(?:, |,? and )${variableName})+`, "g");

/** The first variable of a line with the name of a secret, and those that are needed with it, as in "A and B". */
function listNeeded(line: string): string[] {
  const first = listVariables(line).find(isSecretName);
  if (first === undefined) return [];
  const all = line.match(conjunction)?.find((one) => one.includes(first) && one.includes(" and "));
  return all === undefined ? [first] : listVariables(all);
}

function explainKey(needed: readonly string[]): Explained {
  if (needed.length > 0) return explainVariables(needed);
  return { id: "credentials", ...withoutKey };
}

const withoutKey = {
  wrong: "The server has no valid API key or token.",
  remedy: 'Give it one in "env" or "args" of its entry, as its documentation describes.',
};

function explainVariables(needed: readonly string[]): Explained {
  const names = needed.join(" and ");
  return {
    id: "variable-missing",
    wrong: `The server needs the environment variable${needed.length > 1 ? "s" : ""} ${names}.`,
    remedy: `Add ${names} to "env" of its entry: servers inherit only a few variables, such as HOME and PATH.`,
    variables: needed,
  };
}

const lacksVariable =
  "(?:[Mm]issing|[Rr]equired?|[Nn]ot (?:set|defined|found|provided)|[Uu]ndefined|[Uu]nset|[Ss]et|[Pp]rovide|[Nn]eeds?|[Ee]mpty|KeyError)";

/** The status of a refused HTTP request: "status code 403", "HTTP Error 401: ...", "403 Forbidden". */
const refusedStatus =
  /\b(?:HTTP(?:\/[\d.]+)?|[Ss]tatus(?:[ _-]?[Cc]ode)?|[Ee]rror|[Cc]ode)["')!]?[\s:=-]{0,3}["']?(40[13])\b(?! (?!for\b)[a-z])|\b(40[13])[:\s-]{1,3}(?:Forbidden|FORBIDDEN|forbidden|Client Error)\b|(?:^|\n|: ?)(Forbidden)\.?\s*(?:\n|$)/;

/** Errors by their text on stderr. The first match wins, so specific patterns come first. */
const knownErrors: readonly ({ id: string; pattern: RegExp } & (
  | Omit<Explained, "id">
  | { explain(groups: readonly (string | undefined)[]): Omit<Explained, "id"> }
))[] = [
  {
    id: "module-missing",
    pattern:
      /Cannot find (?:module|package) '([^']+)'|No module named '?([\w.]+)|can't open file '([^']+)'|MODULE_NOT_FOUND(?:'|"|\])[\s\S]{0,200}?url: '([^']+)'|MODULE_NOT_FOUND/,
    explain: (groups) => ({
      wrong: `The server cannot load ${groups.find((one) => one !== undefined) ?? "a module"}.`,
      remedy: "Install its dependencies, build it, or correct the path.",
    }),
  },
  {
    id: "package-missing",
    pattern: /(?:npm (?:error|ERR!) (?:code E)?404|No solution found|not found in the (?:package )?registry)/,
    wrong: "The package of the server was not found in the registry.",
    remedy: "Check the name and version of the package, and that the registry can be reached.",
  },
  {
    id: "port-in-use",
    pattern: /EADDRINUSE|[Aa]ddress already in use/,
    wrong: "The port of the server is already in use.",
    remedy: "Stop the program that uses it, possibly an earlier instance of this server, or configure another port.",
  },
  {
    id: "syntax",
    pattern: /SyntaxError|ERR_UNKNOWN_FILE_EXTENSION|TSError/,
    wrong: "The interpreter cannot parse the code of the server.",
    remedy: "Build the server, or run it with the interpreter and version that it was written for.",
  },
  {
    id: "credentials",
    pattern: refusedStatus,
    explain: (groups) =>
      groups.includes("401")
        ? withoutKey
        : {
            wrong:
              "A service answers 403 Forbidden: it refuses the credentials of the server, or they lack a permission.",
            remedy: "Give the server another key or token, or grant the one it has the permission that the call needs.",
          },
  },
  {
    id: "variable-missing",
    pattern: new RegExp(near(lacksVariable, `(${variableName})`)),
    explain: ([before = "", after = before]) => explainVariables([after]),
  },
  {
    id: "permission",
    pattern: /EACCES|EPERM|[Pp]ermission denied/,
    wrong: "The server does not have permission to open a file or port that it needs.",
    remedy: "Grant the permission to the user who runs it, or configure another location.",
  },
  {
    id: "service-unreachable",
    pattern: /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|[Cc]onnection refused|\bfetch failed\b/,
    wrong: "The server cannot reach a service that it needs to start.",
    remedy: "Start that service, correct its address, or check the network and its proxy.",
  },
  {
    id: "arguments",
    pattern:
      /\b[Uu]sage:|[Mm]issing (?:required )?argument|the following arguments are required|as an? (?:command[- ]line )?argument/,
    wrong: "The server was started with the wrong arguments.",
    remedy: 'Set "args" according to its usage message.',
  },
];

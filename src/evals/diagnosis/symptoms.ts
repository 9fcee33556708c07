/** What a server that ended says of it on stderr. */
export type Symptom = {
  id: string;
  wrong: string;
  remedy: string;
  /** The environment variable that it asks for. */
  variable?: string;
};

type Known = { id: string; sees: RegExp; say(found: readonly (string | undefined)[]): Omit<Symptom, "id"> };

const variable = "([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)";
const lacking =
  "(?:[Mm]issing|[Rr]equired?|[Nn]ot (?:set|defined|found|provided)|[Uu]ndefined|[Uu]nset|[Ss]et|[Pp]rovide|[Nn]eeds?|[Ee]mpty)";

/** The first that is seen decides, so the narrow ones stand first. */
const known: readonly Known[] = [
  {
    id: "module-missing",
    sees: /Cannot find (?:module|package) '([^']+)'|No module named '?([\w.]+)|can't open file '([^']+)'|MODULE_NOT_FOUND(?:'|"|\])[\s\S]{0,200}?url: '([^']+)'|MODULE_NOT_FOUND/,
    say: (found) => ({
      wrong: `It cannot load ${found.find((one) => one !== undefined) ?? "a module"}.`,
      remedy: "Install its dependencies, build it, or mend the path.",
    }),
  },
  {
    id: "package-missing",
    sees: /(?:npm (?:error|ERR!) (?:code E)?404|No solution found|not found in the (?:package )?registry)/,
    say: () => ({
      wrong: "Its package is not to be had from the registry.",
      remedy: "Check the name and the version of the package, and that the registry can be reached.",
    }),
  },
  {
    id: "port-in-use",
    sees: /EADDRINUSE|[Aa]ddress already in use/,
    say: () => ({
      wrong: "It wants a port that another program has taken.",
      remedy: "End the other program, which may be an earlier start of this server, or give it another port.",
    }),
  },
  {
    id: "syntax",
    sees: /SyntaxError|ERR_UNKNOWN_FILE_EXTENSION|TSError/,
    say: () => ({
      wrong: "Its code cannot be read by the program that runs it.",
      remedy: "Build it, or run it with the interpreter and the version that it was written for.",
    }),
  },
  {
    id: "variable-missing",
    sees: new RegExp(
      `${lacking}[^\\n]{0,60}?\\b(?!ERR_)${variable}\\b|\\b(?!ERR_)${variable}\\b[^\\n]{0,60}?${lacking}`,
    ),
    say: ([before = "", after = before]) => ({
      wrong: `It asks for the environment variable ${after}.`,
      remedy: `Name ${after} under env of its entry: a server inherits only a few variables, such as HOME and PATH.`,
      variable: after,
    }),
  },
  {
    id: "permission",
    sees: /EACCES|EPERM|[Pp]ermission denied/,
    say: () => ({
      wrong: "It may not open what it needs.",
      remedy: "Give the user that runs it the right to, or point it to a place where it has it.",
    }),
  },
  {
    id: "service-unreachable",
    sees: /ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|[Cc]onnection refused/,
    say: () => ({
      wrong: "It cannot reach a service that it needs to start.",
      remedy: "Start that service, or mend its address in the server's settings.",
    }),
  },
  {
    id: "arguments",
    sees: /\b[Uu]sage:|[Mm]issing (?:required )?argument|the following arguments are required/,
    say: () => ({ wrong: "It wants other arguments.", remedy: "Give the arguments that its usage names, under args." }),
  },
];

/** What the end of a server's stderr tells of why it ended, if it is one of the known ways. */
export function symptomIn(stderr: readonly string[]): Symptom | undefined {
  const text = stderr.join("\n").slice(0, 20_000);
  for (const { id, sees, say } of known) {
    const seen = sees.exec(text);
    if (seen) return { id, ...say(seen.slice(1)) };
  }
  return undefined;
}

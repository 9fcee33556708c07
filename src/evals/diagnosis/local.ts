import { quote } from "../types/quote.ts";
import type { LocalStart } from "./facts.ts";
import type { Diagnosis } from "./report.ts";
import { symptomIn } from "./symptoms.ts";

type Finding = Omit<Diagnosis, "severity">;

/** Programs that come with something else, and what to install for them. */
const comesWith: Readonly<Record<string, string>> = {
  ...{ node: "Node.js", npx: "Node.js", npm: "Node.js", bun: "Bun", bunx: "Bun", deno: "Deno" },
  ...{
    uv: "uv",
    uvx: "uv",
    python: "Python",
    python3: "Python",
    pipx: "pipx",
    docker: "Docker",
    java: "a Java runtime",
  },
};

/**
 * Why a local server does not answer; nothing when it does. What is certain goes before what its output suggests.
 * `direct` is a command that starts it.
 */
export function whyNotStarted(start: LocalStart, command: string, direct: string): Finding | undefined {
  if (start.answered) return undefined;
  return { show: direct, ...(cannotRun(start, command) ?? ended(start, direct) ?? silent(start)) };
}

function cannotRun({ folder, program, script }: LocalStart, command: string): Finding | undefined {
  if (!folder.exists)
    return {
      id: "folder-missing",
      wrong: `The folder that it starts in does not exist: ${folder.path}.`,
      evidence: [],
      remedy: "Mend cwd, or leave it out.",
    };
  if (program.kind === "missing") return missingProgram(program, command);
  if (program.kind === "not executable")
    return {
      id: "program-not-executable",
      wrong: `${program.path} is no program that may be run.`,
      evidence: [],
      remedy: `Make it executable with chmod +x, or name its interpreter as the command.`,
    };
  if (!script || script.exists) return undefined;
  return {
    id: "script-missing",
    wrong: `There is no script ${script.path}.`,
    evidence: script.relative ? [`${quote(script.given)} was looked up from ${folder.path}`] : [],
    remedy:
      settingOf(script.given) ??
      (script.relative
        ? "Give the script by its absolute path: every host starts a server in a folder of its own choice."
        : "Build the server, or mend the path."),
  };
}

/** What to do about a path with a variable in it: it was left as written because the variable is not set. */
function settingOf(path: string): string | undefined {
  const name = /\$\{(?:env:)?(\w+)/.exec(path)?.[1];
  return name === undefined ? undefined : `Set ${name} where the host is started, or write the path without it.`;
}

function missingProgram(
  { searched, instead }: { searched: readonly string[]; instead?: string },
  command: string,
): Finding {
  const path = /[/\\]/.test(command);
  const name = Object.hasOwn(comesWith, command) ? comesWith[command] : undefined;
  const install = name === undefined ? "Install it" : `Install ${name}`;
  const other = instead === undefined ? "" : ` Here it is called ${instead}.`;
  return {
    id: "program-missing",
    wrong: `There is no program ${quote(command)}.${other}`,
    evidence: path ? searched.map((one) => `not at ${one}`) : [`not in the folders of PATH: ${searched.join(", ")}`],
    remedy:
      settingOf(command) ??
      (instead !== undefined
        ? `Write ${instead} as the command.`
        : path
          ? "Build it, or give its absolute path."
          : `${install}, or give the absolute path of the program: a host may have a shorter PATH than a shell.`),
  };
}

function ended(start: LocalStart, direct: string): Finding | undefined {
  if (start.ended === undefined) return undefined;
  const symptom = symptomIn(start.stderr);
  const evidence = [start.ended, ...start.stderr.map((line) => `stderr: ${line}`), ...printed(start)];
  if (!symptom) {
    const quiet = start.stderr.length === 0;
    const remedy = quiet
      ? "See that it connects its transport, stays until stdin is closed, and says on stderr why it ends."
      : "Run the command by hand in the same folder, and mend what it says.";
    const wrong = `It ends before it answers${quiet ? ", and says nothing on stderr" : ""}.`;
    return { id: "exits", wrong, evidence, remedy };
  }
  const { variable, ...told } = symptom;
  if (variable === undefined || !start.notPassedOn.has(variable)) return { ...told, evidence };
  // By hand it would inherit the variable, and start.
  const show = `(unset ${variable}; ${direct})`;
  return {
    ...told,
    evidence: [...evidence, `${variable} is set in this shell, and is not passed on to a server`],
    show,
  };
}

const webServer =
  /\b(?:listening|running|started|serving)\b.{0,60}\b(?:port|https?:\/\/|localhost|:\d{2,5})|https?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0)/i;

function silent(start: LocalStart): Finding {
  const seconds = `${Math.round(start.ms / 100) / 10} s`;
  const evidence = [...printed(start), ...start.stderr.map((line) => `stderr: ${line}`)];
  const wrong = `It runs, but did not answer within ${seconds}.`;
  if ([...start.noise, ...start.stderr].some((line) => webServer.test(line)))
    return {
      id: "web-server",
      wrong: `${wrong} It seems to serve over HTTP.`,
      evidence,
      remedy: "Register it by its url, or start it with its option for stdio.",
    };
  if (start.noise.length > 0)
    return {
      id: "stdout-noise",
      wrong: `${wrong} It writes to stdout what is not the protocol.`,
      evidence,
      remedy: "Write logs to stderr: stdout belongs to the protocol.",
    };
  return { id: "silent", wrong, evidence, remedy: "Check that the command starts an MCP server over stdio." };
}

function printed({ noise }: LocalStart): string[] {
  return noise.map((line) => `stdout: ${line}`);
}

import { createInterface } from "node:readline";
import { type Exit, startGroup } from "../../processes/group.ts";

/** A started program, together with all that it starts. */
export type Program = {
  readonly pid: number | undefined;
  /** Resolves once it is gone and its output is read, with how it ended ("ended with code 1"). Never rejects. */
  readonly ended: Promise<{ how: string; wasWell: boolean }>;
  /** The end of its stderr, for an error message. */
  stderrTail(): string;
  /** Ends the whole process group. Does not throw; safe to call twice. */
  stop(): Promise<void>;
};

const stderrCharacters = 2_000;
/** Its folder is removed right after it. */
const orphanMs = 0;

/**
 * Starts a program that reads `input`; `onLine` gets what it writes to stdout. Does not throw: one that cannot be started
 * has `ended`.
 */
export function startProgram(
  command: string,
  args: readonly string[],
  { cwd, env, input, onLine }: { cwd: string; env: Record<string, string>; input: string; onLine(text: string): void },
): Program {
  const { child, ended, stderrTail, end } = startGroup(command, args, { cwd, env, orphanMs });
  child.stdin.end(input);
  createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
  const read = ended.then((exit) => {
    child.stdout.destroy();
    child.stderr.destroy();
    return endOf(exit);
  });
  return {
    pid: child.pid,
    ended: read,
    stderrTail: () => stderrTail().slice(-stderrCharacters),
    stop: async () => {
      await end();
      await read;
    },
  };
}

function endOf(exit: Exit): { how: string; wasWell: boolean } {
  if ("error" in exit) return { how: `could not be started: ${exit.error.message}`, wasWell: false };
  const { code, signal } = exit;
  return { how: signal ? `was killed by ${signal}` : `ended with code ${code}`, wasWell: code === 0 };
}

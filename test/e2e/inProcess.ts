import { knownSecrets } from "../../src/evals/base/secrets/secrets.ts";
import { EvalsError } from "../../src/evals/base/types/errors.ts";
import { runCommandLine } from "../../src/evals/commands/index.ts";
import { version } from "../../src/evals/experiments/workspace/version.ts";
import { anIo } from "../fakes/io.ts";

export type Ended = { code: number | null; out: string; err: string };

/**
 * Runs a command line in this process, as cli.ts does: outputs are redacted, errors are printed and have an exit code.
 * What concerns the process itself (signals, streams, kills) needs `start` of evals.ts, which costs half a second of CPU.
 */
export async function callEvals(
  args: readonly string[],
  { cwd, env, width = 100 }: { cwd: string; env: Record<string, string | undefined>; width?: number },
): Promise<Ended> {
  const { redact } = knownSecrets(env);
  let out = "";
  let err = "";
  const io = anIo({
    cwd,
    env,
    width,
    out: (text) => {
      out += redact(text);
    },
    err: (text) => {
      err += redact(text);
    },
  });
  const code = await runCommandLine(args, io, version).catch((thrown: unknown) => {
    if (!(thrown instanceof EvalsError)) throw thrown;
    io.err(`${thrown.message}\n`);
    return thrown.exitCode;
  });
  return { code, out, err };
}

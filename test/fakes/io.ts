import { type ExitCode, exitCodes } from "../../src/evals/base/types/errors.ts";
import type { Io } from "../../src/evals/base/types/io.ts";

/** The world of a command in a test: what it prints can be read, and `stop` is what SIGINT does. */
export type TestIo = Io & { printed(): string; warned(): string; stop(): void };

export function anIo(changes: Partial<Io> = {}): TestIo {
  const texts = { out: "", err: "" };
  const stopping = new AbortController();
  return {
    out: (text) => {
      texts.out += text;
    },
    err: (text) => {
      texts.err += text;
    },
    outIsTerminal: false,
    errIsTerminal: false,
    width: 100,
    color: false,
    unicode: true,
    env: {},
    isTrusted: true,
    cwd: process.cwd(),
    signal: stopping.signal,
    signalExitCode: (): ExitCode => exitCodes.sigint,
    ...changes,
    printed: () => texts.out,
    warned: () => texts.err,
    stop: () => stopping.abort(),
  };
}

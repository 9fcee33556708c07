import type { Severity } from "../base/types/finding.ts";

/**
 * A file as programs outside name it: from the root of the repository. `folder`: the path in it of the working directory,
 * from which this program names files.
 */
export function fromRoot(file: string, folder: string): string {
  if (folder === "" || /^(?:[\\/]|[a-z]:)/i.test(file)) return file;
  const way: string[] = [];
  for (const name of `${folder}/${file.replaceAll("\\", "/")}`.split("/"))
    if (name === "..") way.pop();
    else if (name !== ".") way.push(name);
  return way.join("/");
}

export type Place = { file?: string | undefined; line?: number | undefined; column?: number | undefined };

/**
 * One decision of a command, for the forms that list results: a JUnit test case, a GitHub annotation.
 * The levels `failed` (missed a gate) and `error` (no answer to judge) are red.
 */
export type Verdict = {
  /** The subject, such as the id of a case. */
  name: string;
  level: "failed" | "error" | "warning" | "notice" | "passed";
  /** The state in one word. */
  kind: string;
  /** The first line can stand alone. Empty if there is nothing to explain. */
  lines: readonly string[];
  place?: Place | undefined;
  /** The summed time of all trials in milliseconds; trials can run concurrently. */
  ms?: number | undefined;
};

/** The verdicts on one suite and model. `facts`: additional properties by name. */
export type VerdictSuite = {
  name: string;
  model?: string;
  facts: Readonly<Record<string, string | undefined>>;
  verdicts: readonly Verdict[];
};

/** All verdicts of a command. `where` completes "see all …". `ms`: wall-clock time. */
export type VerdictList = {
  suites: readonly VerdictSuite[];
  where: string;
  startedAt?: string | undefined;
  ms?: number | undefined;
};

/** The severity of each level in forms that list problems; what simply passed is not listed. */
export const severities: Readonly<Record<Verdict["level"], Severity | undefined>> = {
  failed: "error",
  error: "error",
  warning: "warning",
  notice: "info",
  passed: undefined,
};

export const isRed = ({ level }: Verdict) => level === "failed" || level === "error";

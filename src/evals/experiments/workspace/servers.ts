import { EvalsError, exitCodes } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Suite } from "../../base/types/suite.ts";
import { ServerFailure } from "../../servers/session.ts";
import { openSource, type Source } from "../../servers/source.ts";

/** A suite with its server open and its tools listed, or with the error. */
export type Opened = { suite: Suite; source: Source } | { suite: Suite; failure: unknown };

/** Opens the servers of all suites concurrently. Never rejects. */
export function openServers(suites: readonly Suite[], io: Io): Promise<Opened[]> {
  return Promise.all(
    suites.map((suite) =>
      openSource({ ...suite, elicits: suite.cases.some(({ elicit }) => elicit) }, io).then(
        (source) => ({ suite, source }),
        (failure: unknown) => ({ suite, failure }),
      ),
    ),
  );
}

/** Closes every server. Does not throw. */
export async function closeServers(opened: readonly Opened[]): Promise<void> {
  await Promise.all(opened.map((one) => ("source" in one ? one.source.close() : undefined)));
}

/** Throws an internal error, or the mistakes in the suites as one error. An unreachable server is not a mistake. */
export function refuseMistakes(opened: readonly Opened[]): void {
  const failures = opened.flatMap((one) => ("failure" in one && !isUnavailable(one.failure) ? [one.failure] : []));
  const internal = failures.find((failure) => !(failure instanceof EvalsError));
  if (internal !== undefined) throw internal;
  const mistakes = failures.filter((failure) => failure instanceof EvalsError);
  if (mistakes.length > 0) throw EvalsError.all(mistakes);
}

/** Whether a server could not be reached, as opposed to a mistake in the suite. */
export function isUnavailable(failure: unknown): failure is EvalsError {
  return failure instanceof EvalsError && failure.exitCode === exitCodes.incomplete;
}

/** Adds the command that finds out why a server cannot be reached, unless the cause is known. */
export function suggestDoctor(error: EvalsError, words: string): EvalsError {
  const { problems, exitCode } = error;
  if (error instanceof ServerFailure && error.isExplained) return error;
  const command = `To find the cause, run: evals doctor ${words}`;
  const more = problems.map((problem, at) =>
    at === 0 ? { ...problem, hint: [problem.hint, command].filter(Boolean).join(" ") } : problem,
  );
  return new EvalsError(more, exitCode);
}

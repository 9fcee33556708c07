import vm from "node:vm";

const holder: { job: (() => unknown) | undefined } = { job: undefined };
const context = vm.createContext(Object.freeze({ holder: Object.seal(holder) }));
const script = new vm.Script("holder.job()");

/** Thrown by `limitTime` when the time is up. */
export class TimeLimitError extends Error {}

/** How often the time limit may be doubled on a busy machine. */
const mostDoublings = 6;

/**
 * Runs synchronous work for at most about `ms` of CPU time, and returns its result. V8 interrupts loops, regular
 * expressions and compiled validators alike. A call costs about 100 µs. Only time is limited: the work must be trusted
 * code on untrusted data. On a busy machine the work may be restarted with more time, so that the result does not
 * depend on the load. Throws TimeLimitError when the time is up, and whatever the work throws.
 */
export function limitTime<T>(ms: number, work: () => T): T {
  const outer = holder.job;
  try {
    for (let doublings = 0; ; doublings++) {
      // Set for each attempt: nested work that was interrupted together with this one leaves its own job here.
      holder.job = work;
      const before = process.cpuUsage();
      try {
        return script.runInContext(context, { timeout: ms * 2 ** doublings }) as T;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
        const { user, system } = process.cpuUsage(before);
        if ((user + system) / 1_000 >= ms / 2 || doublings === mostDoublings)
          throw new TimeLimitError(`it takes more than ${ms} ms`);
      }
    }
  } finally {
    holder.job = outer;
  }
}

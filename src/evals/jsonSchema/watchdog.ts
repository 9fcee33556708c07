import vm from "node:vm";

const holder: { job: (() => unknown) | undefined } = { job: undefined };
const context = vm.createContext(Object.freeze({ holder: Object.seal(holder) }));
const script = new vm.Script("holder.job()");

/** Thrown by `limitTime` when the time is up. */
export class TimeLimitError extends Error {}

/** How often the time is doubled at most, where the machine gives this process little of it. */
const mostDoublings = 6;

/**
 * The result of synchronous work that ends after about `ms` of processor time. V8 interrupts loops, regular expressions and
 * compiled validators alike, in this process. It costs some 100 µs a call. It limits time, and nothing else: the work is
 * trusted code on foreign data. On a busy machine the work may be started again with more time, so that the result does not
 * depend on the load. Throws TimeLimitError when the time is up, and whatever the work throws.
 */
export function limitTime<T>(ms: number, work: () => T): T {
  const outer = holder.job;
  try {
    for (let doublings = 0; ; doublings++) {
      // Set each time: limited work inside of this one that is interrupted with it leaves its own.
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

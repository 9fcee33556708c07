/** Gives back what was taken. Safe to call twice. */
export type Release = () => void;

/**
 * A queue for at most `count` at once, first come, first served. Resolves with the way to give the slot back, or with
 * undefined when the signal aborts first.
 */
export function slots(count: number): (signal: AbortSignal) => Promise<Release | undefined> {
  let free = count;
  const waiting: (() => void)[] = [];
  const give = (): Release => {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = waiting.shift();
      if (next) next();
      else free++;
    };
  };
  return (signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      if (free > 0) {
        free--;
        return resolve(give());
      }
      const abort = () => {
        waiting.splice(waiting.indexOf(start), 1);
        resolve(undefined);
      };
      const start = () => {
        signal.removeEventListener("abort", abort);
        resolve(give());
      };
      waiting.push(start);
      signal.addEventListener("abort", abort, { once: true });
    });
}

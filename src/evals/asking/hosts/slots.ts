import { availableParallelism, totalmem } from "node:os";

/** Frees a slot. Safe to call twice. */
type Release = () => void;

/** A semaphore, first come, first served. Resolves with the function that frees the slot; undefined if aborted. */
export function createSlots(count: number): (signal: AbortSignal) => Promise<Release | undefined> {
  let free = count;
  const waiting: (() => void)[] = [];
  const give = (): Release => {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
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

/** How many processes of `bytes` of memory fit: at most two per processor, because they mostly wait for the model. */
export function countProcesses(bytes: number): number {
  // macOS counts file caches as used memory, although it frees them for a process.
  const free = process.platform === "darwin" ? totalmem() / 2 : process.availableMemory();
  return Math.max(1, Math.min(Math.floor(free / bytes), 2 * availableParallelism()));
}

/**
 * Runs `work` over `items` with at most `concurrency` at once. Items are drawn one by one as places get free, so a plan
 * of any length takes no memory. Stops drawing when `signal` aborts; what is under way is awaited. Rejects with the first
 * error of `work`, after the others that were under way have ended.
 */
export async function schedule<Item>(
  items: Iterable<Item>,
  concurrency: number,
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const worker = async () => {
    while (!signal.aborted && !failure) {
      const next = iterator.next();
      if (next.done) return;
      try {
        await work(next.value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (failure) throw failure.error;
}

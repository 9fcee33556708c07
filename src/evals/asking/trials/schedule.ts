/**
 * Runs `work` over `items` with at most `concurrency` concurrent calls. Takes items one by one, so that a plan of any
 * length needs no memory. When `signal` aborts, takes no further item and waits for in-flight work. Rejects with the
 * first error of `work`, after in-flight work has ended.
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

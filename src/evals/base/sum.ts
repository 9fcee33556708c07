/** The sum of a number of each item. */
export function sumOf<T>(items: Iterable<T>, read: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += read(item);
  return sum;
}

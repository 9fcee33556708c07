/** The first of `items`, at most so many; the rest is not looked at. */
export function upTo<T>(most: number, items: Iterable<T>): T[] {
  const first: T[] = [];
  for (const item of items) {
    if (first.length >= most) break;
    first.push(item);
  }
  return first;
}

import fc from "fast-check";
import { expect, test } from "vitest";
import { complete, pairUp } from "../../../src/evals/asking/scoring/match.ts";

test("a later item takes an earlier one's place when that one has another", () => {
  const edges = [
    [true, true],
    [true, false],
  ];
  expect(pairUp(2, 2, (left, right) => edges[left]?.[right] ?? false)).toEqual([1, 0]);
});

test("who is paired in the seed stays paired", () => {
  expect(pairUp(2, 1, () => true, [undefined, 0])).toEqual([undefined, 0]);
  expect(complete([undefined, 0])).toBe(false);
});

/** The size of the largest pairing, by trying everything. */
function largest(edges: readonly (readonly boolean[])[], left = 0, taken: ReadonlySet<number> = new Set()): number {
  const row = edges[left];
  if (!row) return 0;
  const withMe = row.flatMap((edge, right) =>
    edge && !taken.has(right) ? [1 + largest(edges, left + 1, new Set([...taken, right]))] : [],
  );
  return Math.max(largest(edges, left + 1, taken), ...withMe);
}

test("the pairing follows the edges, uses nothing twice, and is as large as any", () => {
  const graphs = fc
    .tuple(fc.nat(5), fc.nat(5))
    .chain(([left, right]) =>
      fc.array(fc.array(fc.boolean(), { minLength: right, maxLength: right }), { minLength: left, maxLength: left }),
    );
  fc.assert(
    fc.property(graphs, (edges) => {
      const right = edges[0]?.length ?? 0;
      const pairing = pairUp(edges.length, right, (i, j) => edges[i]?.[j] ?? false);
      const used = pairing.filter((other) => other !== undefined);
      expect(new Set(used).size).toBe(used.length);
      expect(pairing.every((other, left) => other === undefined || edges[left]?.[other])).toBe(true);
      expect(used.length).toBe(largest(edges));
    }),
  );
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { kappa } from "../../../src/evals/base/stats/intervals.ts";

type Table = readonly (readonly number[])[];

const anyTable = (most = 30) =>
  fc.integer({ min: 2, max: 4 }).chain((size) =>
    fc.array(fc.array(fc.integer({ min: 0, max: most }), { minLength: size, maxLength: size }), {
      minLength: size,
      maxLength: size,
    }),
  );

const transposed = (table: Table) => table.map((_, j) => table.map((row) => row[j] ?? 0));
const total = (table: Table) => table.flat().reduce((sum, items) => sum + items, 0);

/** The variance by the delta method, its derivatives taken numerically: the multinomial one of the statistic itself. */
function varianceByDelta(table: Table): number {
  const n = total(table);
  const shares = table.map((row) => row.map((items) => items / n));
  const at = (i: number, j: number, by: number) =>
    kappa(shares.map((row, r) => row.map((share, c) => (r === i && c === j ? share + by : share))))?.kappa ?? 0;
  const step = 1e-5;
  // kappa() divides by the sum of its table, so the shares of the other cells shrink as one of them grows.
  const slopes = shares.flatMap((row, i) =>
    row.map((share, j) => ({ share, slope: (at(i, j, step) - at(i, j, -step)) / (2 * step) })),
  );
  const mean = slopes.reduce((sum, { share, slope }) => sum + share * slope, 0);
  return slopes.reduce((sum, { share, slope }) => sum + share * (slope - mean) ** 2, 0) / n;
}

describe("Cohen's kappa", () => {
  test("the printout of SAS PROC FREQ for a 3 x 3 table", () => {
    expect(
      kappa([
        [0, 4, 1],
        [0, 8, 0],
        [0, 1, 5],
      ]),
    ).toEqual({
      kappa: expect.closeTo(0.4842, 4),
      standardError: expect.closeTo(0.138, 4),
      interval: [expect.closeTo(0.2137, 4), expect.closeTo(0.7547, 4)],
    });
  });

  test("the printout of Stata's kapci for a 2 x 2 table", () => {
    expect(
      kappa([
        [1395, 118],
        [261, 158],
      ]),
    ).toEqual({
      kappa: expect.closeTo(0.3411969207847029, 12),
      standardError: expect.closeTo(0.0262913719660408, 12),
      interval: [expect.closeTo(0.2896667786271169, 9), expect.closeTo(0.3927270629422889, 9)],
    });
  });

  test("the worked example of Cohen (1960), 200 subjects", () => {
    expect(
      kappa([
        [88, 14, 18],
        [10, 40, 10],
        [2, 6, 12],
      ]),
    ).toMatchObject({ kappa: expect.closeTo(0.492, 3) });
  });

  test("the standard error is that of the delta method", () => {
    fc.assert(
      fc.property(anyTable(), (table) => {
        const found = kappa(table);
        fc.pre(found !== undefined && found.standardError > 0 && table.flat().every((items) => items > 0));
        expect((found?.standardError ?? 0) ** 2 / varianceByDelta(table)).toBeCloseTo(1, 4);
      }),
    );
  });

  test("does not depend on who is named first, nor on the order of categories", () => {
    fc.assert(
      fc.property(anyTable(), (table) => {
        const [one, other, reversed] = [
          table,
          transposed(table),
          table.map((row) => row.toReversed()).toReversed(),
        ].map((each) => kappa(each));
        for (const same of [other, reversed]) {
          expect(same?.kappa ?? 9).toBeCloseTo(one?.kappa ?? 9, 9);
          expect(same?.standardError ?? 9).toBeCloseTo(one?.standardError ?? 9, 9);
        }
      }),
    );
  });

  test("lies within [-1, 1], inside of its interval; is 1 only without disagreement, and 0 for independent raters", () => {
    fc.assert(
      fc.property(anyTable(), (table) => {
        const found = kappa(table);
        if (!found) return;
        const [low, high] = found.interval ?? [found.kappa, found.kappa];
        expect(-1 <= low && low <= found.kappa && found.kappa <= high && high <= 1).toBe(true);
        expect(found.kappa === 1).toBe(table.every((row, i) => row.every((items, j) => i === j || items === 0)));
        const independent = table.map((row, i) =>
          row.map((_, j) => total([table[i] ?? []]) * total([transposed(table)[j] ?? []])),
        );
        expect(kappa(independent)?.kappa).toBeCloseTo(0, 9);
      }),
    );
  });

  test("four times the items halve the standard error", () => {
    fc.assert(
      fc.property(anyTable(), (table) => {
        const [one, more] = [kappa(table), kappa(table.map((row) => row.map((items) => 4 * items)))];
        expect(more?.kappa ?? 9).toBeCloseTo(one?.kappa ?? 9, 9);
        expect((more?.standardError ?? 0) * 2).toBeCloseTo(one?.standardError ?? 0, 9);
      }),
    );
  });

  test.each([
    [
      "[3, 1] of one rater, all of one category for the other",
      [
        [3, 1],
        [0, 0],
      ],
    ],
    [
      "the same where shares are rounded",
      [
        [2, 2, 1],
        [0, 0, 0],
        [0, 0, 0],
      ],
    ],
    [
      "the same by the other rater",
      [
        [0, 1],
        [0, 4],
      ],
    ],
  ])("has no interval where nothing varies: %s", (_, table) => {
    expect(kappa(table)).toEqual({ kappa: expect.closeTo(0, 12), standardError: 0 });
  });

  test("has no interval without disagreement, and is not defined where both know one category", () => {
    expect(
      kappa([
        [5, 0],
        [0, 5],
      ]),
    ).toEqual({ kappa: 1, standardError: 0 });
    expect(
      kappa([
        [5, 0],
        [0, 0],
      ]),
    ).toBeUndefined();
    expect(
      kappa([
        [0, 0],
        [0, 0],
      ]),
    ).toBeUndefined();
    expect(
      kappa([
        [0, 5],
        [5, 0],
      ])?.kappa,
    ).toBe(-1);
  });
});

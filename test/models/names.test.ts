import * as fc from "fast-check";
import { expect, it } from "vitest";
import { wireNames } from "../../src/evals/models/names.ts";

it("replaces what is not accepted, and keeps apart what would become one", () => {
  const names = wireNames(["a.b", "a_b", "a b", "ok", "x".repeat(12)], 11);
  expect(["a.b", "a_b", "a b", "ok", "x".repeat(12)].map(names.wire)).toEqual([
    expect.stringMatching(/^a__[0-9a-f]{8}$/),
    "a_b",
    expect.stringMatching(/^a__[0-9a-f]{8}$/),
    "ok",
    expect.stringMatching(/^xx_[0-9a-f]{8}$/),
  ]);
});

it("passes on a name that no tool has", () => {
  expect(wireNames(["a.b"], 64).shown("made_up")).toBe("made_up");
});

it("gives every name an accepted one of its own, and finds it back, in any order", () => {
  const name = fc.oneof(fc.string({ minLength: 1, maxLength: 80 }), fc.stringMatching(/^[ab._]{1,4}$/));
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 12 }), (list) => {
      const names = wireNames(list, 64);
      const wires = list.map(names.wire);
      expect(new Set(wires).size).toBe(list.length);
      for (const wire of wires) expect(wire).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(wires.map(names.shown)).toEqual(list);
      const reversed = wireNames([...list].reverse(), 64);
      expect(list.map(reversed.wire)).toEqual(wires);
    }),
  );
});

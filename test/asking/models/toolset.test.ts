import * as fc from "fast-check";
import { expect, it } from "vitest";
import { jsonRequest, mapToWireNames } from "../../../src/evals/asking/models/wireNames.ts";

it("replaces what is not accepted, and keeps apart what would become one", () => {
  const names = mapToWireNames(["a.b", "a_b", "a b", "ok", "x".repeat(12)], 11);
  expect(["a.b", "a_b", "a b", "ok", "x".repeat(12)].map(names.toWire)).toEqual([
    expect.stringMatching(/^a__[0-9a-f]{8}$/),
    "a_b",
    expect.stringMatching(/^a__[0-9a-f]{8}$/),
    "ok",
    expect.stringMatching(/^xx_[0-9a-f]{8}$/),
  ]);
});

it("passes on a name that no tool has", () => {
  expect(mapToWireNames(["a.b"], 64).toShown("made_up")).toBe("made_up");
});

it("gives every name an accepted one, and maps it back, in any order", () => {
  const name = fc.oneof(fc.string({ minLength: 1, maxLength: 80 }), fc.stringMatching(/^[ab._]{1,4}$/));
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 12 }), (list) => {
      const names = mapToWireNames(list, 64);
      const wires = list.map(names.toWire);
      expect(new Set(wires).size).toBe(list.length);
      for (const wire of wires) expect(wire).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(wires.map(names.toShown)).toEqual(list);
      const reversed = mapToWireNames([...list].reverse(), 64);
      expect(list.map(reversed.toWire)).toEqual(wires);
    }),
  );
});

it("writes a request as JSON, whatever its tools are, again and in another order", () => {
  const tools = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 4 });
  const { signal } = new AbortController();
  fc.assert(
    fc.property(fc.string(), fc.option(tools), (model, list) => {
      for (const body of list
        ? [
            { model, tools: list },
            { model, tools: list.toReversed() },
          ]
        : [{ model }])
        expect(JSON.parse(jsonRequest(body, signal).body)).toEqual(JSON.parse(JSON.stringify(body)));
    }),
  );
});

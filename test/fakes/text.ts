import * as fc from "fast-check";

/** All code points but surrogates. `unit: "binary"` makes the same, and first a table of them all, which takes a second. */
const unit = fc.integer({ min: 0, max: 0x10f7ff }).map(
  (at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800),
  (text) => {
    const point = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (point === undefined || text !== String.fromCodePoint(point)) throw new Error("not one code point");
    return point < 0xd800 ? point : point - 0x800;
  },
);

/** Any text of whole code points: control characters, bidi marks and emoji included. */
export const anyText = (limits: { maxLength?: number } = {}) => fc.string({ unit, ...limits });

/** Texts under their names, for one file that shows them all. */
export const sections = (texts: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(texts)
    .map(([name, text]) => `## ${name}\n\n${text?.trimEnd()}\n`)
    .join("\n");

import { createHash } from "node:crypto";

/** Tool names as a provider's interface takes them, and back. */
export type WireNames = {
  wire(shown: string): string;
  /** The shown name; a name that no tool has passes unchanged, for it is what the model wrote. */
  shown(wire: string): string;
};

/**
 * Maps names to those that the language-model interfaces accept: letters, digits, `_` and `-`, at most `max` of them.
 * A name that is acceptable stays. In any other, every other character becomes `_`; if that is too long, or is taken,
 * it is cut and gets eight hexadecimal digits of the name's SHA-256. The result does not depend on the order of names.
 */
export function wireNames(names: readonly string[], max: number): WireNames {
  const acceptable = new RegExp(`^[a-zA-Z0-9_-]{1,${max}}$`);
  const toWire = new Map(names.filter((name) => acceptable.test(name)).map((name) => [name, name]));
  const toShown = new Map(toWire);
  for (const name of [...new Set(names)].sort()) {
    if (toWire.has(name)) continue;
    const plain = name.replace(/[^a-zA-Z0-9_-]/g, "_");
    const wire = acceptable.test(plain) && !toShown.has(plain) ? plain : withHash(plain, name, max);
    toWire.set(name, wire);
    toShown.set(wire, name);
  }
  return { wire: (shown) => toWire.get(shown) ?? shown, shown: (wire) => toShown.get(wire) ?? wire };
}

function withHash(plain: string, name: string, max: number): string {
  return `${plain.slice(0, max - 9)}_${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
}

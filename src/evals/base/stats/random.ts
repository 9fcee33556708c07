/** A stream of random numbers that its seed decides. Not for secrets. */
export type Random = {
  /** The next number in [0, 1), with 32 random bits. */
  next(): number;
  /** The next integer in 0..n-1, each equally likely. 1 <= n <= 2^32. */
  below(n: number): number;
};

/**
 * A generator for this seed, any safe integer. Small Fast Counter, 32 bits (Chris Doty-Humphrey, PractRand): state of
 * three words and a counter, period at least 2^32, passes PractRand and BigCrush.
 */
export function seededRandom(seed: number): Random {
  let a = 0;
  let b = seed | 0;
  let c = Math.floor(seed / 2 ** 32) | 0;
  let counter = 1;
  const word = () => {
    const result = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + result) | 0;
    return result >>> 0;
  };
  // Similar seeds are still alike in the first outputs.
  for (let i = 0; i < 15; i++) word();
  return {
    next: () => word() / 2 ** 32,
    below: (n) => {
      // Words past the last full multiple of n would favor small results: draw again.
      const usable = 2 ** 32 - (2 ** 32 % n);
      for (;;) {
        const drawn = word();
        if (drawn < usable) return drawn % n;
      }
    },
  };
}

const encoder = new TextEncoder();

/**
 * A seed in 0..2^32-1 for one purpose, from the run's seed and what names the purpose (case, trial, ...). The same
 * parts give the same seed on every machine; different parts give unrelated seeds. FNV-1a over the JSON text, then the
 * final mix of MurmurHash3 (Austin Appleby), which spreads a change of one bit over all.
 */
export function deriveSeed(seed: number, ...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(JSON.stringify([seed, ...parts]))) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A new array with the items in random order, each order equally likely (Fisher and Yates; Durstenfeld 1964). */
export function shuffle<T>(items: readonly T[], random: Random): T[] {
  const pool = [...items];
  return items.flatMap(() => pool.splice(random.below(pool.length), 1));
}

/** The items in an order that the seed decides. Adding or removing one does not change the order of the others. */
export function orderBySeed<T>(items: readonly T[], seed: number, name: (item: T) => string): T[] {
  const named = items.map((item) => ({ item, name: name(item) }));
  const keyed = named.map((one) => ({ ...one, key: deriveSeed(seed, one.name) }));
  return keyed.sort((a, b) => a.key - b.key || (a.name < b.name ? -1 : 1)).map(({ item }) => item);
}

/** Orders of a line come in blocks of so many: a prime, so that no order of a block is another one reversed. */
const blockSize = 11;
/** The steps between the points of a block, in elevenths of the circle. */
const blockStep = 7;

/**
 * The items in one of the orders of a line, from 0. Each by itself is as good as drawn at random. The orders of a block
 * put the items on a circle, at random, and list them by their distance from one of eleven even points of it. These are
 * rows of a Williams square (Australian Journal of Scientific Research A2, 1949), in all of which every item comes
 * equally often in each place and directly before each other one, so few orders show what place and neighbors do.
 */
export function orderOnLine<T>(items: readonly T[], line: number, order: number, name: (item: T) => string): T[] {
  const seed = deriveSeed(line, "block", Math.floor(order / blockSize));
  const point = (deriveSeed(seed, "point") / 2 ** 32 + (blockStep * (order % blockSize)) / blockSize) % 1;
  const circle = orderBySeed(items, seed, name).map((item, i) => {
    const apart = Math.abs(i / items.length - point);
    return { item, distance: Math.min(apart, 1 - apart) };
  });
  return circle.sort((a, b) => a.distance - b.distance).map(({ item }) => item);
}

/**
 * A draw from Beta(a, b), a and b > 0: X / (X + Y) of two gamma draws.
 * Source: Marsaglia and Tsang, ACM Transactions on Mathematical Software 26 (2000), with the boost for shapes below 1.
 */
export function drawBeta(a: number, b: number, random: Random): number {
  const x = drawGamma(a, random);
  const y = drawGamma(b, random);
  return x + y > 0 ? x / (x + y) : 0.5;
}

function drawGamma(shape: number, random: Random): number {
  if (shape < 1) return drawGamma(shape + 1, random) * (1 - random.next()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const z = drawNormal(random);
    const v = (1 + c * z) ** 3;
    if (v > 0 && Math.log(1 - random.next()) < 0.5 * z * z + d * (1 - v + Math.log(v))) return d * v;
  }
}

/** A standard normal draw (Box and Muller 1958). */
export function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

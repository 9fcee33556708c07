import { words } from "../search/keywords.ts";
import { similarity, weigh } from "../search/similarity.ts";

/**
 * Descriptions less alike than this say something else. Measured on the Berkeley leaderboard's tools: of 611 pairs of
 * descriptions of one parameter, written by different hands, 2 % are below it; of 1,793 pairs of descriptions of two
 * parameters of one tool, 60 %. So most of what it finds is another meaning, and it does not find every one.
 */
const leastAlike = 0.2;

/** Words of which one in the place of another changes what a value means, however alike the rest is. */
const telling = new Set(
  words(
    `nanoseconds microseconds milliseconds seconds minutes hours days weeks months years ns ms sec secs min mins bits bytes
    kilobytes megabytes gigabytes kb mb gb kib mib gib millimetres centimetres metres kilometres millimeters centimeters
    meters kilometers inches feet yards miles km cm grams kilograms pounds ounces kg lb celsius fahrenheit kelvin degrees
    radians percent fraction cents dollars euros usd eur utc local absolute relative inclusive exclusive ascending
    descending`,
  ),
);

/** Why a description seems to say something else than it did; undefined where it seems to say the same. A heuristic. */
export function otherMeaning(before: string, after: string): string | undefined {
  const [then, now] = [new Set(words(before)), new Set(words(after))];
  const isReplaced = (one: Set<string>, other: Set<string>) =>
    [...one].some((word) => telling.has(word) && !other.has(word));
  if (isReplaced(then, now) && isReplaced(now, then)) return "its unit or range is another";
  const [a, b] = weigh([{ description: before }, { description: after }]);
  if (then.size === 0 || now.size === 0 || !a || !b || similarity(a, b) >= leastAlike) return undefined;
  return "its description has hardly a word of the old one";
}

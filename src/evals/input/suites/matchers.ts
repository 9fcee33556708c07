import { RE2JS } from "re2js";
import { nearest } from "../../base/text/nearest.ts";
import { messageOf } from "../../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../base/types/json.ts";
import { matcherSchema, readMatcher, writtenKeywords } from "../../base/types/matcher.ts";
import { explain, type PathProblem } from "./explain.ts";

const literalHint = "Wrap the object in { $equals: ... } if it is meant literally.";

/** Checks a value of `args`: a literal, a matcher, or a literal with matchers inside. */
export function checkMatcher(value: Json, path: Path): PathProblem[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => checkMatcher(item, [...path, i]));
  if (!isJsonObject(value)) return [];
  const read = readMatcher(value);
  if (read.kind === "matcher") return checkKeywords(read.operands, path);
  if (read.kind === "literal") return [...findMisspelled(value, path), ...checkMembers(value, path)];
  return [{ path: [...path, read.key], part: "key", message: `${read.message}.`, hint: read.hint }];
}

function checkMembers(value: JsonObject, path: Path): PathProblem[] {
  return Object.entries(value).flatMap(([key, member]) => checkMatcher(member, [...path, key]));
}

/** Warns once about objects that look like a matcher without its `$`, or with a misspelled keyword. */
function findMisspelled(value: JsonObject, path: Path): PathProblem[] {
  const [key = "", ...others] = Object.keys(value);
  const isMatcher = matcherSchema.safeParse(value).success;
  // `{ type: search }` has the name of a keyword, and cannot be meant as one.
  const isMisspelled = others.length === 0 && !Object.hasOwn(matcherSchema.shape, key);
  const near = isMatcher || isMisspelled ? nearest(`$${key}`, writtenKeywords) : undefined;
  if (near === undefined) return [];
  const message = `"${key}" is not a matcher keyword, so this object is compared literally.`;
  const hint = `Did you mean "${near}"? If not, wrap the object in { $equals: ... }.`;
  return [{ path: [...path, key], part: "key", severity: "warning", message, hint, sharedAs: "misspelled" }];
}

function checkKeywords(operands: JsonObject, path: Path): PathProblem[] {
  const at = (keyword: string) => [...path, `$${keyword}`];
  const problems = explain(matcherSchema, operands).map(({ path: [keyword = "", ...rest], message, ...problem }) => {
    const key = String(keyword);
    const named = message.replace(`"${key}"`, `"$${key}"`);
    return { ...problem, path: [...at(key), ...rest], message: named, hint: problem.hint ?? literalHint };
  });
  // The value of `equals` is always literal; the others may contain matchers.
  const inside = ["anyOf", "unordered", "optional", "contains", "not"].flatMap((keyword) =>
    operands[keyword] === undefined ? [] : checkMatcher(operands[keyword], at(keyword)),
  );
  const members = isJsonObject(operands.object) ? checkMembers(operands.object, at("object")) : [];
  return [...problems, ...checkPattern(operands.matches, at("matches")), ...inside, ...members];
}

/** Checks a regular expression at `path`. */
export function checkPattern(pattern: Json | undefined, path: Path): PathProblem[] {
  if (typeof pattern !== "string") return [];
  try {
    RE2JS.compile(pattern);
    return [];
  } catch (error) {
    const hint = "Use RE2 syntax, without look-around and back-references; in YAML put it in single quotes.";
    const message = `"${String(path.at(-1))}" is not a regular expression: ${messageOf(error)}.`;
    return [{ path, message, hint }];
  }
}

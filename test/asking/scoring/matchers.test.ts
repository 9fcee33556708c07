import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  compileMatcher,
  compileMocks,
  complete,
  type Judge,
  no,
  noJudge,
  pairUp,
  unknown,
  yes,
} from "../../../src/evals/asking/scoring/matchers.ts";
import type { Json } from "../../../src/evals/base/types/json.ts";
import { readMatcher, writtenKeywords } from "../../../src/evals/base/types/matcher.ts";
import type { Mock, Mocks } from "../../../src/evals/base/types/suite.ts";
import { call } from "./make.ts";

const match = (expected: Json, value: Json | undefined, judge: Judge = noJudge) =>
  compileMatcher(expected)(value, "args.x", judge);
const met = (expected: Json, value: Json | undefined) => match(expected, value).met;
const why = (expected: Json, value: Json | undefined) => {
  const found = match(expected, value);
  return found.met === "yes" ? "met" : found.why;
};

describe("literals", () => {
  test.each<[Json, Json]>([
    [1, 1.0],
    ["a", "a"],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [{ path: { $endsWith: ".txt" } }, { path: "notes.txt" }],
    [
      [{ $gte: 1 }, "b"],
      [2, "b"],
    ],
    [{ a: 1, b: { $optional: 2 }, c: { $absent: true } }, { a: 1 }],
  ])("%j is met by %j", (expected, value) => {
    expect(met(expected, value)).toBe("yes");
  });

  test.each<[Json, Json | undefined, string]>([
    [1, "1", 'args.x: expected 1, got "1"'],
    [1, undefined, "args.x: expected 1, got nothing"],
    [null, undefined, "args.x: expected null, got nothing"],
    [true, 1, "args.x: expected true, got 1"],
    [[1, 2], [2, 1], "args.x[0]: expected 1, got 2"],
    [[1, 2], [1], "args.x: expected [1,2], got [1]"],
    [{ a: { b: ["c"] } }, { a: { b: ["d"] } }, 'args.x.a.b[0]: expected "c", got "d"'],
    [{ a: 1 }, { a: 1, z: 2 }, "args.x.z: expected no such key, got 2"],
    [{ a: 1, b: 2 }, { a: 1 }, "args.x.b: expected 2, got nothing"],
    [{ "a key": 1 }, { "a key": 2 }, 'args.x["a key"]: expected 1, got 2'],
    [{}, [], "args.x: expected {}, got []"],
    [{ toString: 1 }, {}, "args.x.toString: expected 1, got nothing"],
    [{ p: { $endsWith: ".txt" } }, { p: "a.md" }, 'args.x.p: expected a string that ends with ".txt", got "a.md"'],
  ])("%j is not met by %j", (expected, value, message) => {
    expect(why(expected, value)).toBe(message);
  });

  test("long values are cut in messages", () => {
    const message = why("short", "y".repeat(1000));
    expect(message).toBe(`args.x: expected "short", got "${"y".repeat(198)}…`);
  });
});

describe("keywords", () => {
  test.each<[Json, Json | undefined]>([
    [{ $equals: { type: "string" } }, { type: "string" }],
    [{ $anyOf: [1, { $startsWith: "a" }] }, "abc"],
    [{ $anyOf: [1, { $absent: true }] }, undefined],
    [{ $matches: "^a\\d+" }, "a12b"],
    [{ $matches: "b$" }, "a12b"],
    [{ $contains: "12" }, "a12b"],
    [{ $contains: 2 }, [1, 2]],
    [{ $contains: { $gte: 5 } }, [1, 7]],
    [{ $startsWith: "a" }, "abc"],
    [{ $endsWith: "c" }, "abc"],
    [{ $ignoreCase: "Straße" }, "STRAßE"],
    [{ $gte: 2 }, 2],
    [{ $lte: 2 }, 2],
    [{ $gte: 1, $lte: 3 }, 2],
    [{ $type: "integer" }, 2.0],
    [{ $type: "number" }, 2.5],
    [{ $type: "null" }, null],
    [{ $type: "array" }, []],
    [{ $type: "object" }, {}],
    [{ $type: "boolean" }, false],
    [{ $optional: "a" }, undefined],
    [{ $optional: "a" }, "a"],
    [{ $any: true }, null],
    [{ $absent: true }, undefined],
    [{ $unordered: ["a", "b", "a"] }, ["a", "a", "b"]],
    [{ $unordered: [{ $any: true }, "a"] }, ["a", "b"]],
    [{ $unordered: [] }, []],
    [{ $equals: { $gte: 18 } }, { $gte: 18 }],
    [{ $not: "a" }, "b"],
    [{ $not: { $startsWith: "a" } }, undefined],
    [{ $object: { $match: { genre: { $any: true } } } }, { $match: { genre: "Horror" } }],
  ])("%j is met by %j", (expected, value) => {
    expect(met(expected, value)).toBe("yes");
  });

  test.each<[Json, Json | undefined, string]>([
    [{ $equals: { type: "string" } }, "string", 'args.x: expected {"type":"string"}, got "string"'],
    [{ $anyOf: [1, 2] }, 3, "args.x: expected any of [1,2], got 3"],
    [{ $matches: "^a\\d+" }, "ba1", 'args.x: expected a string that matches "^a\\\\d+", got "ba1"'],
    [{ $matches: "1" }, 1, 'args.x: expected a string that matches "1", got 1'],
    [{ $contains: "12" }, "1 2", 'args.x: expected a value that contains "12", got "1 2"'],
    [{ $contains: 2 }, "2", 'args.x: expected a value that contains 2, got "2"'],
    [{ $contains: 2 }, [1, [2]], "args.x: expected a value that contains 2, got [1,[2]]"],
    [{ $startsWith: "b" }, "abc", 'args.x: expected a string that starts with "b", got "abc"'],
    [{ $endsWith: "b" }, undefined, 'args.x: expected a string that ends with "b", got nothing'],
    [{ $ignoreCase: "Oslo" }, "Olso", 'args.x: expected "Oslo" in any case, got "Olso"'],
    [{ $gte: 2 }, 1.9, "args.x: expected a number >= 2, got 1.9"],
    [{ $gte: 2 }, "3", 'args.x: expected a number >= 2, got "3"'],
    [{ $gte: 1, $lte: 3 }, 4, "args.x: expected a number <= 3, got 4"],
    [{ $type: "integer" }, 2.5, "args.x: expected a value of type integer, got 2.5"],
    [{ $type: "object" }, [], "args.x: expected a value of type object, got []"],
    [{ $type: "object" }, null, "args.x: expected a value of type object, got null"],
    [{ $type: "null" }, undefined, "args.x: expected a value of type null, got nothing"],
    [{ $optional: "a" }, "b", 'args.x: expected "a", got "b"'],
    [{ $any: true }, undefined, "args.x: expected some value, got nothing"],
    [{ $absent: true }, null, "args.x: expected no value, got null"],
    [{ $unordered: ["a", "b"] }, ["a", "a"], 'args.x: expected ["a","b"] in any order, got ["a","a"]'],
    [{ $unordered: ["a"] }, ["a", "a"], 'args.x: expected ["a"] in any order, got ["a","a"]'],
    [{ $unordered: ["a"] }, "a", 'args.x: expected ["a"] in any order, got "a"'],
    [{ $not: "a" }, "a", 'args.x: expected a value other than "a", got "a"'],
    [{ $object: { $a: 1 } }, { $a: 1, b: 2 }, "args.x.b: expected no such key, got 2"],
  ])("%j is not met by %j", (expected, value, message) => {
    expect(why(expected, value)).toBe(message);
  });

  test("a judge decides, and without one it is unknown", () => {
    const asked: string[] = [];
    const judge: Judge = (question) => {
      asked.push(JSON.stringify(question));
      return no("args.x: rude");
    };
    expect(match({ $judge: "is polite" }, "hi", judge)).toEqual(no("args.x: rude"));
    expect(asked).toEqual(['{"about":"value","criterion":"is polite","at":"args.x","value":"hi"}']);
    expect(match({ $judge: "is polite" }, "hi")).toEqual(unknown("no judge model was given"));
    expect(why({ $judge: "is polite" }, undefined)).toBe("args.x: expected a value that meets: is polite, got nothing");
  });

  test("what is decided goes before what is unknown", () => {
    expect(met({ $judge: "polite", $startsWith: "h" }, "hi")).toBe("unknown");
    expect(met({ $judge: "polite", $startsWith: "x" }, "hi")).toBe("no");
    expect(met([{ $judge: "polite" }, "x"], ["hi", "hi"])).toBe("no");
    expect(met([{ $judge: "polite" }, "hi"], ["hi", "hi"])).toBe("unknown");
    expect(met({ $anyOf: [{ $judge: "polite" }, "hi"] }, "hi")).toBe("yes");
    expect(met({ $anyOf: [{ $judge: "polite" }, "x"] }, "hi")).toBe("unknown");
    expect(met({ $unordered: [{ $judge: "polite" }, "b"] }, ["b", "a"])).toBe("unknown");
    expect(met({ $unordered: [{ $judge: "polite" }, "c"] }, ["b", "a"])).toBe("no");
    expect(match({ $unordered: [{ $judge: "polite" }] }, ["a"], () => yes)).toEqual(yes);
  });
});

describe("reading", () => {
  const kinds = (...values: Json[]) => values.map((value) => readMatcher(value).kind);

  test("only an object with keys that begin with $ is a matcher", () => {
    expect(kinds({ $gte: 1 }, { $gte: 1, $lte: 2 })).toEqual(["matcher", "matcher"]);
    expect(kinds({}, { gte: 1 }, { type: "string" }, [], null, "$gte")).toEqual(Array(6).fill("literal"));
  });

  test.each<[Json, string, string]>([
    [{ $gt: 1 }, '"$gt" is not a matcher keyword', 'Did you mean "$gte"? If the object is meant literally'],
    [{ $group: 1 }, '"$group" is not a matcher keyword', "If the object is meant literally, write { $equals: ... }."],
    [{ $gte: 1, lte: 2 }, '"lte" stands beside keys that begin with $', 'Did you mean "$lte"?'],
    [{ $gte: 1, name: 2 }, '"name" stands beside keys that begin with $', "Remove it; if the object is meant"],
    [{ $regex: "a" }, '"$regex" is not a matcher keyword', "If the object is meant literally"],
  ])("%j is neither a matcher nor a literal", (value, message, hint) => {
    expect(readMatcher(value)).toEqual({
      kind: "invalid",
      key: expect.any(String),
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
    expect(met(value, value)).toBe("unknown");
  });
});

test("a wrong matcher is unknown for every value, and never met", () => {
  expect(why({ $type: "strin" }, "file")).toBe('args.x: {"$type":"strin"} is not a valid matcher');
  expect(met({ $matches: "(a" }, "(a")).toBe("unknown");
});

describe("properties", () => {
  // A value with a $ key reads as a matcher; `$equals` is there for those.
  const json = fc.jsonValue().map((value) => value as Json);
  const holdsMatcher = (value: Json): boolean =>
    readMatcher(value).kind !== "literal" ||
    (typeof value === "object" && value !== null && Object.values(value).some(holdsMatcher));

  test("a value matches itself, literally and by equals", () => {
    fc.assert(
      fc.property(json, (value) => {
        fc.pre(!holdsMatcher(value));
        expect(met(value, JSON.parse(JSON.stringify(value)) as Json)).toBe("yes");
      }),
    );
    fc.assert(
      fc.property(json, (value) => {
        expect(met({ $equals: value }, value)).toBe("yes");
        expect(met({ $equals: { $equals: value } }, { $equals: value })).toBe("yes");
      }),
    );
  });

  test("an object with a $ key is never a literal, and one without always is", () => {
    const key = fc.oneof(fc.string(), fc.constantFrom(...writtenKeywords, "gte", "type", "$", "$x"));
    fc.assert(
      fc.property(fc.dictionary(key, json), (value) => {
        const isMarked = Object.keys(value).some((one) => one.startsWith("$"));
        expect(readMatcher(value).kind === "literal").toBe(!isMarked);
        expect(met({ $equals: value }, value)).toBe("yes");
        const members = Object.entries(value).map(([name, item]) => [name, { $equals: item }] as const);
        expect(met({ $object: Object.fromEntries(members) }, value)).toBe("yes");
      }),
    );
  });

  test("not is met exactly where its matcher is not", () => {
    fc.assert(
      fc.property(json, json, (expected, value) => {
        const opposite = { yes: "no", no: "yes", unknown: "unknown" }[met({ $equals: expected }, value)];
        expect(met({ $not: { $equals: expected } }, value)).toBe(opposite);
      }),
    );
  });

  test("a member called __proto__ is compared like any other", () => {
    const value = JSON.parse('[{"__proto__": false}]') as Json;
    expect(met({ $equals: value }, value)).toBe("yes");
    expect(met({ $equals: value }, [{}])).toBe("no");
  });

  test("literal and equals agree on any two values", () => {
    fc.assert(
      fc.property(json, json, (expected, value) => {
        fc.pre(!holdsMatcher(expected));
        expect(met(expected, value)).toBe(met({ $equals: expected }, value));
      }),
    );
  });

  test("unordered does not depend on the order of either side", () => {
    const lists = fc.array(fc.nat(3)).chain((list) => {
      const shuffled = fc.shuffledSubarray(list, { minLength: list.length });
      return fc.tuple(fc.constant(list), shuffled, fc.array(fc.nat(3)));
    });
    fc.assert(
      fc.property(lists, ([list, shuffled, other]) => {
        expect(met({ $unordered: list }, shuffled)).toBe("yes");
        expect(met({ $unordered: other }, list)).toBe(met({ $unordered: other }, shuffled));
        expect(met({ $unordered: list }, other)).toBe(met({ $unordered: shuffled }, other));
      }),
    );
  });

  test("a pattern that makes backtracking explode is answered at once", () => {
    const text = `${"a".repeat(50_000)}!`;
    for (const pattern of ["(a+)+$", "(a|aa)+$", "^(a|a)*$", "(.*a){20}$"]) {
      expect(met({ $matches: pattern }, text)).toBe("no");
    }
  });
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

const mock = (label: string, text: string, args?: Mock["args"]): Mock => ({
  label,
  tool: label.replace(/\[\d+\]$/, ""),
  ...(args && { args }),
  result: { isError: false, content: [{ type: "text", text }] },
});
const list = [
  mock("read[1]", "one", { n: { $gte: 1 } }),
  mock("read[2]", "none", { n: { $absent: true } }),
  mock("list", "all"),
];
const answer = (made: Parameters<ReturnType<typeof compileMocks>>[0], unmatched: Mocks["unmatched"] = "error") =>
  compileMocks({ list, unmatched })(made);

describe("a call with mocks", () => {
  it("gets the result of the first that matches its arguments", () => {
    const label = (tool: string, args: { n?: number }) => {
      const found = answer(call(tool, args));
      return found?.status === "executed" ? found.mock : found?.reason;
    };
    expect(label("read", { n: 2 })).toBe("read[1]");
    expect(label("read", {})).toBe("read[2]");
    expect(label("list", { n: 9 })).toBe("list");
    expect(label("read", { n: 0 })).toBe("no mock of read matches these arguments (unmatched: error)");
    expect(label("write", {})).toBe("write has no mock (unmatched: error)");
  });

  it("goes to the server where the suite says so", () => {
    expect(answer(call("write"), "server")).toBeUndefined();
    expect(answer(call("read", { n: 0 }), "server")).toBeUndefined();
    expect(answer(call("list"), "server")).toMatchObject({ status: "executed", mock: "list" });
  });

  it("through a dispatcher is answered by a mock of the tool inside", () => {
    const made = { ...call("execute", { name: "read" }), inner: { tool: "read", arguments: { n: 3 } } };
    expect(answer(made)).toMatchObject({ mock: "read[1]" });
    expect(answer({ ...made, inner: { tool: "write" } })).toMatchObject({
      status: "skipped",
      reason: "write has no mock (unmatched: error)",
    });
  });
});

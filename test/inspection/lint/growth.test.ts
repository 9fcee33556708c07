import { expect, test } from "vitest";
import { parseSkill } from "../../../src/evals/input/skills/package.ts";
import type { Rule, SubjectKind, Subjects } from "../../../src/evals/inspection/lint/rule.ts";
import { rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import {
  aLintedTool,
  anEvalsFileSubject,
  aRegistrationSubject,
  aSkillSubject,
  aSuiteSubject,
  aToolSubject,
} from "./cases/cases.ts";

/** What a text of any length repeats: runs of one character, words that start a pattern, and other scripts. */
const parts = [
  ...[" ", "\n", "a", "a_", "-", "`", '"', "'", "(", "[](", "{", "<a ", ",", ". ", ": ", "../", "://", "${", "1. "],
  ...["天", "\u200b", "e\u0301", "a word ", "use the a-", "before you must read ", "one of: 'a', "],
  ...["SELECT a ", "the "],
];

/** A subject with the text wherever a text can be. */
const subjects: { readonly [K in SubjectKind]: (text: string) => Subjects[K] } = {
  tools: (text) => aToolSubject(aHostileTool(text), ["get_weather"]),
  toolsets: (text) => ({
    server: "demo",
    tools: [aHostileTool(text), aLintedTool({ name: "other", description: `${text}.`, title: text })],
    instructions: text,
  }),
  "judged tools": (text) => ({ judge: "a:b", grades: [{ rule: "judge-usage", score: 1, reason: text }] }),
  versions: (text) => ({ before: [aHostileTool(text)], after: [aHostileTool(`${text}!`)] }),
  skills: (text) => {
    const file = `---\nname: a\ndescription: ${JSON.stringify(`A${text.slice(0, 15_000)}`)}\n---\n# A\n\n1. ${text}\n\n[a](${text})\n`;
    const parsed = parseSkill(file, { folder: "a", file: "SKILL.md" });
    if ("reason" in parsed) throw new Error(parsed.reason);
    return aSkillSubject({ ...parsed, folder: "a" }, { "SKILL.md": file, "b.md": text }, [
      { name: "b", description: text },
    ]);
  },
  "eval files": (text) =>
    anEvalsFileSubject({ evals: [] }, [{ input: text, expectedBehavior: [text] }, { input: text }]),
  "host entries": (text) =>
    aRegistrationSubject({ command: text, args: [text], env: { A: text }, url: text, headers: { A: text } }, text),
  suites: (text) => ({
    ...aSuiteSubject([
      {
        messages: [{ role: "user", content: text }],
        expect: { ...rest, kind: "tool", call: { tools: ["get_weather"] } },
      },
    ]),
    tools: ["get_weather"],
    listed: [aLintedTool({ description: text })],
  }),
};
const rest = { avoid: [], extras: false, argsMode: "partial", argsMatch: "matchers" } as const;

function aHostileTool(text: string) {
  const city = { type: "string", title: text, description: text, enum: [text], default: text };
  const inputSchema = { type: "object", properties: { city, [text]: {} }, required: ["city", text] };
  return aLintedTool({ name: text, title: text, description: text, inputSchema, annotations: { [text]: text } });
}

/** The length of the shorter text; the longer one has eight times as many characters. */
const length = 3_000;

/** A check of the longer text that takes no longer is linear: a step for each pair of its characters takes more. */
const surelyLinearMs = 20;
const repetitions = 3;

/** The CPU time of a check, in milliseconds. */
function measure<Subject>({ check }: Rule<Subject>, subject: Subject): number {
  const start = process.cpuUsage();
  for (const { message } of check(subject)) if (message === "") throw new Error("A finding says nothing.");
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/**
 * The rules that take more than linear time for a text that repeats this part. Three doublings take a linear rule about 8
 * times as long, and a quadratic one 64 times. The fastest of some repetitions counts, so that a busy machine changes
 * nothing. All rules share a subject at first, because what they read is memoized.
 */
function findMoreThanLinear<Subject>(
  all: readonly Rule<Subject>[],
  make: (text: string) => Subject,
  part: string,
): string[] {
  const subject = (times: number) => make(part.repeat(Math.ceil((times * length) / part.length)));
  const shared = subject(8);
  const slow = all.filter((rule) => measure(rule, shared) > surelyLinearMs);
  return slow.flatMap((rule) => {
    const fastest = (times: number) =>
      Math.min(...Array.from({ length: repetitions }, () => measure(rule, subject(times))));
    const long = fastest(8);
    return long > surelyLinearMs && long > 24 * fastest(1) ? [rule.id] : [];
  });
}

function listSlow<K extends SubjectKind>(kind: K, part: string): string[] {
  const family: readonly Rule<Subjects[K]>[] = rules[kind];
  return findMoreThanLinear(family, subjects[kind], part);
}

test.each(parts)("every rule takes time linear in a text of %j", (part) => {
  expect((Object.keys(rules) as SubjectKind[]).flatMap((kind) => listSlow(kind, part))).toEqual([]);
});

test("a rule that takes quadratic time is found", () => {
  const check = (text: string) => (/\s+$/.test(`${text}.`) ? [{ at: [], message: "Blank.", fix: "Trim it." }] : []);
  const quadratic = { id: "quadratic", severity: "warning", why: "", docs: "", check } as const;
  expect([" ", "a word "].map((part) => findMoreThanLinear([quadratic], (text) => text, part))).toEqual([
    ["quadratic"],
    [],
  ]);
});

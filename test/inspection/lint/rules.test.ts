import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatJsonPath } from "../../../src/evals/base/jsonSchema/walk.ts";
import { severitySchema } from "../../../src/evals/base/types/finding.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import type { Rule, SubjectKind, Subjects } from "../../../src/evals/inspection/lint/rule.ts";
import { catalog, explainUnknownRule, rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { anyText } from "../../fakes/text.ts";
import { annotationCases, sharedAnnotationCases } from "./cases/annotations.ts";
import { anEvalsFileSubject, aRegistrationSubject, aToolSubject, type CasesOf } from "./cases/cases.ts";
import { confusableCases, tellingApartCases } from "./cases/confusable.ts";
import { descriptionCases, instructionCases } from "./cases/descriptions.ts";
import { evalsFileCases } from "./cases/evalsFile.ts";
import { nameCases } from "./cases/names.ts";
import { propertyCases } from "./cases/properties.ts";
import { registrationCases } from "./cases/registration.ts";
import { rubricCases } from "./cases/rubric.ts";
import { schemaCases } from "./cases/schemas.ts";
import { skillCases } from "./cases/skills.ts";
import { suiteCases } from "./cases/suites.ts";
import { versioningCases } from "./cases/versioning.ts";
import { alikeCases, wordingCases } from "./cases/wording.ts";

/** The mutation test of the rules: what each must pass, and for each of its requirements what it must find. */
const families: { readonly [K in SubjectKind]: CasesOf<Subjects[K]> } = {
  tools: { ...nameCases, ...descriptionCases, ...wordingCases, ...schemaCases, ...propertyCases, ...annotationCases },
  toolsets: {
    ...{ ...confusableCases, ...alikeCases, ...tellingApartCases, ...sharedAnnotationCases, ...instructionCases },
  },
  "judged tools": rubricCases,
  versions: versioningCases,
  skills: skillCases,
  "eval files": evalsFileCases,
  "host entries": registrationCases,
  suites: suiteCases,
};
const kinds = Object.keys(rules) as SubjectKind[];

function testFamily<K extends SubjectKind>(kind: K): void {
  const family: readonly Rule<Subjects[K]>[] = rules[kind];
  const all: CasesOf<Subjects[K]> = families[kind];

  it("has cases for each rule, and for no other", () => {
    expect(Object.keys(all).sort()).toEqual(family.map(({ id }) => id).sort());
  });

  it.each(family)("$id finds nothing where nothing is wrong", ({ id, check }) => {
    const clean = all[id]?.clean ?? [];
    expect(clean.length).toBeGreaterThan(0);
    expect(clean.map((subject) => [...check(subject)])).toEqual(clean.map(() => []));
  });

  it.each(family)("$id finds a violation of each of its requirements", ({ id, check }) => {
    const violations = Object.entries(all[id]?.violations ?? {});
    expect(violations.length).toBeGreaterThan(0);
    for (const [requirement, subjects] of violations) {
      for (const subject of subjects) {
        const fixes = [...check(subject)].map(({ fix }) => fix);
        expect(fixes, requirement).not.toEqual([]);
        expect(fixes, requirement).not.toContain("");
      }
    }
  });
}

/** By rule and requirement how many findings each of its violations has, and what is said of the first. */
function describeFamily<K extends SubjectKind>(kind: K): string[] {
  const all: CasesOf<Subjects[K]> = families[kind];
  return rules[kind].flatMap(({ id, check }: Rule<Subjects[K]>) => {
    const requirements = Object.entries(all[id]?.violations ?? {}).flatMap(([requirement, subjects]) => {
      const found = subjects.map((subject) => [...check(subject)]);
      const first =
        found[0]?.map(({ at, message, fix }) => `  - \`${formatJsonPath(at)}\`: ${message} -> ${fix}`) ?? [];
      return [`- ${requirement}: ${found.map(({ length }) => length).join(" ")}`, ...first.slice(0, 3)];
    });
    return ["", `## ${id}`, "", ...requirements];
  });
}

describe.each(kinds)("%s", testFamily);

it("says what is wrong, where, and how to fix it", async () => {
  const page = ["# What each rule says of the first violation of each requirement", ...kinds.flatMap(describeFamily)];
  await expect(`${page.join("\n")}\n`).toMatchFileSnapshot("./messages.md");
});

it("repeats no secret", () => {
  const subjects = Object.values(registrationCases["registration-secret"]?.violations ?? {}).flat();
  const found = rules["host entries"].flatMap(({ check }) => subjects.flatMap((subject) => [...check(subject)]));
  expect(found.length).toBeGreaterThan(0);
  expect(JSON.stringify(found)).not.toMatch(/Ab1Ab1|A1B2A1B2|letmein|c2lnbmF0dXJl/);
});

it("name-verb says which verb goes first: not a noun that can be one", () => {
  const rule = rules.tools.find(({ id }) => id === "name-verb");
  const fixes = ["github_create_issue", "slack_post_message", "order_get"].map((name) =>
    [...(rule?.check(aToolSubject({ name })) ?? [])].map(({ fix }) => fix),
  );
  expect(fixes).toEqual([['Put "create" first.'], ['Put "post" first.'], ['Put "get" first.']]);
});

describe("the catalog", () => {
  const list = catalog(rules);

  it("names each rule once, with a reason of its own", () => {
    expect(new Set(list.map(({ id }) => id)).size).toBe(list.length);
    expect(new Set(list.map(({ why }) => why)).size).toBe(list.length);
  });

  it("says of each rule what, why and by what source", () => {
    for (const { id, severity, why, docs } of list) {
      expect(id).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
      expect(severitySchema.options).toContain(severity);
      expect(why).toMatch(/^[^a-z\n][^\n]+\.$/);
      expect(docs).toMatch(/^(https:\/\/[^\s/]+\.[^\s]+|docs\/lint-rules\.md)$/);
    }
  });

  it.each([
    ["name-lenght", 'Did you mean "name-length"?'],
    ["no-such-thing-at-all", "List all rules with `evals lint --rules`."],
  ])("explains the unknown rule %s", (id, hint) => {
    expect(explainUnknownRule(id, rules)).toEqual({ message: `There is no rule "${id}".`, hint });
    expect(explainUnknownRule("suite-size", rules)).toBeUndefined();
  });
});

/** Subjects of any shape: keys and values that the rules look for, in any order and depth. */
const keys = [
  ...["name", "title", "description", "inputSchema", "outputSchema", "annotations", "type", "properties", "required"],
  ...["items", "enum", "const", "default", "minimum", "maxLength", "pattern", "anyOf", "allOf", "not", "$ref", "$defs"],
  ...["$id", "$anchor", "additionalProperties", "__proto__", "constructor", "unit", "limit", "enabled", "tags"],
  ...["command", "args", "env", "url", "headers", "evals", "cases", "queries", "should_trigger", "input"],
  ...["should_not_trigger", "expected_behavior", "priority", "format"],
];
const values = ["object", "string", "array", "integer", "#", "#/properties/unit", "#/$defs/a", "(", "one of: a, b"];
const { content } = fc.letrec((tie) => ({
  content: fc.oneof(
    { maxDepth: 6, depthSize: "medium" },
    fc.constantFrom<unknown>(...values, "", 0, -1, 1.5, true, false, null, Infinity),
    fc.oneof(fc.string(), anyText()),
    fc.array(tie("content"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...keys), tie("content"), { maxKeys: 6 }),
  ),
}));
const record = fc.dictionary(fc.constantFrom(...keys), content, { maxKeys: 8 }).map((one) => one as JsonObject);
const anySubject = {
  tools: fc.tuple(record, fc.array(fc.string())).map(([tool, siblings]) => aToolSubject(tool, siblings)),
  toolsets: fc.array(record).map((tools) => ({ server: "demo", tools })),
  versions: fc.tuple(fc.array(record), fc.array(record)).map(([before, after]) => ({ before, after })),
  "eval files": fc
    .tuple(content, fc.array(fc.record({ input: fc.string(), triggers: fc.boolean() }), { maxLength: 3 }))
    .map(([raw, evals]) => anEvalsFileSubject(raw, evals)),
  "host entries": fc
    .tuple(content, fc.string())
    .map(([entry, name]) => ({ ...aRegistrationSubject(entry, name), isSet: () => false })),
} satisfies { [K in SubjectKind]?: fc.Arbitrary<Subjects[K]> };

function fuzz<K extends keyof typeof anySubject>(kind: K): void {
  const family: readonly Rule<Subjects[K]>[] = rules[kind];
  const subjects: fc.Arbitrary<unknown> = anySubject[kind];
  const property = fc.property(subjects, (subject) => {
    for (const { at, message, fix } of family.flatMap(({ check }) => [...check(subject as Subjects[K])])) {
      expect(at.every((step) => typeof step === "string" || Number.isInteger(step))).toBe(true);
      expect(message).toMatch(/^\S[\s\S]*\.$/);
      expect(fix).toMatch(/^[A-Z][\s\S]*[.?]$/);
    }
  });
  fc.assert(property, { numRuns: 300 });
}

it.each(Object.keys(anySubject) as (keyof typeof anySubject)[])(
  "%s of any shape: no rule throws, and each finding has a path, a message and a fix",
  (kind) => fuzz(kind),
);

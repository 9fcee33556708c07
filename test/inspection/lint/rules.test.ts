import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import type { Rule, SubjectKind, Subjects } from "../../../src/evals/inspection/lint/rule.ts";
import { rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { annotationCases, sharedAnnotationCases } from "./cases/annotations.ts";
import { aChangedTool, aToolSubject, type CasesOf, type RuleCases } from "./cases/cases.ts";
import { confusableCases, tellingApartCases } from "./cases/confusable.ts";
import { descriptionCases } from "./cases/descriptions.ts";
import { evalsFileCases } from "./cases/evalsFile.ts";
import { nameCases, sharedNameCases } from "./cases/names.ts";
import { propertyCases } from "./cases/properties.ts";
import { registrationCases } from "./cases/registration.ts";
import { rubricCases } from "./cases/rubric.ts";
import { schemaCases } from "./cases/schemas.ts";
import { instructionCases, skillListingCases, suiteSearchCases } from "./cases/search.ts";
import { skillCases } from "./cases/skills.ts";
import { listedDispatcherCases, suiteCases } from "./cases/suites.ts";
import { versioningCases } from "./cases/versioning.ts";
import { alikeCases, wordingCases } from "./cases/wording.ts";

/** The mutation test of the rules: what each must pass, and for each of its requirements what it must find. */
const families: { readonly [K in SubjectKind]: readonly CasesOf<Subjects[K]>[] } = {
  tools: [nameCases, descriptionCases, wordingCases, schemaCases, propertyCases, annotationCases],
  toolsets: [
    ...[sharedNameCases, confusableCases, tellingApartCases, alikeCases],
    ...[sharedAnnotationCases, instructionCases, listedDispatcherCases],
  ],
  "judged tools": [rubricCases],
  versions: [versioningCases],
  skills: [skillCases, skillListingCases],
  "eval files": [evalsFileCases],
  "host entries": [registrationCases],
  suites: [suiteCases, suiteSearchCases],
};

type Tested<Subject> = { rule: Rule<Subject>; cases: RuleCases<Subject> };

/** Pairs every rule of a kind with its cases; one without any is paired with none, and fails. */
function tested<K extends SubjectKind>(kind: K): Tested<Subjects[K]>[] {
  const all: CasesOf<Subjects[K]> = Object.assign({}, ...families[kind]);
  return rules[kind].map((rule) => ({ rule, cases: all[rule.id] ?? { clean: [], violations: {} } }));
}

function seeds<K extends SubjectKind>(kind: K): void {
  for (const { rule, cases } of tested(kind)) {
    describe(rule.id, () => {
      it("finds nothing where nothing is wrong", () => {
        expect(cases.clean.length).toBeGreaterThan(0);
        expect(cases.clean.map((subject) => [...rule.check(subject)])).toEqual(cases.clean.map(() => []));
      });

      it("has violations", () => {
        expect(Object.values(cases.violations).flat().length).toBeGreaterThan(0);
      });

      it.each(Object.entries(cases.violations))("finds what breaks: %s", (_, subjects) => {
        const found = subjects.map((subject) => [...rule.check(subject)]);
        for (const [index, list] of found.entries()) {
          expect(list.length, `violation ${index} is not found`).toBeGreaterThan(0);
          for (const { message, fix } of list) {
            expect(message).not.toBe("");
            expect(fix).toMatch(/^[^a-z].*[.?!]["')]*$/s);
          }
        }
      });
    });
  }
}

describe.each(Object.keys(rules) as SubjectKind[])("%s", (kind) => {
  seeds(kind);

  it("has no cases for rules that are not there", () => {
    const ids = families[kind].flatMap((cases) => Object.keys(cases));
    expect(ids.sort()).toEqual(rules[kind].map(({ id }) => id).sort());
  });
});

describe("rules for tools", () => {
  const values = fc.jsonValue({ maxDepth: 2 });
  const keywords = fc.constantFrom(
    ...["name", "title", "description", "inputSchema", "outputSchema", "annotations", "type", "properties", "required"],
    ...["enum", "default", "items", "anyOf", "$ref", "$defs", "pattern", "minimum", "maximum", "const", "format"],
  );
  const nested = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      values,
      fc.dictionary(keywords, tie("value"), { maxKeys: 5 }),
      fc.array(tie("value"), { maxLength: 4 }),
    ),
  })).value;

  it("throw for no tool, whatever it holds", () => {
    fc.assert(
      fc.property(fc.dictionary(keywords, nested), fc.array(fc.string()), (changes, siblings) => {
        const subjects = [
          aToolSubject(JSON.parse(JSON.stringify(changes)) as JsonObject, siblings),
          aChangedTool(changes),
        ];
        for (const rule of rules.tools) for (const subject of subjects) void [...rule.check(subject)];
      }),
      { numRuns: 200 },
    );
  });
});

import type { JsonObject } from "../../../../src/evals/base/types/json.ts";
import type { VersionSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aLintedTool, aVersionSubject, type CasesOf } from "./cases.ts";

const weather = aLintedTool();
const described = (name: string, description: string) => aLintedTool({ name, description });
const newer = described("get_weather_v2", "Returns the forecast of a place. Call it for questions about the weather.");
const deprecated = described("get_weather", "DEPRECATED: use get_weather_v2. Returns the forecast of one city.");

/** A list with one tool that takes `days`, and other parameters. */
function taking(days: unknown, more: Readonly<Record<string, unknown>> = {}, required: readonly string[] = []) {
  return [aLintedTool({ inputSchema: { type: "object", properties: { days, ...more }, required } })];
}

function change(before: unknown, after: unknown): VersionSubject {
  return aVersionSubject(taking(before), taking(after));
}

function giving(properties: unknown, required: readonly string[] = []): JsonObject[] {
  return [aLintedTool({ outputSchema: { type: "object", properties, required } })];
}

function hinted(annotations: unknown): JsonObject[] {
  return [aLintedTool({ annotations })];
}

const text = { type: "string", description: "A text." };
const number = { type: "integer", minimum: 1, maximum: 7, default: 1, description: "How many days to look ahead." };
const open = { type: "object", properties: { city: text } };
const same = aVersionSubject([weather], [weather]);
const wider = change(number, { ...number, type: "number", minimum: 0, maximum: 14 });
const reworded = change(number, { ...number, description: "The number of days to look ahead." });

export const versioningCases: CasesOf<VersionSubject> = {
  "version-tool-removed": {
    clean: [same, aVersionSubject([weather], [newer, weather]), aVersionSubject([deprecated, newer], [newer])],
    violations: {
      "a tool stays listed": [aVersionSubject([weather], []), aVersionSubject([weather, newer], [newer].slice(1))],
      "a tool keeps its name": [aVersionSubject([weather], [{ ...weather, name: "fetch_weather" }])],
    },
  },
  "version-deprecated-early": {
    clean: [same, aVersionSubject([weather], [deprecated, newer]), aVersionSubject([deprecated, newer], [newer])],
    violations: {
      "a tool is marked deprecated before it is removed": [aVersionSubject([weather], [newer])],
      "it is listed together with its successor before it is removed": [aVersionSubject([deprecated], [newer])],
      "its successor is listed when it is removed": [aVersionSubject([deprecated, newer], [])],
    },
  },
  "version-successor-missing": {
    clean: [same, aVersionSubject([weather], [deprecated, newer]), aVersionSubject([deprecated], [deprecated])],
    violations: {
      "the tool that a deprecation names is listed": [aVersionSubject([weather], [deprecated])],
    },
  },
  "version-parameter-removed": {
    clean: [same, wider, aVersionSubject(taking(number), taking(number, { unit: text }))],
    violations: {
      "a parameter stays": [aVersionSubject(taking(number, { unit: text }), taking(number))],
      "a parameter keeps its name": [aVersionSubject(taking(number, { unit: text }), taking(number, { units: text }))],
    },
  },
  "version-newly-required": {
    clean: [same, aVersionSubject(taking(number, {}, ["days"]), taking(number))],
    violations: {
      "an optional parameter stays optional": [aVersionSubject(taking(number), taking(number, {}, ["days"]))],
      "a new parameter is optional": [aVersionSubject(taking(number), taking(number, { unit: text }, ["unit"]))],
    },
  },
  "version-no-default": {
    clean: [
      same,
      aVersionSubject(taking(number), taking(number, { unit: { ...text, default: "celsius" } })),
      aVersionSubject(taking(number), taking(number, { unit: { ...text, default: null } })),
    ],
    violations: {
      "a new parameter has a default": [aVersionSubject(taking(number), taking(number, { unit: text }))],
    },
  },
  "version-narrowed": {
    clean: [same, wider, reworded],
    violations: {
      "types stay": [change({ type: "number" }, { type: "integer" })],
      "allowed values stay": [change({ enum: ["a", "b"] }, { enum: ["a"] })],
      "bounds stay as wide": [change(number, { ...number, maximum: 5 })],
      "no pattern is added": [change(text, { ...text, pattern: "^[a-z]+$" })],
      "properties that the schema does not name are still accepted": [
        change(open, { ...open, additionalProperties: false }),
      ],
    },
  },
  "version-default-changed": {
    clean: [same, change(text, { ...text, default: "a" }), change(number, { ...number, maximum: 5 })],
    violations: {
      "a default keeps its value": [change(number, { ...number, default: 2 })],
      "a default is not removed": [change(number, { ...number, default: undefined })],
    },
  },
  "version-meaning-changed": {
    clean: [
      same,
      reworded,
      // A new version takes the new meaning.
      aVersionSubject(taking(number), [...taking({ ...number, description: "Kept for old callers." }), newer]),
      change({ type: "object", description: "The place." }, { type: "object" }),
    ],
    violations: {
      "a parameter's description keeps its meaning": [
        change(number, { ...number, description: "Which weather station is asked." }),
      ],
      "a parameter's unit stays": [
        change(
          { type: "integer", description: "How long to wait for an answer, in seconds." },
          { type: "integer", description: "How long to wait for an answer, in milliseconds." },
        ),
      ],
    },
  },
  "version-output-changed": {
    clean: [
      same,
      aVersionSubject([weather], giving({ a: text })),
      aVersionSubject(giving({ a: text }), giving({ a: { ...text, enum: ["x"] }, b: text }, ["a"])),
    ],
    violations: {
      "an outputSchema stays": [aVersionSubject(giving({}), [weather])],
      "a field of the result stays": [aVersionSubject(giving({ a: text, b: text }), giving({ a: text }))],
      "a field that was always present still is": [aVersionSubject(giving({ a: text }, ["a"]), giving({ a: text }))],
      "a field holds no values of other kinds": [
        aVersionSubject(giving({ a: text }), giving({ a: { type: ["string", "null"] } })),
      ],
    },
  },
  "version-annotation-changed": {
    clean: [
      same,
      aVersionSubject(hinted({ readOnlyHint: false }), hinted({})),
      aVersionSubject(hinted({}), hinted({ readOnlyHint: true, destructiveHint: false, openWorldHint: false })),
    ],
    violations: {
      "a read-only tool stays read-only": [
        aVersionSubject(hinted({ readOnlyHint: true }), hinted({ readOnlyHint: false })),
      ],
      "a non-destructive tool stays non-destructive": [aVersionSubject(hinted({ destructiveHint: false }), [weather])],
      "an idempotent tool stays idempotent": [aVersionSubject(hinted({ idempotentHint: true }), hinted({}))],
      "a closed-world tool stays closed-world": [
        aVersionSubject(hinted({ openWorldHint: false }), hinted({ openWorldHint: true })),
      ],
    },
  },
  "version-unclear": {
    clean: [same, wider, reworded, change({ ...text, pattern: "a" }, text)],
    violations: {
      "patterns and formats stay": [change({ ...text, pattern: "a" }, { ...text, pattern: "b" })],
      "conditions and branches stay": [change(text, { ...text, not: { const: "a" } })],
    },
  },
  "version-reworded": { clean: [same, wider], violations: { "a description stays as it was tested": [reworded] } },
};

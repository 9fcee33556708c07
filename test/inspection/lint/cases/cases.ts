import type { JsonObject } from "../../../../src/evals/base/types/json.ts";
import type { SkillEval } from "../../../../src/evals/base/types/skill.ts";
import type { Suite } from "../../../../src/evals/base/types/suite.ts";
import type {
  EvalsFileSubject,
  RegistrationSubject,
  SkillSubject,
  SuiteSubject,
  ToolSubject,
  ToolsetSubject,
  VersionSubject,
} from "../../../../src/evals/inspection/lint/rule.ts";
import { aCase, aSuite } from "../../../fakes/suite.ts";

/** Subjects that a rule passes, and for each of its requirements subjects that it must find something in. */
type RuleCases<Subject> = {
  readonly clean: readonly Subject[];
  readonly violations: Readonly<Record<string, readonly Subject[]>>;
};

/** The subjects for all rules of a family, by rule id. */
export type CasesOf<Subject> = Readonly<Record<string, RuleCases<Subject>>>;

/** A tool that breaks no rule, with `changes`; a field that is `undefined` is left out. */
export function aLintedTool(changes: Readonly<Record<string, unknown>> = {}): JsonObject {
  const tool = {
    name: "get_weather",
    description:
      "Returns the forecast of one city for the next day. Call this when the user asks about the weather or " +
      'temperature of a place, for example "Will it rain in Oslo?".',
    inputSchema: {
      type: "object",
      properties: { city: { type: "string", description: "The city to give the forecast for, for example Oslo." } },
      required: ["city"],
    },
    ...changes,
  };
  return JSON.parse(JSON.stringify(tool));
}

/** A tool as one of a list; `siblings` are the names of the other tools. `tool` may be malformed. */
export function aToolSubject(tool: JsonObject, siblings: readonly string[] = []): ToolSubject {
  const shownName = `mcp__weather__${typeof tool.name === "string" ? tool.name : ""}`;
  const names = new Set([...(typeof tool.name === "string" ? [tool.name] : []), ...siblings]);
  return { server: "weather", tool, names, shownName };
}

/** `aToolSubject` of `aLintedTool`: the tool that breaks no rule, changed in this. */
export function aChangedTool(
  changes: Readonly<Record<string, unknown>>,
  siblings: readonly string[] = [],
): ToolSubject {
  return aToolSubject(aLintedTool(changes), siblings);
}

/** The tool that breaks no rule with these properties, none required unless named. */
export function aToolWith(properties: Readonly<Record<string, unknown>>, required: readonly string[] = []) {
  return aChangedTool({ inputSchema: { type: "object", properties, required } });
}

export function aToolsetSubject(...tools: readonly JsonObject[]): ToolsetSubject {
  return { server: "weather", tools };
}

export function aVersionSubject(before: readonly JsonObject[], after: readonly JsonObject[]): VersionSubject {
  return { before, after };
}

/** A package with the description and files given; `changes` replace whole fields of the package. */
export function aSkillSubject(
  changes: Partial<SkillSubject["package"]> = {},
  files: Readonly<Record<string, string | undefined>> = { "SKILL.md": "" },
  siblings: SkillSubject["siblings"] = [],
): SkillSubject {
  const name = "image-compressor";
  const description = "Compresses images.";
  const document = {
    frontMatter: { name, description },
    locations: {},
    body: "",
    bodyLine: 5,
    steps: [],
    never: [],
    references: [],
  };
  const dir = `/skills/${name}`;
  const own = { name, folder: name, description, dir, file: `${dir}/SKILL.md`, level: "named" as const, document };
  const given = { files: new Map(Object.entries(files)), isRepository: false, siblings };
  return { package: { ...own, hash: "hash", ...changes }, ...given };
}

export function anEvalsFileSubject(raw: unknown, evals: readonly Partial<SkillEval>[] = []): EvalsFileSubject {
  const one: SkillEval = {
    input: "",
    triggers: true,
    expectedBehavior: [],
    files: [],
    location: { file: "evals.json" },
  };
  return { raw, evals: evals.map((changes) => ({ ...one, ...changes })), isTriggerFile: false };
}

/** An entry of a host's file. A path is absolute when it starts with a slash; the files that are there are named. */
export function aRegistrationSubject(entry: unknown, name = "weather", files: readonly string[] = []) {
  const subject: RegistrationSubject = {
    name,
    entry,
    isFolderKnown: false,
    absolute: (path) => path.startsWith("/"),
    exists: (path) => files.includes(path),
  };
  return subject;
}

/** A suite of cases with these changes, numbered from 1. */
export function aSuiteSubject(
  cases: readonly Parameters<typeof aCase>[1][],
  changes: Partial<Suite> = {},
): SuiteSubject {
  const numbered = cases.map((one, index) => aCase(`case-${index + 1}`, one));
  return { suite: aSuite("weather", numbered, changes) };
}

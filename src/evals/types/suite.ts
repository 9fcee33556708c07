import * as z from "zod";
import type { Place } from "../errors.ts";
import { type JsonObject, jsonObjectSchema, jsonSchema } from "./json.ts";
import { type LintSettings, lintSettingsSchema } from "./lint.ts";
import type { EvalFile } from "./skill.ts";
import type { Tool } from "./tool.ts";

/**
 * The keywords of an argument matcher. A value in `args` is a matcher when it is an object all of whose keys are
 * keywords; several keywords must all hold. Any other value is literal, compared deeply (numbers by value), and may
 * hold matchers inside. `{ equals: value }` takes a literal that would read as a matcher.
 */
export const matcherSchema = z
  .strictObject({
    equals: jsonSchema.describe("exactly this value, whatever its keys"),
    anyOf: z.array(jsonSchema).min(1).describe("any of these values or matchers"),
    matches: z.string().describe("a regular expression (RE2 syntax, linear time) that the string contains"),
    contains: jsonSchema.describe("a substring of a string, or an element of an array"),
    startsWith: z.string(),
    endsWith: z.string(),
    ignoreCase: z.string().describe("equal to this text but for case"),
    gte: z.number(),
    lte: z.number(),
    type: z.enum(["string", "number", "integer", "boolean", "array", "object", "null"]),
    optional: jsonSchema.describe("may be omitted; if given, it must match this"),
    any: z.literal(true).describe("given, with any value"),
    absent: z.literal(true).describe("must be omitted"),
    unordered: z.array(jsonSchema).describe("an array with these elements in any order"),
    judge: z.string().describe("a judge model decides whether the value meets this criterion"),
  })
  .partial()
  .refine((matcher) => Object.keys(matcher).length > 0, "a matcher needs at least one keyword");
export type Matcher = z.infer<typeof matcherSchema>;

/** Named arguments, each with a literal value or a matcher. */
const argsSchema = jsonObjectSchema;

const resultMatcherSchema = z
  .strictObject({
    success: z.boolean().describe("the `success` field of the structured outcome"),
    isError: z.boolean().describe("whether the server marked the result as an error"),
    contains: z.string().describe("a substring of the result's text"),
    matches: z.string().describe("a regular expression (RE2 syntax) that the result's text contains"),
    json: jsonSchema.describe("a value or matcher for the structured content, or for the text read as JSON"),
  })
  .partial()
  .refine((matcher) => Object.keys(matcher).length > 0, "a result matcher needs at least one keyword");
export type ResultMatcher = z.infer<typeof resultMatcherSchema>;

const nameOrNames = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

const expectedCallFileSchema = z.strictObject({
  tool: nameOrNames,
  args: argsSchema.optional(),
  result: resultMatcherSchema.optional(),
});

const expectFileSchema = z
  .strictObject({
    tool: nameOrNames.describe("the right tool, or a list of right tools; `none`: no call; `any`: some call"),
    avoid: nameOrNames.describe("tools that must not be called at all"),
    args: argsSchema,
    argsMode: z.enum(["partial", "exact"]).describe("partial (default): other arguments are free"),
    argsMatch: z.enum(["matchers", "bfcl"]).describe("bfcl: the Berkeley leaderboard's rules, args = accepted values"),
    result: resultMatcherSchema,
    calls: z.array(expectedCallFileSchema).min(1).describe("several calls, over all turns"),
    order: z.enum(["strict", "any"]).describe("strict (default): in the order given"),
    extras: z.boolean().describe("whether calls beside the expected ones are allowed (default false)"),
    skill: z.string().min(1).describe("the skill that must be loaded; `none`: no skill"),
  })
  .partial();

const roleMessageSchema = z.strictObject({ role: z.enum(["system", "user", "assistant"]), content: z.string() });

const inlineToolSchema = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  inputSchema: jsonObjectSchema,
});

export const executionPolicySchema = z.enum(["always", "safe", "never"]);
/** Which calls are executed: all, only those the server calls harmless by its annotations, or none. */
export type ExecutionPolicy = z.infer<typeof executionPolicySchema>;

const caseFileSchema = z.strictObject({
  id: z.string().min(1).optional().describe("default: a slug of the input; unique in the suite"),
  input: z.string().min(1).optional().describe("what the user says"),
  messages: z
    .array(roleMessageSchema)
    .min(1)
    .optional()
    .describe("a conversation instead of `input`, ending with the user"),
  expect: expectFileSchema.optional(),
  expected_behavior: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  tools: z
    .array(inlineToolSchema)
    .min(1)
    .optional()
    .describe("this case's own tool list, shown instead of the server's"),
  trials: z.number().int().min(1).optional(),
  passRate: z.number().min(0).max(1).optional(),
  maxTurns: z.number().int().min(1).max(100).optional(),
});

const timeoutsSchema = {
  startTimeoutMs: z.number().int().min(1).optional().describe("to start and list tools; default 30,000"),
  callTimeoutMs: z.number().int().min(1).optional().describe("for one call; default 60,000"),
};

const serverFileSchema = z.union([
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    cwd: z.string().optional().describe("default: the folder of the suite file"),
    ...timeoutsSchema,
  }),
  z.strictObject({
    url: z.string().min(1),
    transport: z.enum(["http", "sse"]).optional().describe("default: http (Streamable HTTP)"),
    headers: z.record(z.string(), z.string()).optional(),
    ...timeoutsSchema,
  }),
  z.strictObject({ config: z.string().min(1), name: z.string().min(1), ...timeoutsSchema }),
  z.strictObject({ tools: z.string().min(1).describe("a file with a static tool list: selection only") }),
]);
/** How a suite reaches its server, as written; paths are relative to the suite file. */
export type ServerSpec = z.infer<typeof serverFileSchema>;

/** A suite file. Strict: an unknown key is an error. */
export const suiteFileSchema = z.strictObject({
  $schema: z.string().optional(),
  name: z.string().min(1).optional().describe("default: the file's name without its ending"),
  description: z.string().optional(),
  server: serverFileSchema.optional(),
  distractors: z.array(serverFileSchema).optional().describe("other tools shown beside; never executed"),
  skills: z.array(z.string()).optional().describe("folders in which skill packages are discovered"),
  lift: z
    .string()
    .min(1)
    .optional()
    .describe("a skill whose effect is measured: every case is asked without it too; no baseline is kept of the suite"),
  system: z.string().optional().describe("a system prompt for every case"),
  execute: executionPolicySchema.optional().describe("which calls are executed; default safe"),
  isolate: z.enum(["run", "trial"]).optional().describe("trial: a fresh server process for every trial; default run"),
  trials: z.number().int().min(1).optional().describe("trials per case and model; default 5"),
  passRate: z.number().min(0).max(1).optional().describe("a case passes at this rate or more; default 0.8"),
  maxTurns: z
    .number()
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe("default 1, and 8 for cases that expect several `calls`"),
  cases: z.array(caseFileSchema).optional(),
  evals: z.array(caseFileSchema).optional().describe("the same as `cases`, as the specification names it"),
  lint: lintSettingsSchema.optional().describe("what `evals lint` is to leave, with the reason, or to count otherwise"),
});
export type SuiteFile = z.infer<typeof suiteFileSchema>;
export type CaseFile = z.infer<typeof caseFileSchema>;

/** One call that an expectation names: any of `tools` is right. */
export type ExpectedCall = { tools: readonly string[]; args?: JsonObject; result?: ResultMatcher };

type ArgsRules = { argsMode: "partial" | "exact"; argsMatch: "matchers" | "bfcl" };

/**
 * What a case wants, normalised.
 * `tool` is about the model's first pick: the first turn must hold exactly one call (with `extras` others are allowed),
 * and it must be this one. `calls` is about all turns. `avoid` applies to all turns of every kind.
 */
export type Expectation = { avoid: readonly string[] } & (
  | ({ kind: "tool"; call: ExpectedCall; extras: boolean } & ArgsRules)
  | { kind: "none" }
  | { kind: "any"; result?: ResultMatcher }
  | ({ kind: "calls"; calls: readonly ExpectedCall[]; order: "strict" | "any"; extras: boolean } & ArgsRules)
  | { kind: "skill"; skill: string }
  | { kind: "avoid" }
);

/** One query with what is expected of the model, defaults filled in. `hash` covers all that decides its outcome. */
export type Case = {
  id: string;
  hash: string;
  messages: readonly { role: "system" | "user" | "assistant"; content: string }[];
  expect?: Expectation;
  /** Sentences that a judge grades one by one. */
  expectedBehavior: readonly string[];
  tools?: readonly Tool[];
  /** Files that a skill's case brings along. */
  files?: readonly EvalFile[];
  /** The hash of the skill package, where its instructions decide the outcome. */
  packageHash?: string;
  trials: number;
  passRate: number;
  maxTurns: number;
  place: Place;
};

/** A loaded suite. `file` is the path as given, `dir` the absolute folder that its paths are relative to. */
export type Suite = {
  name: string;
  file: string;
  dir: string;
  hash: string;
  server?: ServerSpec;
  distractors: readonly ServerSpec[];
  skills: readonly string[];
  execute: ExecutionPolicy;
  isolate: "run" | "trial";
  /** The skill whose effect is measured: every case is asked without it too, in an arm of its own. */
  lift?: string;
  lint?: LintSettings;
  cases: readonly Case[];
};

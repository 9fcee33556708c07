import * as z from "zod";
import { gateSchema } from "./check.ts";
import { lintSettingsSchema } from "./finding.ts";
import { executionPolicies } from "./flagValues.ts";
import { isMarked, jsonObjectSchema, jsonSchema } from "./json.ts";
import { argsSchema } from "./matcher.ts";

const resultMatcherSchema = z
  .strictObject({
    success: z.boolean().describe("The `success` field of the structured outcome"),
    isError: z.boolean().describe("Whether the server marked the result as an error"),
    contains: z.string().describe("A substring of the text of the result"),
    matches: z.string().describe("A regular expression (RE2 syntax) that matches a part of the text of the result"),
    json: jsonSchema.describe("A value or matcher for the structured content, or for the text parsed as JSON"),
  })
  .partial()
  .refine((matcher) => Object.keys(matcher).length > 0, "at least one keyword is required");
export type ResultMatcher = z.infer<typeof resultMatcherSchema>;

/** Not a whole number beyond 2^53, which is read as a marked text. */
const isText = (text: string): boolean => !isMarked(text);
const nonEmpty = z.string().min(1).refine(isText);
const positive = z.number().int().min(1);
const share = z.number().min(0).max(1);
const turnLimit = positive.max(100);
const oneOrMore = z.union([nonEmpty, z.array(nonEmpty).min(1)]);
/** A message of a user. Services refuse one of white space alone. */
const userText = z.string().regex(/\S/, "must not be blank").refine(isText);

const acceptableSchema = oneOrMore.describe(
  "Tools that may be called instead: the trial passes, and is counted as substituted; `args` and `result` do not apply",
);

const expectedCallFileSchema = z.strictObject({
  tool: oneOrMore,
  acceptable: acceptableSchema.optional(),
  optional: z.boolean().optional().describe("Whether the call may be left out; default: false"),
  args: argsSchema.optional(),
  result: resultMatcherSchema.optional(),
});

const expectFileSchema = z
  .strictObject({
    tool: oneOrMore.describe(
      "The correct tool, or a list of correct tools; `none`: no call; `any`: some call; `'\"none\"'`: the tool of that name",
    ),
    acceptable: acceptableSchema,
    avoid: oneOrMore.describe("Tools that must not be called"),
    args: argsSchema,
    argsMode: z.enum(["partial", "exact"]).describe("partial (default): other arguments are ignored"),
    result: resultMatcherSchema,
    calls: z.array(expectedCallFileSchema).min(1).describe("Several calls, over all turns"),
    order: z.enum(["strict", "any"]).describe("strict (default): in the given order"),
    extras: z.boolean().describe("Whether calls in addition to the expected ones are allowed; default: false"),
    skill: nonEmpty.describe("The skill that must be loaded; `none`: no skill"),
    files: z
      .record(nonEmpty, jsonSchema)
      .describe("Files of the workspace after the trial, by path: their text, a matcher, or `{ $absent: true }`"),
    assert: oneOrMore.describe("JavaScript or TypeScript files that decide from calls, results and files"),
  })
  .partial();

const workspaceFileSchema = z
  .strictObject({ path: nonEmpty, content: z.string().optional(), from: nonEmpty.optional() })
  .refine(({ content, from }) => (content === undefined) !== (from === undefined), "needs one of `content` and `from`");
const workspaceSchema = z
  .union([nonEmpty, workspaceFileSchema, z.array(z.union([nonEmpty, workspaceFileSchema]))])
  .describe(
    "Files and folders that are copied into the workspace of each trial, relative to the suite; `from` gives one another path",
  );

/** A mock as written: which calls of its tool it answers, and with what. */
const mockFileSchema = z
  .strictObject({
    args: argsSchema.describe("Arguments, literal or matchers, of the calls that it answers; default: all calls"),
    result: jsonSchema.describe("Text, a JSON value, or a whole result of the protocol: { content: [...] }"),
    file: z.string().min(1).describe("A file with the result, relative to the suite; .json is read as JSON"),
    error: z.string().min(1).describe("The text of a result that is marked as an error"),
  })
  .partial();
export type MockFile = z.infer<typeof mockFileSchema>;

const mocksFileSchema = z.record(z.string().min(1), z.union([mockFileSchema, z.array(mockFileSchema).min(1)]));
export type MocksFile = z.infer<typeof mocksFileSchema>;

const unmatchedSchema = z.enum(["error", "server"]);

const roleMessageSchema = z
  .strictObject({ role: z.enum(["system", "user", "assistant"]), content: z.string() })
  .refine(({ role, content }) => role !== "user" || /\S/.test(content), {
    path: ["content"],
    message: "must not be blank",
  });

const inlineToolSchema = z.strictObject({
  name: nonEmpty,
  description: z.string().optional(),
  inputSchema: jsonObjectSchema,
});

export const executionPolicySchema = z.union([z.enum(executionPolicies), z.array(nonEmpty).min(1)]);

export const splitSchema = z.enum(["train", "held-out"]);
/** What a case is for when a better wording is searched for. */
export type Split = z.infer<typeof splitSchema>;

const elicitSchema = z
  .strictObject({
    message: nonEmpty.optional().describe("Text that the server's message contains; default: any message"),
    action: z.enum(["accept", "decline", "cancel"]),
    content: jsonObjectSchema.optional().describe("With accept: the values of the form"),
  })
  .refine(({ action, content }) => content === undefined || action === "accept", {
    path: ["content"],
    message: "is sent with `action: accept` only",
  });
/** An answer to a question that a server asks the user during a call (`elicitation/create`). */
export type ElicitAnswer = z.infer<typeof elicitSchema>;

const caseFileSchema = z.strictObject({
  id: nonEmpty.optional().describe("Unique in the suite; default: a slug of the input"),
  input: z
    .union([userText, z.array(userText).min(1)])
    .optional()
    .describe("What the user says; a list of paraphrases is asked in turn, one in each trial"),
  messages: z
    .array(roleMessageSchema)
    .min(1)
    .optional()
    .describe("A conversation instead of `input`, ending with a user message"),
  turns: z
    .array(z.strictObject({ input: userText, expect: expectFileSchema.optional() }))
    .min(1)
    .optional()
    .describe("What the user says one after the other, instead of `input`; `expect` is then about all of it"),
  expect: expectFileSchema.optional(),
  tags: oneOrMore.optional().describe("Words by which --filter selects cases"),
  searches: z
    .array(nonEmpty)
    .min(1)
    .optional()
    .describe("Texts that a model may search for; `evals search` expects them to find the expected tools"),
  split: splitSchema
    .optional()
    .describe("`evals improve` searches for wordings on train cases, and proves one on held-out ones"),
  expected_behavior: oneOrMore.optional(),
  tools: z
    .array(inlineToolSchema)
    .optional()
    .describe("A tool list for this case, shown instead of that of the server; [] for none"),
  files: workspaceSchema.optional(),
  mocks: mocksFileSchema.optional().describe("Results of calls in this case, before those of the suite"),
  elicit: z
    .array(elicitSchema)
    .min(1)
    .optional()
    .describe(
      "Answers to what the server asks the user during calls: each question takes the first that fits and is left",
    ),
  trials: positive.optional(),
  passRate: share.optional(),
  maxTurns: turnLimit.optional(),
});

const timeoutsSchema = {
  startTimeoutMs: positive
    .optional()
    .describe(
      "Timeout for starting and listing tools; default: 30,000, or 120,000 where npx or its like fetches the server",
    ),
  callTimeoutMs: positive.optional().describe("Timeout for one call; default: 60,000"),
};

export const serverFileSchema = z.union([
  z.strictObject({
    command: nonEmpty,
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    cwd: z.string().optional().describe("Default: the folder of the suite file"),
    ...timeoutsSchema,
  }),
  z.strictObject({
    url: nonEmpty,
    transport: z.enum(["http", "sse"]).optional().describe("Default: http (Streamable HTTP)"),
    headers: z.record(z.string(), z.string()).optional(),
    ...timeoutsSchema,
  }),
  z.strictObject({ config: nonEmpty, name: nonEmpty, ...timeoutsSchema }),
  z.strictObject({ tools: nonEmpty.describe("A file with a static tool list, for selection only") }),
]);
/** The server of a suite as written; paths are relative to the suite file. */
export type ServerSpec = z.infer<typeof serverFileSchema>;

const configurationSchema = z.strictObject({
  config: nonEmpty,
  all: z.literal(true).describe("Every server of the file; tools are named <server>__<tool>"),
  ...timeoutsSchema,
});
/** Every server of a host's configuration file, as one list of tools. */
export type Configuration = z.infer<typeof configurationSchema>;

/** The names of the arms of other comparisons. */
const takenArms = ["head", "base", "without", "default", "all", "names", "search", "host"];

const surfaceSchema = z.strictObject({
  name: nonEmpty.refine((name) => !takenArms.includes(name), `must be none of ${takenArms.join(", ")}`),
  server: z.lazy(() => serverFileSchema),
  dispatch: z.lazy(() => dispatchRulesSchema).optional(),
  catalog: nonEmpty.optional(),
  names: z
    .record(nonEmpty, z.union([oneOrMore, z.null()]))
    .optional()
    .describe("Names of tools in the cases -> what they are called here; null: this surface has no such tool"),
});
/** Another way in which the same server shows its tools, with the names that they have there. */
export type Surface = z.infer<typeof surfaceSchema>;

const modelSchema = oneOrMore.describe("Model under test, or a list of them; -m wins");

const argumentPath = nonEmpty.regex(/^[^.]+(\.[^.]+)*$/, "must be the name of an argument, or names with dots between");
const dispatchSchema = z
  .strictObject({
    name: argumentPath.describe("The argument that names the tool to be called"),
    arguments: argumentPath.describe("The argument that holds its arguments; default: all other arguments"),
    search: argumentPath.describe("The argument with the text that tools are searched by"),
  })
  .partial()
  .refine(({ name, search }) => name !== undefined || search !== undefined, "`name` or `search` is required");
/**
 * How a tool of the server (a dispatcher) calls others: by an argument that names the tool and one that holds its
 * arguments. A call that names no tool but has a text under `search` is a search for tools. Values are arguments, or
 * dotted paths.
 */
export type Dispatch = z.infer<typeof dispatchSchema>;
const denialSchema = nonEmpty.describe(
  "What a model gets for a call that is not executed; {tool} and {reason} are filled in",
);

const dispatchRulesSchema = z.record(nonEmpty, dispatchSchema);
/** The dispatchers of a suite, by the name of the tool. */
export type DispatchRules = z.infer<typeof dispatchRulesSchema>;

/** What the file of a project can set for one suite. */
export const suiteSettingsSchema = z
  .strictObject({
    model: modelSchema,
    trials: positive,
    passRate: share,
    maxTurns: turnLimit,
    execute: executionPolicySchema,
    denial: denialSchema,
    dispatch: dispatchRulesSchema,
    failOn: z.union([gateSchema, z.array(gateSchema).min(1)]).describe("What exits with code 1"),
    margin: z.number().gt(0).lt(1).describe("Mean drop that NO REGRESSION rules out"),
  })
  .partial();
export type SuiteSettings = z.infer<typeof suiteSettingsSchema>;

/** A suite file. Strict: an unknown key is an error. */
export const suiteFileSchema = z.strictObject({
  $schema: z.string().optional(),
  name: nonEmpty.optional().describe("Default: the file name without its extension"),
  description: z.string().optional(),
  server: z.union([...serverFileSchema.options, configurationSchema]).optional(),
  dispatch: dispatchRulesSchema
    .optional()
    .describe("Tools of the server that call other tools, or search for them: the inner call is what is scored"),
  catalog: nonEmpty
    .optional()
    .describe("A file with the list of the tools behind `dispatch`: their names and arguments are then checked"),
  surfaces: z
    .array(surfaceSchema)
    .min(1)
    .optional()
    .describe(
      "Other tool lists of the same server; with --surfaces every case is asked on each, and they are compared",
    ),
  laterTools: oneOrMore
    .optional()
    .describe("Tools that the server lists only later in a conversation, so that cases can expect them"),
  distractors: z.array(serverFileSchema).optional().describe("Additional tools that are shown but never executed"),
  skills: z.array(z.string()).optional().describe("Folders with skill packages"),
  lift: nonEmpty
    .optional()
    .describe("A skill whose effect is measured: every case also runs without it; the suite has no baseline"),
  system: z.string().optional().describe("A system prompt for every case"),
  values: z
    .record(nonEmpty, z.union([z.string(), z.number(), z.boolean()]))
    .optional()
    .describe(
      "What placeholders such as <subscription> stand for, in prompts and expectations; each must have a value",
    ),
  model: modelSchema.optional(),
  files: workspaceSchema.optional(),
  mocks: mocksFileSchema.optional().describe("Results of calls by tool, given in place of executing them"),
  unmatched: unmatchedSchema
    .optional()
    .describe(
      "What a call gets that no mock answers, where there are some: an error (default), or the server's result",
    ),
  execute: executionPolicySchema
    .optional()
    .describe("Which calls are executed: a policy, or names of tools; default: read-only"),
  denial: denialSchema.optional(),
  isolate: z.enum(["run", "trial"]).optional().describe("trial: a new server process for every trial; default: run"),
  trials: positive.optional().describe("Trials per case and model; default: 5"),
  passRate: share.optional().describe("Minimum rate of passed trials at which a case passes; default: 0.8"),
  maxTurns: turnLimit
    .optional()
    .describe(
      "Maximum replies to one message of the user; default: 1, and 8 for cases with several `calls`, `turns` or a `skill`",
    ),
  cases: z.array(caseFileSchema).optional(),
  evals: z
    .array(caseFileSchema)
    .optional()
    .describe("The same as `cases`, under its name in the Agent Skills specification"),
  unreviewed: z
    .array(nonEmpty)
    .optional()
    .describe("The ids of drafted cases that nobody reviewed; `evals queries` shows them, and reports count them"),
  lint: lintSettingsSchema
    .optional()
    .describe("Suppressed rules of `evals lint`, with the reason, and changed severities"),
});
export type SuiteFile = z.infer<typeof suiteFileSchema>;
export type CaseFile = z.infer<typeof caseFileSchema>;

import * as z from "zod";
import { discoverySchema, shownSchema } from "./exposure.ts";
import { jsonSchema } from "./json.ts";
import { offeredToolSchema, toolResultSchema, toolsetHashSchema } from "./tool.ts";

/** The result of one call: executed, or skipped by policy with the reason. */
const executionSchema = z.discriminatedUnion("status", [
  z.object({
    status: z.literal("executed"),
    result: toolResultSchema,
    ms: z.number(),
    mock: z.string().optional().describe("the mock of the suite that gave this result; absent: the server did"),
  }),
  z.object({
    status: z.literal("skipped"),
    reason: z.string(),
    denied: z.literal(true).optional().describe("the policy or a host denied a call of a tool that is there"),
    text: z.string().optional().describe("what the model got, where the suite sets it; absent: the reason"),
    unmatched: z.literal(true).optional().describe("no mock of the suite answered the call"),
  }),
]);
export type Execution = z.infer<typeof executionSchema>;

/**
 * One call that a model made. `tool` is the listed name (without a host's prefix), or the name as the model wrote it
 * when no tool has it. `arguments` is the parsed JSON, absent when the model's text is not JSON. `argumentsText` is
 * that text, kept when it is not JSON or when parsing loses something that a rule needs (5.0 reads as 5 in JavaScript).
 */
const callSchema = z.object({
  id: z.string(),
  tool: z.string(),
  role: z
    .enum(["search", "built-in"])
    .optional()
    .describe("search: it looks for tools; built-in: a tool of the host itself. Neither is a tool of the toolset"),
  arguments: jsonSchema.optional(),
  argumentsText: z.string().optional(),
  execution: executionSchema.optional(),
  inner: z
    .object({
      tool: z.string(),
      arguments: jsonSchema.optional(),
      unlisted: z.literal(true).optional().describe("the catalog of the suite has no such tool"),
    })
    .optional()
    .describe("what the call calls, where its tool is a dispatcher of the suite; this is what is scored"),
});
export type Call = z.infer<typeof callSchema>;

/** Tokens and dollars of a trial are far below. Sums of larger numbers can be infinite, which JSON cannot hold. */
const maxAmount = 1e12;

/** A number of tokens as a service reports it, within what a record holds. A negative one would lower the cost. */
export const boundTokens = (tokens: number): number => Math.min(Math.max(0, tokens), maxAmount);

const tokens = z.number().max(maxAmount);
export const usageSchema = z.object({
  inputTokens: tokens,
  outputTokens: tokens,
  cacheReadTokens: tokens,
  cacheWriteTokens: tokens,
});
export type Usage = z.infer<typeof usageSchema>;

export function addUsage(one: Usage | undefined, other: Usage): Usage {
  return {
    inputTokens: (one?.inputTokens ?? 0) + other.inputTokens,
    outputTokens: (one?.outputTokens ?? 0) + other.outputTokens,
    cacheReadTokens: (one?.cacheReadTokens ?? 0) + other.cacheReadTokens,
    cacheWriteTokens: (one?.cacheWriteTokens ?? 0) + other.cacheWriteTokens,
  };
}

/**
 * Why the model stopped: `done` (its turn is over), `calls` (it waits for results), `refused`, or `cut` (at the limit
 * of its tokens). Turns of the last two have no calls, because one may be half a call. Others are broken.
 */
const stopReasonSchema = z.enum(["done", "calls", "refused", "cut"]);
export type StopReason = z.infer<typeof stopReasonSchema>;

/** One search for tools: the query, and the listed names of the tools that it found, best first. */
const searchSchema = z.object({ query: z.string(), found: z.array(z.string()) });
export type ToolSearch = z.infer<typeof searchSchema>;

/** What a server changed of its list since the request before: new tools or definitions, and names that are gone. */
const listChangeSchema = z.object({ added: z.array(offeredToolSchema), removed: z.array(z.string()) });
export type ListChange = z.infer<typeof listChangeSchema>;

/**
 * One reply of a model. `ms` is the time from request to reply, retries included. `responseId` is the id that the
 * provider gave to the reply itself: a cache that repeats a reply repeats it; `requestId` is for inquiries.
 */
export const turnSchema = z.object({
  text: z.string(),
  calls: z.array(callSchema),
  searches: z.array(searchSchema).optional().describe("of the client, the API or the host; absent: none"),
  listChange: listChangeSchema
    .optional()
    .describe("how the tools that were shown for this reply differ from those of the reply before; absent: not at all"),
  userTurn: z
    .number()
    .int()
    .min(2)
    .optional()
    .describe("which message of the user it answers, from 2; absent: the first"),
  stop: stopReasonSchema,
  usage: usageSchema,
  reservedUsd: z
    .number()
    .max(maxAmount)
    .optional()
    .describe("the maximum cost of a reply without usage, which counts toward the budget"),
  ms: z.number(),
  resent: z
    .int()
    .positive()
    .optional()
    .describe("earlier attempts at this reply that ended in an error, without those that were turned away unread"),
  cached: z.literal(true).optional().describe("a reply of an earlier run, from the cache: without usage and time"),
  requestId: z.string().optional(),
  responseId: z.string().optional(),
  batch: z
    .string()
    .optional()
    .describe("the batch that the reply came in: `ms` is then no latency, and its price is that of batches"),
  model: z.string().optional().describe("the model that replied, where the reply names it; an alias may be asked for"),
});
export type Turn = z.infer<typeof turnSchema>;

/** Why there is no answer to score. Broken is not failed: such a trial is excluded from rates. */
const brokenSchema = z.object({
  kind: z.literal("broken"),
  stage: z
    .enum(["setup", "server", "model", "timeout", "budget", "cancelled"])
    .describe("setup: the case cannot be asked as it is written"),
  message: z.string(),
  again: z.literal(true).optional().describe("the model was stopped: the trial is asked again when the run is resumed"),
});
export type Broken = z.infer<typeof brokenSchema>;

/** A trial that broke at this stage, and why. */
export function broken(stage: Broken["stage"], message: string): Broken {
  return { kind: "broken", stage, message };
}

const outcomeSchema = z.discriminatedUnion("kind", [z.object({ kind: z.literal("answered") }), brokenSchema]);
export type Outcome = z.infer<typeof outcomeSchema>;

/**
 * All turns of a conversation, and whether it ended with an answer or broke. `deferred`: listed names of the tools
 * whose definitions the model did not have from the start; absent where it had all. `lost` is the usage of replies that
 * could not be used: it is paid for.
 */
export type Answer = { outcome: Outcome; turns: Turn[]; deferred?: ReadonlySet<string>; lost?: Usage };

/** The first thing that went wrong in a graded trial, `right-tool`, or `abstained` where no tool is expected. */
const selectionSchema = z.enum([
  "right-tool",
  "wrong-tool",
  "no-call",
  "unknown-tool",
  "several-calls",
  "malformed-arguments",
  "wrong-arguments",
  "wrong-result",
  "abstained",
  "over-triggered",
  "refused",
  "cut-off",
  "call-as-text",
]);
export type Selection = z.infer<typeof selectionSchema>;

/**
 * One checked expectation. `unknown`: it could not be decided, with the reason; it never counts as passed. `evidence`
 * is a judge's verbatim quote from the transcript.
 */
const argumentFaultSchema = z.object({
  tool: z.string(),
  parameter: z.string(),
  kind: z.enum(["missing", "wrong-type", "wrong-value", "invented"]),
});
const assertionSchema = z.object({
  what: z.string(),
  met: z.enum(["yes", "no", "unknown"]),
  why: z.string().optional(),
  fault: argumentFaultSchema.optional().describe("what is wrong with an argument, where the assertion is about one"),
  furtherFaults: z.array(argumentFaultSchema).optional().describe("of further arguments that the schema refused"),
  evidence: z.string().optional(),
});
export type Assertion = z.infer<typeof assertionSchema>;

/**
 * The score of an answered trial. `expected` and `picked` are the labels of the confusion table. `not-gradable`: an
 * assertion could not be decided (no judge for a judged one, a call that was not executed); it never counts as passed.
 */
const scoreFields = {
  selection: selectionSchema,
  expected: z.string(),
  picked: z.string(),
  checks: z.array(assertionSchema),
  unchecked: z
    .array(z.string())
    .optional()
    .describe("what could not be checked, and why; it does not decide the score"),
  substituted: z
    .array(z.string())
    .optional()
    .describe("acceptable tools that were called instead of expected ones, in a trial that passed"),
  skills: z.array(z.string()).optional().describe("skills that were loaded, in any turn; absent where none is offered"),
  discovery: discoverySchema.optional().describe("absent where no tool is expected or all definitions are shown"),
};

const scoreSchema = z.discriminatedUnion("grade", [
  z.object({ grade: z.enum(["pass", "fail"]), ...scoreFields }),
  z.object({ grade: z.literal("not-gradable"), ...scoreFields, reason: z.string() }),
]);
export type Score = z.infer<typeof scoreSchema>;

/** The outcome of a graded trial in reports: its selection, or `substituted` if it passed with an acceptable tool. */
export function readOutcome({ selection, substituted }: Pick<Score, "selection" | "substituted">): string {
  return substituted ? "substituted" : selection;
}

/**
 * The place of one trial in the plan. `trial` counts from 1; `arm` is "head", "base", or the name of a variant.
 * `attempt` is absent for the first time that a trial is asked: a design asks again what brought no answer.
 */
const cellSchema = z.object({
  suite: z.string(),
  case: z.string(),
  arm: z.string(),
  model: z.string(),
  trial: z.number().int().min(1),
  attempt: z.number().int().min(2).optional(),
});
export type Cell = z.infer<typeof cellSchema>;

export const costSchema = z.union([z.number(), z.literal("unknown")]).describe("US dollars at list price");
/** US dollars at list price; "unknown" where a price is not known, never 0. */
export type Cost = z.infer<typeof costSchema>;
const isBounded = (cost: Cost) => cost === "unknown" || cost <= maxAmount;
const trialCostSchema = costSchema.refine(isBounded, `must be at most ${maxAmount}`);

/** A sum with an unknown part is unknown. */
export function addCost(a: Cost, b: Cost): Cost {
  return a === "unknown" || b === "unknown" ? "unknown" : a + b;
}

/** The cost of `n` times what costs this much. */
export function multiplyCost(n: number, cost: Cost): Cost {
  return cost === "unknown" ? cost : n * cost;
}

/** Usage, cost and time of the judge for one trial. Its cost is part of the trial's. */
const judgingSchema = z.object({ model: z.string(), usage: usageSchema, costUsd: trialCostSchema, ms: z.number() });
export type Judging = z.infer<typeof judgingSchema>;

/**
 * One line of the journal. `toolset` is the hash of the list that was shown; `orderSeed` seeds the order of it. `copy`:
 * the reply repeats one that was seen before in the run, so that it is paid for but is no trial.
 */
export const trialSchema = z.object({
  cell: cellSchema,
  toolset: toolsetHashSchema,
  orderSeed: z.number().int(),
  outcome: outcomeSchema,
  turns: z.array(turnSchema),
  shown: shownSchema.optional().describe("what a host showed to the model, as captured; absent for other models"),
  verdict: scoreSchema.optional(),
  judging: judgingSchema.optional(),
  copy: z.literal(true).optional(),
  lost: usageSchema.optional().describe("usage of replies that could not be used; its cost is part of the trial's"),
  costUsd: trialCostSchema,
  startedAt: z.string(),
  ms: z.number(),
});
export type Trial = z.infer<typeof trialSchema>;

/** What a trial counts toward the budget: its known cost, and the maximum cost of replies without usage. */
export function budgetedUsd({ costUsd, turns }: Trial): number {
  const known = costUsd === "unknown" ? 0 : costUsd;
  return turns.reduce((sum, { reservedUsd = 0, cached }) => sum + (cached ? 0 : reservedUsd), known);
}

/** The key of a cell, unique in a run. */
export function cellKey(cell: Cell): string {
  const { suite, case: id, arm, model, trial, attempt } = cell;
  return JSON.stringify([suite, id, arm, model, trial, ...(attempt === undefined ? [] : [attempt])]);
}

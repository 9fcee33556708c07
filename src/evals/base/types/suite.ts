import type { Gate } from "./check.ts";
import type { Location } from "./errors.ts";
import type { LintSettings } from "./finding.ts";
import type { ExecutionPolicy } from "./flagValues.ts";
import type { JsonObject } from "./json.ts";
import type { EvalFile } from "./skill.ts";
import type { DispatchRules, ElicitAnswer, ResultMatcher, ServerSpec, Split, SuiteFile, Surface } from "./suiteFile.ts";
import type { Tool, ToolResult } from "./tool.ts";

/** One expected call: any of `tools` is correct, one of `acceptable` passes as a substitute. */
export type ExpectedCall = {
  tools: readonly string[];
  acceptable?: readonly string[];
  optional?: true;
  args?: JsonObject;
  result?: ResultMatcher;
};

/** Whether arguments that an expected call does not name are ignored or wrong. */
export type ArgsMode = "partial" | "exact";

/**
 * What a case expects, normalized.
 * `tool` is about the first pick: the first turn must have exactly one call (more with `extras`), and it must be this
 * one. `calls` is about all turns. `avoid` applies to all turns of every kind.
 */
export type Expectation = { avoid: readonly string[] } & (
  | { kind: "tool"; call: ExpectedCall; extras: boolean; argsMode: ArgsMode }
  | { kind: "none" }
  | { kind: "any"; result?: ResultMatcher }
  | { kind: "calls"; calls: readonly ExpectedCall[]; order: "strict" | "any"; extras: boolean; argsMode: ArgsMode }
  | { kind: "skill"; skill: string }
  | { kind: "avoid" }
);

/** The calls that an expectation requires, in their order; none where it requires no certain tool. */
export function listExpectedCalls(expect: Expectation | undefined): readonly ExpectedCall[] {
  if (expect?.kind === "tool") return [expect.call];
  return expect?.kind === "calls" ? expect.calls : [];
}

export type UserTurn = { content: string; expect?: Expectation };

/** The calls that a case requires: of its user turns, then of the whole conversation. */
export function listCaseCalls({ expect, turns = [] }: Pick<Case, "expect" | "turns">): readonly ExpectedCall[] {
  return [...turns.map((one) => one.expect), expect].flatMap(listExpectedCalls);
}

/** A result that a suite gives to calls of a tool. `label` names it in reports; `place` is where it stands. */
export type Mock = { label: string; tool: string; args?: JsonObject; result: ToolResult };

/** The mocks of a case: the first that matches answers; what none answers gets an error or is executed. */
export type Mocks = { list: readonly Mock[]; unmatched: NonNullable<SuiteFile["unmatched"]> };

/** One query with its expectation, with defaults. `hash` covers what it asks and expects, not its tools. */
export type Case = {
  id: string;
  hash: string;
  messages: readonly { role: "system" | "user" | "assistant"; content: string }[];
  /** What the last message says in turn, where a case has more than one wording of it: trial t the t-th, and so on. */
  paraphrases?: readonly string[];
  /** About the whole conversation. */
  expect?: Expectation;
  /** What the user says one after the other, if more than one message; the first is the last of `messages`. */
  turns?: readonly UserTurn[];
  /** What a model may search for, beside what the user says. No trial asks it, so it is in no hash. */
  searches?: readonly string[];
  /** Words by which cases are selected. No trial depends on them, so they are in no hash. */
  tags?: readonly string[];
  /** As recorded in its file. No trial depends on it, so it is in no hash. */
  split?: Split;
  /** Files that decide from calls, results and the workspace, relative to the suite's folder. */
  assertions?: readonly string[];
  /** SHA-256 of every file of code that decides an outcome, assertions and matchers, by its path. */
  code?: Readonly<Record<string, string>>;
  /** Sentences that a judge grades separately. */
  expectedBehavior: readonly string[];
  tools?: readonly Tool[];
  /** How its calls are read, where tools of the server call others. */
  dispatch?: DispatchRules;
  /** Tools that its server may list later. No trial depends on it, so it is in no hash. */
  laterTools?: readonly string[];
  /** Results that calls get in place of being executed. */
  mocks?: Mocks;
  elicit?: readonly ElicitAnswer[];
  /** Files that are in the workspace of a trial from the start. */
  files?: readonly EvalFile[];
  /** What is expected of files of the workspace after the trial, by path. */
  expectedFiles?: JsonObject;
  /** Why it cannot be asked as it is written: its trials break. */
  unusable?: string;
  /** The hash of the skill package if its instructions decide the outcome. */
  packageHash?: string;
  trials: number;
  passRate: number;
  maxTurns: number;
  location: Location;
};

/** Whether a suite is asked on a model: on all of the command, unless it names its own. */
export function asksModel(
  { models }: Pick<Suite, "models">,
  { id, aliases = [] }: { id: string; aliases?: readonly string[] },
): boolean {
  return models === undefined || [id, ...aliases].some((one) => models.includes(one));
}

/** A loaded suite. `file` is the path as given; `dir` is the absolute folder that its paths are relative to. */
export type Suite = {
  name: string;
  file: string;
  dir: string;
  hash: string;
  server?: NonNullable<SuiteFile["server"]>;
  distractors: readonly ServerSpec[];
  dispatch?: DispatchRules;
  /** Where a key under `dispatch` stands in the file. */
  dispatchLocation?(path: readonly string[]): Location;
  catalog?: string;
  surfaces?: readonly Surface[];
  skills: readonly string[];
  /** The models that are asked; absent: those of the command. */
  models?: readonly string[];
  /** What exits with 1, and the margin of its check; absent: those of the command. */
  failOn?: readonly Gate[];
  margin?: number;
  execute: ExecutionPolicy;
  /** What a model gets for a call that the policy denies; absent: the reason. */
  denial?: string;
  isolate: "run" | "trial";
  /** The skill whose effect is measured: every case also runs without it, in a separate arm. */
  lift?: string;
  lint?: LintSettings;
  /** The ids of drafted cases that nobody reviewed. No trial depends on them, so they are in no hash. */
  unreviewed?: readonly string[];
  cases: readonly Case[];
};

/** The number of trials of a case: one of a deterministic model is enough for each wording of its query. */
export function plannedTrials(
  { trials, paraphrases }: { trials: number; paraphrases?: readonly string[] | undefined },
  { deterministic }: { deterministic: boolean },
): number {
  return deterministic ? (paraphrases?.length ?? 1) : trials;
}

/** Which of a case's paraphrases a trial asks, from 0. Trials count from 1. */
export const paraphraseAt = (trial: number, paraphrases: number): number => (trial - 1) % paraphrases;

/** The query of a trial: the input of the case, or the paraphrase that it asks. */
export function readQuery(
  { input, paraphrases }: { input: string; paraphrases?: readonly string[] | undefined },
  trial: number,
): string {
  return paraphrases?.[paraphraseAt(trial, paraphrases.length)] ?? input;
}

/** The messages of a trial, with the paraphrase that it asks. */
export function getMessages({ messages, paraphrases }: Case, trial: number): Case["messages"] {
  const content = paraphrases?.[paraphraseAt(trial, paraphrases.length)];
  return content === undefined ? messages : [...messages.slice(0, -1), { role: "user", content }];
}

/** The cases that ask the same as an earlier one, apart from case and white space. */
export function findRepeatedQueries(cases: readonly Case[]): { index: number; id: string; first: string }[] {
  const asked = new Map<string, Case[]>();
  const fold = (text: string) => text.toLowerCase().replace(/\s+/g, " ").trim();
  // Lists of tools are long: they are compared only where the messages are the same.
  const describeRest = ({ paraphrases = [], turns = [], tools, files }: Case) =>
    JSON.stringify([paraphrases.map(fold), turns.map(({ content }) => fold(content)), tools, files]);
  return cases.flatMap((one, index) => {
    const key = one.messages.map(({ role, content }) => `${role} ${fold(content)}`).join("\n");
    const same = asked.get(key) ?? [];
    asked.set(key, same);
    const rest = same.length > 0 ? describeRest(one) : "";
    const first = same.find((other) => describeRest(other) === rest);
    if (first) return [{ index, id: one.id, first: first.id }];
    same.push(one);
    return [];
  });
}

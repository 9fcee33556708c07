import { basename, dirname, extname, resolve } from "node:path";
import type { Case, CaseFile, Expectation, ExpectedCall, Suite } from "../types/suite.ts";
import type { Tool } from "../types/tool.ts";
import type { Checked } from "./check.ts";
import type { SuiteDocument } from "./document.ts";
import { caseHash, suiteHash } from "./hash.ts";
import { caseIds } from "./ids.ts";
import { type ExpectFile, type Header, kindOf, namesOf } from "./shape.ts";

const defaults = {
  trials: 5,
  passRate: 0.8,
  maxTurns: 1,
  maxTurnsOfCalls: 8,
  maxTurnsOfSkill: 8,
  execute: "safe",
  isolate: "run",
} as const;

/** The suite that a checked file describes, defaults filled in and hashed. `cwd` is what the file's path is relative to. */
export function normalise({ header, cases }: Checked, document: SuiteDocument, cwd: string): Suite {
  const ids = caseIds(cases.map(({ content }) => ({ id: content.id, input: promptOf(content) })));
  const suite = {
    name: header.name ?? basename(document.file, extname(document.file)),
    file: document.file,
    dir: dirname(resolve(cwd, document.file)),
    ...(header.server && { server: header.server }),
    distractors: header.distractors ?? [],
    skills: header.skills ?? [],
    ...(header.lift !== undefined && { lift: header.lift }),
    execute: header.execute ?? defaults.execute,
    isolate: header.isolate ?? defaults.isolate,
    ...(header.lint && { lint: header.lint }),
    cases: cases.map(({ path, content }, i) => {
      const one = { ...caseOf(content, header), id: ids[i] ?? "", place: document.place(path) };
      return { ...one, hash: caseHash(one) };
    }),
  };
  return { ...suite, hash: suiteHash(suite) };
}

function caseOf(content: CaseFile, header: Header): Omit<Case, "id" | "hash" | "place"> {
  const messages = content.messages ?? [{ role: "user" as const, content: promptOf(content) }];
  const { expect, tools } = content;
  return {
    messages: header.system === undefined ? messages : [{ role: "system", content: header.system }, ...messages],
    ...(expect && { expect: expectationOf(expect) }),
    expectedBehavior: namesOf(content.expected_behavior),
    ...(tools && { tools: tools.map(toolOf) }),
    trials: content.trials ?? header.trials ?? defaults.trials,
    passRate: content.passRate ?? header.passRate ?? defaults.passRate,
    maxTurns: content.maxTurns ?? header.maxTurns ?? defaultTurns(expect),
  };
}

/** Several calls may be made one after the other, and a skill may be loaded after a look around; a first pick needs one. */
function defaultTurns(expect: ExpectFile | undefined): number {
  if (expect?.skill !== undefined) return defaults.maxTurnsOfSkill;
  return (expect?.calls?.length ?? 0) > 1 ? defaults.maxTurnsOfCalls : defaults.maxTurns;
}

/** What the user says last. */
function promptOf({ input, messages }: CaseFile): string {
  return input ?? messages?.at(-1)?.content ?? "";
}

function toolOf({ name, description, inputSchema }: NonNullable<CaseFile["tools"]>[number]): Tool {
  return { name, ...(description !== undefined && { description }), inputSchema };
}

function expectationOf(expect: ExpectFile): Expectation {
  const avoid = namesOf(expect.avoid);
  const rules = { argsMode: expect.argsMode ?? "partial", argsMatch: expect.argsMatch ?? "matchers" } as const;
  const extras = expect.extras ?? false;
  switch (kindOf(expect)) {
    case "tool":
      return { avoid, kind: "tool", call: callOf(expect), extras, ...rules };
    case "none":
      return { avoid, kind: "none" };
    case "any":
      return { avoid, kind: "any", ...(expect.result && { result: expect.result }) };
    case "calls":
      return {
        avoid,
        kind: "calls",
        calls: (expect.calls ?? []).map(callOf),
        order: expect.order ?? "strict",
        extras,
        ...rules,
      };
    case "skill":
      return { avoid, kind: "skill", skill: expect.skill ?? "" };
    default:
      return { avoid, kind: "avoid" };
  }
}

function callOf({ tool, args, result }: Pick<ExpectFile, "tool" | "args" | "result">): ExpectedCall {
  return { tools: namesOf(tool), ...(args && { args }), ...(result && { result }) };
}

import type { Discovery } from "../../base/types/exposure.ts";
import { type EvalFile, skillEntryName } from "../../base/types/skill.ts";
import { type Case, type Expectation, listExpectedCalls } from "../../base/types/suite.ts";
import type { Toolset } from "../../base/types/tool.ts";
import type { Assertion, Call, Score, Turn } from "../../base/types/trial.ts";
import {
  type Activity,
  compileFiles,
  fileTools,
  findWrittenCall,
  isSilent,
  isWritable,
  listWorkspace,
  readActivity,
  readingTools,
} from "./activity.ts";
import { type Assess, type Assessment, type CallScore, chooseBetter, compileCall, compileSequence } from "./calls.ts";
import { joinScores, labelCalls, labelExpectation, noneLabel, type PartScore } from "./labels.ts";
import { type Judge, noJudge } from "./matchers.ts";
import { getLookup, type ToolLookup } from "./tools.ts";

/**
 * Grades the turns of one answered trial. `deferred`: the tools whose definitions were not shown from the start.
 * `workspace`: the files as a host left them; if absent, they are derived from the turns. Does not throw.
 */
export type Grade = (
  turns: readonly Turn[],
  judge?: Judge,
  deferred?: ReadonlySet<string>,
  workspace?: readonly EvalFile[],
) => Score;

/** `unjudged`: why arguments and results are not judged, for a model that makes them up; then only the tool counts. */
type GraderOptions = { unjudged?: string | undefined };

type GradedCase = Pick<Case, "expect" | "assertions" | "expectedBehavior" | "files" | "expectedFiles">;
type WholeCase = GradedCase & Pick<Case, "turns">;

/**
 * Creates the grader of one case and toolset, for its expectation and those of its user turns. If the server changed
 * its list during a trial, a tool is known from the reply on that it was shown for, until it is gone.
 */
export function createGrader(one: WholeCase, toolset: Toolset, options: GraderOptions = {}): Grade {
  const gradeList = createListGrader(one, toolset, options);
  return (turns, ...facts) => {
    if (turns.length > 0 && turns.every(isSilent)) {
      const { grade: _, ...score } = gradeList(turns, ...facts);
      return grade({ ...score, checks: [silent, ...score.checks] });
    }
    if (turns.every(({ listChange }) => listChange === undefined)) return gradeList(turns, ...facts);
    const followed = followListChanges(toolset, turns);
    return createListGrader(one, followed.toolset, options)(followed.turns, ...facts);
  };
}

/** A model that says nothing at all does not show that it rightly made no call. */
const silent: Assertion = { what: "reply", met: "unknown", why: "the model wrote neither a text nor a call" };

/** Every tool of a trial, and its turns: a call of one that was not shown at its time is marked as unlisted. */
function followListChanges({ hash, tools }: Toolset, turns: readonly Turn[]): { toolset: Toolset; turns: Turn[] } {
  const all = new Map(tools.map((tool) => [tool.name, tool]));
  for (const { listChange } of turns) for (const tool of listChange?.added ?? []) all.set(tool.name, tool);
  const shown = new Set(tools.map(({ name }) => name));
  const followed = turns.map((turn): Turn => {
    for (const name of turn.listChange?.removed ?? []) shown.delete(name);
    for (const { name } of turn.listChange?.added ?? []) shown.add(name);
    const calls = turn.calls.map((call): Call => {
      const { tool } = call;
      return all.has(tool) && !shown.has(tool) ? { ...call, inner: { tool, unlisted: true } } : call;
    });
    return { ...turn, calls };
  });
  return { toolset: { hash, tools: [...all.values()] }, turns: followed };
}

function createListGrader(one: WholeCase, toolset: Toolset, options: GraderOptions): Grade {
  const { turns: messages, ...whole } = one;
  const own = listOwnTools(one, toolset);
  const create = (part: GradedCase) => createPartGrader(part, toolset, own, options);
  if (!messages) return create(whole);
  const isWhole = whole.expect || whole.assertions || whole.expectedFiles || whole.expectedBehavior.length > 0;
  const ofWhole = isWhole ? create(whole) : undefined;
  const ofTurns = messages.map(({ expect }) => expect && create({ expect, expectedBehavior: [] }));
  return (turns, judge, deferred, workspace) => {
    const parts = ofTurns.flatMap((gradeTurn, at): PartScore[] => {
      const replies = turns.filter(({ userTurn = 1 }) => userTurn === at + 1);
      const score = gradeTurn?.(replies, judge, deferred);
      return score ? [{ name: `turn ${at + 1}`, score }] : [];
    });
    if (ofWhole) parts.push({ score: ofWhole(turns, judge, deferred, workspace) });
    const score = grade(joinScores(parts));
    const substituted = parts.flatMap((part) => part.score.substituted ?? []);
    return score.grade === "pass" && substituted.length > 0 ? { ...score, substituted } : score;
  };
}

/** The file tools of the harness that a case offers; using one is not a pick. */
function listOwnTools(one: GradedCase, toolset: Toolset): ReadonlySet<string> | undefined {
  if (isWritable(one)) return fileTools;
  return one.files || offersSkills(toolset) ? readingTools : undefined;
}

const offersSkills = ({ tools }: Toolset) => tools.some(({ origin }) => origin === "skill");

/**
 * Creates the grader of one expectation and toolset. Use one grader for all trials of a case.
 *
 * - `tool`: the first turn with calls must have one call, and a correct one (see `compileCall`). Several calls are
 *   `several-calls` when an expected tool is among them; with `extras` the best one is scored.
 * - `calls`: all turns (see `compileSequence`). `skill`: all turns (see `assessSkill`).
 * - `none`: no call at all. `any`: the first call is of a listed tool and its schema allows the arguments.
 * - `avoid`, in addition to any of these or alone: none of the named tools is called in any turn.
 *
 * A model that refused and called nothing fails with `refused`, even where no call is expected, because that is not an
 * answer. So does a reply that was cut off, with `cut-off`, and one that writes a call as text, with `call-as-text`:
 * neither shows that the model rightly made no call. Sentences of expected behavior and `judge` matchers are
 * decided by the judge; see `Judge`.
 */
function createPartGrader(
  { expect, assertions = [], expectedBehavior, files, expectedFiles }: GradedCase,
  toolset: Toolset,
  own: ReadonlySet<string> | undefined,
  { unjudged }: GraderOptions,
): Grade {
  const expected = labelExpectation(expect);
  const lookup = getLookup(toolset);
  const assess = compileExpectation(expect, unjudged === undefined ? lookup : { ...lookup, unjudged });
  const hasSkills = offersSkills(toolset);
  // A keyword search writes nothing.
  const checkFiles = compileFiles(unjudged === undefined ? expectedFiles : undefined);
  return (turns, judge = noJudge, deferred = nothing, workspace) => {
    const activity = readActivity(turns, own);
    const assessed = withWritten(turns, lookup.names, activity, assess(activity, judge));
    const given = withoutAnswer(expect, activity, assessed);
    const { selection, picked, checks, unchecked, substituted } = withAvoided(expect, activity, given);
    const behaviors = expectedBehavior.map((criterion): Assertion => {
      return { what: `behavior: ${criterion}`, ...judge({ about: "behavior", criterion }) };
    });
    const asserted = assertions.map((file): Assertion => {
      return { what: `assert: ${file}`, ...judge({ about: "trial", file }) };
    });
    const written = checkFiles(() => workspace ?? listWorkspace(files ?? [], turns), judge);
    const skills = hasSkills && { skills: [...activity.loaded] };
    const discovery = assessDiscovery(expect, activity, deferred);
    const missed = discovery && explainDiscovery(discovery, activity);
    const [builtIn] = activity.builtIns;
    const asked = turns.length > 0 ? [] : [notAsked];
    const score = grade({
      selection,
      expected,
      picked: selection === "no-call" && builtIn ? `${builtIn.tool} (built-in)` : picked,
      checks: [...asked, ...checks, ...(missed ? [missed] : []), ...written, ...asserted, ...behaviors],
      ...skills,
      ...(discovery && { discovery }),
      ...(unchecked && { unchecked }),
    });
    return substituted && score.grade === "pass" ? { ...score, substituted } : score;
  };
}

const nothing: ReadonlySet<string> = new Set();

/** A trial without a reply is not gradable. In particular, it does not show that the model rightly made no call. */
const notAsked: Assertion = { what: "reply", met: "unknown", why: "no request was made" };

/** A trial fails if an assertion is not met, else is not gradable if one is undecided or there is none. */
function grade(score: Omit<Score, "grade" | "reason">): Score {
  const { checks } = score;
  if (checks.some(({ met }) => met === "no")) return { grade: "fail", ...score };
  const [open, ...others] = checks.filter(({ met }) => met === "unknown");
  if (open) {
    const more = others.length > 0 ? ` (and ${others.length} more)` : "";
    return { grade: "not-gradable", ...score, reason: `${open.what}: ${open.why ?? "not decided"}${more}` };
  }
  if (checks.length === 0) return { grade: "not-gradable", ...score, reason: "no expectation" };
  return { grade: "pass", ...score };
}

function compileExpectation(expect: Expectation | undefined, lookup: ToolLookup): Assess {
  switch (expect?.kind) {
    case "tool":
      return compileTool(expect, lookup);
    case "calls":
      return compileSequence(expect, lookup);
    case "any":
      return compileAny(expect, lookup);
    case "skill":
      return (activity) => assessSkill(expect.skill, activity);
    case "none":
      return ({ first }) => {
        const [head] = first;
        if (!head) return { selection: "abstained", picked: noneLabel, checks: [{ what: "tool", met: "yes" }] };
        const why = `expected no call, got ${labelCalls(first, lookup.find)}`;
        return fail("over-triggered", labelCalls([head], lookup.find), why);
      };
    default:
      // No tool is required: there is only `avoid`, or sentences.
      return ({ first, all }) => ({
        selection: all.length > 0 ? "right-tool" : "abstained",
        picked: labelCalls(first, lookup.find),
        checks: [],
      });
  }
}

function compileTool(expect: Extract<Expectation, { kind: "tool" }>, lookup: ToolLookup): Assess {
  const scoreCall = compileCall(expect.call, expect.argsMode, lookup);
  const label = labelExpectation(expect);
  const { find } = lookup;
  const { tools } = expect.call;
  return ({ first, all }, judge) => {
    const picked = labelCalls(first, find);
    const later = explainLater(tools, all, find);
    const scores = first.map((call) => scoreCall(call, judge)).map((score) => addToWhy(score, later));
    const [head] = scores;
    if (!head) return fail("no-call", picked, `expected a call of ${label}, got none`);
    if (scores.length === 1 || expect.extras) return { picked, ...scores.reduce(chooseBetter) };
    const why = `expected one call of ${label}, got ${scores.length}: ${picked}`;
    const hasExpected = scores.some(({ selection }) => selection !== "unknown-tool" && selection !== "wrong-tool");
    return fail(hasExpected ? "several-calls" : head.selection, picked, why);
  };
}

/** A note for when the expected tool was called, but only after others; otherwise empty. */
function explainLater(tools: readonly string[], all: Activity["all"], find: ToolLookup["find"]): string {
  const at = all.findIndex(({ tool }) => tools.includes(tool));
  if (at < 1) return "";
  return `; ${all[at]?.tool} was reached later, as call ${at + 1} after ${labelCalls(all.slice(0, at), find, ", ")}`;
}

function addToWhy(score: CallScore, later: string): CallScore {
  if (later === "" || score.selection !== "wrong-tool") return score;
  const checks = score.checks.map((check) => (check.met === "no" ? { ...check, why: `${check.why}${later}` } : check));
  return { ...score, checks };
}

function compileAny(expect: Extract<Expectation, { kind: "any" }>, lookup: ToolLookup): Assess {
  const call = { tools: lookup.names, ...(expect.result && { result: expect.result }) };
  const scoreCall = compileCall(call, "partial", lookup, "any listed tool");
  return ({ first }, judge) => {
    const picked = labelCalls(first, lookup.find);
    const [head] = first;
    if (!head) return fail("no-call", picked, "expected a call of any tool, got none");
    return { picked, ...scoreCall(head, judge) };
  };
}

/** Whether a skill was loaded in any turn (`none`: whether no skill was), whatever else was loaded or called. */
function assessSkill(skill: string, { loaded }: Activity): Assessment {
  const picked = loaded.map(skillEntryName).join(" + ") || noneLabel;
  const isNone = skill === "none";
  const isMet = isNone ? loaded.length === 0 : loaded.includes(skill);
  if (isMet) return { selection: isNone ? "abstained" : "right-tool", picked, checks: [{ what: "skill", met: "yes" }] };
  const selection = isNone ? "over-triggered" : loaded.length === 0 ? "no-call" : "wrong-tool";
  const expected = isNone ? "no skill to be loaded" : `skill ${skill} to be loaded`;
  return fail(selection, picked, `expected ${expected}, got ${picked}`, "skill");
}

function fail(selection: Assessment["selection"], picked: string, why: string, what = "tool"): Assessment {
  return { selection, picked, checks: [{ what, met: "no", why }] };
}

/**
 * A reply that was cut off before any call is not an answer, even if no call is expected; after calls, it leaves open
 * whether one came that must not. A refusal is not an abstention, and more precise than "no call"; with sentences only,
 * the judge decides.
 */
function withoutAnswer(
  expect: Expectation | undefined,
  { all, refused, cut }: Activity,
  assessed: Assessment,
): Assessment {
  const why = "the reply was cut off at the limit of its tokens; raise --max-tokens";
  if (cut && all.length > 0 && forbidsCalls(expect))
    return { ...assessed, checks: [...assessed.checks, { what: "reply", met: "unknown", why }] };
  if (all.length > 0) return assessed;
  if (cut) return { ...assessed, selection: "cut-off", checks: [{ what: "reply", met: "no", why }] };
  if (!refused) return assessed;
  const checks = assessed.checks.filter(({ met }) => met !== "yes");
  const refusal: Assertion = { what: "refusal", met: "no", why: "expected an answer, got a refusal" };
  return { ...assessed, selection: "refused", checks: expect ? [...checks, refusal] : assessed.checks };
}

/** Whether an expectation is met only if some calls are made in no turn. */
function forbidsCalls(expect: Expectation | undefined): boolean {
  if (expect?.kind === "calls" && !expect.extras) return true;
  return (expect?.kind === "skill" && expect.skill === "none") || (expect?.avoid.length ?? 0) > 0;
}

/** A call as text is neither a call nor an abstention: the endpoint did not read it. */
function withWritten(
  turns: readonly Turn[],
  names: readonly string[],
  { all }: Activity,
  assessed: Assessment,
): Assessment {
  const [written] = all.length > 0 ? [] : turns.flatMap(({ text }) => findWrittenCall(text, names) ?? []);
  if (!written) return assessed;
  const { tool = "a tool", form } = written;
  const why = `the reply calls ${tool} as text (${form}), which the endpoint did not read as a call: give it the chat template and the tool parser of the model (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice --tool-call-parser)`;
  return { selection: "call-as-text", picked: `${tool} (as text)`, checks: [{ what: "reply", met: "no", why }] };
}

/** A call of a tool to avoid determines the selection, whatever else went wrong. */
function withAvoided(expect: Expectation | undefined, { all }: Activity, assessed: Assessment): Assessment {
  const avoid = new Set(expect?.avoid);
  if (avoid.size === 0) return assessed;
  const called = [...new Set(all.map(({ tool }) => tool).filter((tool) => avoid.has(tool)))];
  if (called.length === 0) return { ...assessed, checks: [...assessed.checks, { what: "avoid", met: "yes" }] };
  const why = `expected no call of ${[...avoid].join(", ")}, got ${called.join(", ")}`;
  const selection = expect?.kind === "none" || expect?.kind === "avoid" ? "over-triggered" : "wrong-tool";
  const checks: Assertion[] = [...assessed.checks, { what: "avoid", met: "no", why }];
  return { ...assessed, selection, picked: called.join(" + "), checks };
}

/**
 * How the expected tools were found and chosen if the definitions of `deferred` tools (listed names) were not shown
 * from the start. Of several expected calls, the first that was not made decides. Undefined if no tool is expected or
 * deferred.
 */
function assessDiscovery(
  expect: Expectation | undefined,
  { all, searches, builtIns }: Activity,
  deferred: ReadonlySet<string>,
): Discovery | undefined {
  const expected = listExpectedCalls(expect)
    .filter(({ optional }) => !optional)
    .map((call) => ({ ...call, tools: [...call.tools, ...(call.acceptable ?? [])] }));
  if (expected.length === 0 || deferred.size === 0) return undefined;
  const queries = searches.length > 0 && { queries: searches.map(({ query }) => query) };
  const tools = expected.map((call) => {
    // From 1, in the first search that found one.
    const ranks = searches.map(({ found }) => 1 + found.findIndex((name) => call.tools.includes(name)));
    const rank = ranks.find((one) => one > 0);
    const isFound = rank !== undefined || call.tools.some((tool) => !deferred.has(tool));
    return { rank, isFound, isChosen: all.some(({ tool }) => call.tools.includes(tool)) };
  });
  const missed = tools.find(({ isChosen }) => !isChosen);
  const rank = (missed ?? tools.find((one) => one.rank !== undefined))?.rank;
  const [builtIn] = builtIns;
  const found = { ...(rank !== undefined && { rank }), ...queries };
  if (!missed) return { outcome: rank === undefined ? "chosen-without-search" : "chosen", ...found };
  if (missed.isFound) return { outcome: "found-not-chosen", ...found };
  if (queries) return { outcome: "not-found", ...found };
  return builtIn ? { outcome: "built-in-used", builtIn: builtIn.tool } : { outcome: "not-searched" };
}

/** Why an expected tool was not called, as an assertion; undefined where it was. */
function explainDiscovery({ outcome, rank, queries = [] }: Discovery, { builtIns }: Activity): Assertion | undefined {
  if (outcome === "chosen" || outcome === "chosen-without-search") return undefined;
  const search = `the search for ${queries.map((query) => JSON.stringify(query)).join(", ")}`;
  const [builtIn] = builtIns;
  const instead = builtIn && outcome !== "not-searched" ? `; called ${builtIn.tool} of the host instead` : "";
  const found =
    rank === undefined
      ? "the expected tool was shown from the start and not called"
      : `${search} found the expected tool (rank ${rank}), but it was not called`;
  const why = {
    "found-not-chosen": found,
    "not-found": `${search} did not find the expected tool`,
    "built-in-used": "no tool was searched for",
    "not-searched": "no tool was searched for",
  };
  return { what: "search", met: "no", why: why[outcome] + instead };
}

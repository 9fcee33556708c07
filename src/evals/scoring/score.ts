import type { Case, Expectation } from "../types/suite.ts";
import type { Toolset } from "../types/tool.ts";
import type { Assertion, Score, Turn } from "../types/trial.ts";
import { better, compileCall, finderFor } from "./call.ts";
import { decide, type Finding, type Made, madeIn } from "./finding.ts";
import { expectedLabel, none, pickedLabel } from "./labels.ts";
import { type Listing, listingOf } from "./listing.ts";
import { type Judge, noJudge } from "./match.ts";
import { compileSequence } from "./sequence.ts";
import { judgeSkill } from "./skill.ts";

/** Grades the turns of one answered trial. Does not throw. */
export type Grade = (turns: readonly Turn[], judge?: Judge) => Score;
type Find = (made: Made, judge: Judge) => Finding;

/**
 * The grader of one case against the toolset that it was shown: make one for a case, use it for every trial.
 *
 * - `tool`: the first turn that holds calls must hold one call, and that one right (see `compileCall`). Several calls are
 *   `several-calls` when an expected tool is among them; with `extras` the one that comes closest is judged.
 * - `calls`: all turns (see `compileSequence`). `skill`: all turns (see `judgeSkill`).
 * - `none`: no call at all. `any`: the first call is to a listed tool and its schema allows the arguments.
 * - `avoid`, beside any of these or alone: none of the named tools is called in any turn.
 *
 * A model that refused and called nothing has failed with `refused`, also where no call was wanted: that is no answer.
 * Sentences of expected behaviour and `judge` matchers are for the judge to decide; see `Judge`.
 */
export function grader(
  { expect, expectedBehavior }: Pick<Case, "expect" | "expectedBehavior">,
  toolset: Toolset,
): Grade {
  const listing = listingOf(toolset);
  const expected = expectedLabel(expect);
  const find = compileExpectation(expect, listing);
  const avoid = new Set(expect?.avoid);
  const offersSkills = toolset.tools.some(({ origin }) => origin === "skill");
  return (turns, judge = noJudge) => {
    const made = madeIn(turns, offersSkills);
    const finding = withAvoided(expect, avoid, made, withRefusal(expect, made, find(made, judge)));
    const behaviours = expectedBehavior.map((criterion): Assertion => {
      return { what: `behaviour: ${criterion}`, ...judge({ about: "behaviour", criterion }) };
    });
    const skills = offersSkills && { skills: made.loaded };
    return decide({ ...finding, checks: [...finding.checks, ...behaviours], ...skills }, expected);
  };
}

function compileExpectation(expect: Expectation | undefined, listing: Listing): Find {
  switch (expect?.kind) {
    case "tool":
      return compileTool(expect, listing);
    case "calls":
      return compileSequence(expect, listing);
    case "any":
      return compileAny(expect, listing);
    case "skill":
      return (made) => judgeSkill(expect.skill, made);
    case "none":
      return (made) => judgeNone(made, listing);
    default:
      // Only `avoid` or sentences: which tool is right was not said.
      return ({ first, all }) => ({
        selection: all.length > 0 ? "right-tool" : "abstained",
        picked: pickedLabel(first, listing.find),
        checks: [],
      });
  }
}

function compileTool(expect: Extract<Expectation, { kind: "tool" }>, listing: Listing): Find {
  const judgeCall = compileCall(expect.call, expect, listing);
  const label = expectedLabel(expect);
  const find = finderFor(expect, listing);
  return ({ first }, judge) => {
    const picked = pickedLabel(first, find);
    const judged = first.map((call) => judgeCall(call, judge));
    const [head] = judged;
    if (!head) return missed("no-call", picked, `expected a call of ${label}, got none`);
    if (judged.length === 1 || expect.extras) {
      const { word, checks } = judged.reduce(better);
      return { selection: word, picked, checks };
    }
    const why = `expected one call of ${label}, got ${judged.length}: ${picked}`;
    const accepted = judged.some(({ word }) => word !== "unknown-tool" && word !== "wrong-tool");
    return missed(accepted ? "several-calls" : head.word, picked, why);
  };
}

function compileAny(expect: Extract<Expectation, { kind: "any" }>, listing: Listing): Find {
  const call = { tools: listing.names, ...(expect.result && { result: expect.result }) };
  const judgeCall = compileCall(call, { argsMode: "partial", argsMatch: "matchers" }, listing, "any listed tool");
  return ({ first }, judge) => {
    const picked = pickedLabel(first, listing.find);
    const [head] = first;
    if (!head) return missed("no-call", picked, "expected a call of any tool, got none");
    const { word, checks } = judgeCall(head, judge);
    return { selection: word, picked, checks };
  };
}

function judgeNone({ first }: Made, listing: Listing): Finding {
  const [head] = first;
  if (!head) return { selection: "abstained", picked: none, checks: [{ what: "tool", met: "yes" }] };
  const picked = pickedLabel([head], listing.find);
  return missed("over-triggered", picked, `expected no call, got ${pickedLabel(first, listing.find)}`);
}

function missed(selection: Finding["selection"], picked: string, why: string): Finding {
  return { selection, picked, checks: [{ what: "tool", met: "no", why }] };
}

/** A refusal is no abstention, and tells more than "no call". Where only sentences are expected the judge decides. */
function withRefusal(expect: Expectation | undefined, { all, refused }: Made, finding: Finding): Finding {
  if (!refused || all.length > 0) return finding;
  if (!expect) return { ...finding, selection: "refused" };
  const checks = finding.checks.filter(({ met }) => met !== "yes");
  const refusal: Assertion = { what: "refusal", met: "no", why: "expected an answer, got a refusal" };
  return { ...finding, selection: "refused", checks: [...checks, refusal] };
}

/** An avoided tool that was called is what the trial came to, whatever else went wrong. */
function withAvoided(expect: Expectation | undefined, avoid: ReadonlySet<string>, made: Made, found: Finding): Finding {
  if (avoid.size === 0) return found;
  const called = [...new Set(made.all.map(({ tool }) => tool).filter((tool) => avoid.has(tool)))];
  if (called.length === 0) return { ...found, checks: [...found.checks, { what: "avoid", met: "yes" }] };
  const why = `expected no call of ${[...avoid].join(", ")}, got ${called.join(", ")}`;
  const over = expect?.kind === "none" || expect?.kind === "avoid";
  const selection = over ? "over-triggered" : "wrong-tool";
  return {
    ...found,
    selection,
    picked: called.join(" + "),
    checks: [...found.checks, { what: "avoid", met: "no", why }],
  };
}

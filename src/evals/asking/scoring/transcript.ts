import { isJsonObject, writeExactJson } from "../../base/types/json.ts";
import { joinResult } from "../../base/types/tool.ts";
import type { Call, Turn } from "../../base/types/trial.ts";
import { listLoadedSkills, readingTools, skillTools } from "./activity.ts";

/**
 * One entry of what a judge is shown. `given`: the model's input. `done`: its replies, calls and results, or a value of
 * these. `note`: added by tool-evals. Only `done` entries can be quoted as evidence.
 */
type Entry = { of: "given" | "done" | "note"; label: string; text: string };

/** What happened in a trial, in order. */
export type Transcript = readonly Entry[];

/** Maximum characters. Longer texts lose their middle, so that a long result does not displace the rest. */
export const limits = { entry: 12_000, transcript: 120_000 } as const;

/**
 * Builds the transcript of a trial: the case's messages, then the model's replies (and what the user says after them),
 * calls with arguments, and results, or why there are none. What would reveal the arm is left out: see `concernsSkill`.
 * Long texts are cut in the middle, with a note.
 */
export function buildTranscript(
  messages: readonly { role: "system" | "user" | "assistant"; content: string }[],
  turns: readonly Turn[],
  followUps: readonly string[] = [],
): Transcript {
  const given = messages.map(({ role, content }): Entry => ({ of: "given", label: givenLabels[role], text: content }));
  const done = turns.flatMap((turn, at) => {
    const { userTurn = 1 } = turn;
    const next = userTurn === (turns[at - 1]?.userTurn ?? 1) ? undefined : followUps[userTurn - 2];
    const asked: Entry[] = next === undefined ? [] : [{ of: "given", label: givenLabels.user, text: next }];
    return [...asked, ...buildTurnEntries(turn)];
  });
  const isWaiting = (turns.at(-1)?.calls.length ?? 0) > 0;
  const end = isWaiting ? [note("the trial ended here; the model was not asked again")] : [];
  return limitLength([...given, ...done, ...end]);
}

/** Builds a transcript from a text, with the request it belongs to. */
export function buildTextTranscript(text: string, input?: string): Transcript {
  const given: Entry[] = input === undefined ? [] : [{ of: "given", label: givenLabels.user, text: input }];
  return limitLength([...given, { of: "done", label: "the transcript", text }]);
}

/**
 * Whether a call loads a skill or reads its files: a host's `Skill` tool, any call that names a `SKILL.md`, and a file
 * tool on a path inside a package (`/skills/<name>/...`, or a host's folder such as `.claude/skills/<name>/...`). Only
 * the arm with the skill makes such calls, so a judge is shown neither the calls nor their results.
 */
export function concernsSkill(call: Call): boolean {
  if (call.tool === skillTools.load || listLoadedSkills([call]).length > 0) return true;
  if (!readingTools.has(call.tool) || !isJsonObject(call.arguments)) return false;
  return Object.values(call.arguments).some((value) => typeof value === "string" && mentionsSkill(value));
}

/** Whether a path, a path pattern or a line of search results leads into a skill package. */
const mentionsSkill = (text: string) => /^\/skills\/[^/]+|(?:^|\/)\.[\w-]+\/skills(?:\/|$)|SKILL\.md/i.test(text);

/** The entries of a single text, such as a value, cut in the middle if it is too long. */
export const buildTextEntries = (label: string, text: string): Transcript => cutMiddle(done(label, text));

const givenLabels = {
  system: "the model was instructed",
  user: "the user says",
  assistant: "the model said before",
} as const;

const done = (label: string, text: string): Entry => ({ of: "done", label, text });

function buildTurnEntries({ text, calls, stop }: Turn): Entry[] {
  const reply = text.trim() === "" ? [] : [done(stop === "refused" ? "the model refuses" : "the model says", text)];
  const isSilent = reply.length === 0 && calls.length === 0;
  const nothing =
    stop === "refused" ? "(it refused, without a word)" : stop === "cut" ? "(it was cut off)" : "(it said nothing)";
  return [
    ...(isSilent ? [done("the model ends", nothing)] : reply),
    ...calls.filter((call) => !concernsSkill(call)).flatMap(buildCallEntries),
  ];
}

function buildCallEntries({ tool, arguments: args, argumentsText, inner, execution }: Call): Entry[] {
  const given = args === undefined ? (argumentsText ?? "") : writeExactJson(args);
  const through = inner ? `, which calls ${inner.tool}` : "";
  const call = done(`the model calls${through}`, `${tool} ${given}`.trim());
  if (execution?.status !== "executed")
    return [call, done("that call was not executed", execution?.reason ?? "no result is on the record")];
  const { isError } = execution.result;
  const whole = joinResult(execution.result);
  // A search of the whole project also finds the skill packages of the arm.
  const lines = whole.split("\n").filter((line) => !mentionsSkill(line));
  const text = readingTools.has(tool) ? lines.join("\n") : whole;
  return [call, done(isError ? "the call returned an error" : "the call returned", text)];
}

const note = (text: string): Entry => ({ of: "note", label: "note", text });

function cutMiddle(entry: Entry): Entry[] {
  const left = entry.text.length - limits.entry;
  if (left <= 0) return [entry];
  const half = limits.entry / 2;
  // APIs reject half a surrogate pair.
  const start = entry.text.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const end = entry.text.slice(-half).replace(/^[\uDC00-\uDFFF]/, "");
  return [
    { ...entry, text: start },
    note(`${left} characters of this are left out here`),
    { ...entry, label: `${entry.label} (its end)`, text: end },
  ];
}

/** Keeps the first and last entries that fit, and counts the others in a note. */
function limitLength(entries: readonly Entry[]): Transcript {
  const all = entries.flatMap(cutMiddle);
  const first = countFitting(all);
  const last = countFitting(all.slice(first).toReversed());
  const middle = all.slice(first, all.length - last);
  if (middle.length === 0) return all;
  const characters = middle.reduce((sum, { text }) => sum + text.length, 0);
  const left = note(`entries left out here: ${middle.length}, with ${characters} characters`);
  return [...all.slice(0, first), left, ...all.slice(all.length - last)];
}

/** How many entries from the start fit into half of a transcript. */
function countFitting(entries: readonly Entry[]): number {
  let room = limits.transcript / 2;
  const over = entries.findIndex(({ text }) => {
    room -= text.length;
    return room < 0;
  });
  return over < 0 ? entries.length : over;
}

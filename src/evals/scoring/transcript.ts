import { isJsonObject } from "../types/json.ts";
import type { ToolResult } from "../types/tool.ts";
import type { Call, Turn } from "../types/trial.ts";
import { listLoadedSkills, readingTools, skillTools } from "./activity.ts";

/**
 * One thing that a judge is shown. `given`: what the model was told. `done`: what it said, called and got back, or a value
 * of it. `note`: a word of the harness. Only the text of what was done can be quoted as evidence.
 */
type Entry = { of: "given" | "done" | "note"; label: string; text: string };

/** What happened in a trial, in order. */
export type Transcript = readonly Entry[];

/** Longer texts lose their middle, so that one long result cannot crowd out the rest, nor a long trial the criteria. */
export const limits = { entry: 12_000, transcript: 120_000 } as const;

/**
 * The transcript of a trial: the case's messages, then what the model said, called with which arguments, and got back, or
 * why it got nothing. What would tell the arm apart is left out: see `concernsSkill`. Too long texts are cut in their
 * middle, with a note in its place.
 */
export function transcriptOf(
  messages: readonly { role: "system" | "user" | "assistant"; content: string }[],
  turns: readonly Turn[],
): Transcript {
  const given = messages.map(({ role, content }): Entry => ({ of: "given", label: givenLabels[role], text: content }));
  return bounded([...given, ...turns.flatMap(entriesOfTurn), ...endOf(turns)]);
}

/** A transcript that is text already, of one piece, with the request it belongs to. */
export function transcriptOfText(text: string, input?: string): Transcript {
  const given: Entry[] = input === undefined ? [] : [{ of: "given", label: givenLabels.user, text: input }];
  return bounded([...given, { of: "done", label: "the transcript", text }]);
}

/**
 * Whether a call loads a skill or readingTools at its files: a host's `Skill` tool, any call that names a `SKILL.md`, and a tool
 * for files on a path inside of a package (`/skills/<name>/...`, or a host's folder such as `.claude/skills/<name>/...`).
 * Such calls are made only in the arm that has the skill, so a judge is not shown them, nor what they gave.
 */
export function concernsSkill(call: Call): boolean {
  if (call.tool === skillTools.load || listLoadedSkills([call]).length > 0) return true;
  if (!readingTools.has(call.tool) || !isJsonObject(call.arguments)) return false;
  return Object.values(call.arguments).some((value) => typeof value === "string" && tellsSkill(value));
}

/** A path, a pattern of paths or a line of what a search found that leads into a package. */
const tellsSkill = (text: string) => /^\/skills\/[^/]+|(?:^|\/)\.[\w-]+\/skills(?:\/|$)|SKILL\.md/i.test(text);

/** A text that stands on its own, such as a value, cut in its middle where it is too long. */
export function entriesOfText(label: string, text: string): Transcript {
  return cutMiddle({ of: "done", label, text });
}

const givenLabels = {
  system: "the model was instructed",
  user: "the user says",
  assistant: "the model said before",
} as const;

const done = (label: string, text: string): Entry => ({ of: "done", label, text });

function entriesOfTurn({ text, calls, stop }: Turn): Entry[] {
  const said = text.trim() === "" ? [] : [done(stop === "refused" ? "the model refuses" : "the model says", text)];
  const silent = said.length === 0 && calls.length === 0;
  const nothing = stop === "refused" ? "(it refused, without a word)" : "(it said nothing)";
  return [
    ...(silent ? [done("the model ends", nothing)] : said),
    ...calls.filter((call) => !concernsSkill(call)).flatMap(entriesOfCall),
  ];
}

function entriesOfCall({ tool, arguments: args, argumentsText, execution }: Call): Entry[] {
  const given = args === undefined ? (argumentsText ?? "") : JSON.stringify(args);
  const call = done("the model calls", `${tool} ${given}`.trim());
  if (execution?.status !== "executed") {
    return [call, done("that call was not executed", execution?.reason ?? "no result is on the record")];
  }
  const { isError } = execution.result;
  const whole = resultText(execution.result);
  // A search of the whole project finds the packages of the arm as well.
  const text = readingTools.has(tool)
    ? whole
        .split("\n")
        .filter((line) => !tellsSkill(line))
        .join("\n")
    : whole;
  return [call, done(isError ? "the call returned an error" : "the call returned", text)];
}

function resultText({ content, structuredContent }: ToolResult): string {
  if (content.length === 0 && structuredContent) return JSON.stringify(structuredContent);
  return content.map(({ text, type, mimeType = "" }) => text ?? `[${`${type} ${mimeType}`.trim()}]`).join("\n");
}

function endOf(turns: readonly Turn[]): Entry[] {
  const waits = (turns.at(-1)?.calls.length ?? 0) > 0;
  return waits ? [note("the trial ended here; the model was not asked again")] : [];
}

function note(text: string): Entry {
  return { of: "note", label: "note", text };
}

function cutMiddle(entry: Entry): Entry[] {
  const left = entry.text.length - limits.entry;
  if (left <= 0) return [entry];
  const half = limits.entry / 2;
  // Half a surrogate pair is no text that a service takes.
  const start = entry.text.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const end = entry.text.slice(-half).replace(/^[\uDC00-\uDFFF]/, "");
  return [
    { ...entry, text: start },
    note(`${left} characters of this are left out here`),
    { ...entry, label: `${entry.label} (its end)`, text: end },
  ];
}

/** The first and the last entries that fit; what does not is counted in a note. */
function bounded(entries: readonly Entry[]): Transcript {
  const all = entries.flatMap(cutMiddle);
  const first = fitting(all);
  const last = fitting(all.slice(first).toReversed());
  const middle = all.slice(first, all.length - last);
  if (middle.length === 0) return all;
  const characters = middle.reduce((sum, { text }) => sum + text.length, 0);
  const left = note(`entries left out here: ${middle.length}, with ${characters} characters`);
  return [...all.slice(0, first), left, ...all.slice(all.length - last)];
}

/** How many entries from the start fit into half of a transcript. */
function fitting(entries: readonly Entry[]): number {
  let room = limits.transcript / 2;
  const over = entries.findIndex(({ text }) => {
    room -= text.length;
    return room < 0;
  });
  return over < 0 ? entries.length : over;
}

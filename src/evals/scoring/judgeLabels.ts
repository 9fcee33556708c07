import type * as z from "zod";
import { EvalsError, messageOf, type Problem, usageError } from "../errors.ts";
import { labelLineSchema, type Opinion } from "../types/judge.ts";
import { buildTextTranscript, buildTranscript, type Transcript } from "./transcript.ts";

/** One human label: a transcript, a criterion, and a person's decision on it. */
export type Label = { id: string; line: number; transcript: Transcript; criterion: string; human: Opinion };

const maxProblems = 20;

/**
 * Parses a file of labels, one JSON object per line. Throws EvalsError with the problems of all lines (at most the first
 * 20), or when there are no labels.
 */
export function parseLabels(text: string, file: string): Label[] {
  const problems: Problem[] = [];
  const labels = text.split("\n").flatMap((written, index): Label[] => {
    if (written.trim() === "") return [];
    const label = parseLine(written, index + 1);
    if ("human" in label) return [label];
    problems.push(...label.faults.map((message): Problem => problemAt(message, { file, line: index + 1 })));
    return [];
  });
  if (problems.length > 0) throw new EvalsError(shortened(problems, file));
  if (labels.length > 0) return labels;
  throw usageError("The file has no labels.", `Write one label per line: ${example}`, { file });
}

const example = '{"input": "...", "transcript": "...", "criterion": "...", "label": "met"}';

function parseLine(written: string, line: number): Label | { faults: string[] } {
  let data: unknown;
  try {
    data = JSON.parse(written);
  } catch (thrown) {
    return { faults: [`The line is not JSON: ${messageOf(thrown)}.`] };
  }
  const parsed = labelLineSchema.safeParse(data);
  if (!parsed.success) return { faults: parsed.error.issues.map(faultText) };
  const { id = `line ${line}`, input, transcript, turns = [], criterion, label } = parsed.data;
  const given = input === undefined ? [] : [{ role: "user" as const, content: input }];
  const shown = transcript === undefined ? buildTranscript(given, turns) : buildTextTranscript(transcript, input);
  return { id: String(id), line, transcript: shown, criterion, human: label };
}

function faultText({ path, message }: z.core.$ZodIssue): string {
  return path.length > 0 ? `${path.join(".")}: ${message}.` : `${message}.`;
}

function problemAt(message: string, place: Problem["place"] & object): Problem {
  return { severity: "error", message, place };
}

function shortened(problems: readonly Problem[], file: string): Problem[] {
  const left = problems.length - maxProblems;
  const more = left > 0 ? [problemAt(`${left} more problems.`, { file })] : [];
  const shown = [...problems.slice(0, maxProblems), ...more];
  const hint = `Write one label per line: ${example}`;
  return shown.map((problem, index) => (index === shown.length - 1 ? { ...problem, hint } : problem));
}

import * as z from "zod";
import type { Turn } from "../../types/trial.ts";
import { cut, type Match, type Question, unknown } from "../match.ts";
import { type Asked, judgementSchema, leastEvidence, oneLine, valueEntries } from "./question.ts";
import type { Transcript } from "./transcript.ts";

/**
 * What a judge's reply comes to: a match for each criterion in their order; or why it cannot be used at all, and then
 * nothing of it is.
 */
export type Reading = { kind: "answered"; matches: readonly Match[] } | { kind: "broken"; why: string };

type Answer = z.infer<typeof judgementSchema>["answers"][number];

/**
 * Reads a judge's reply, trusting nothing in it. A verdict counts only with evidence that stands word for word (white
 * space aside) in what the model did, or in the value that is asked about; else it is "cannot tell". Criteria that are
 * left out, repeated or made up discredit the whole reply, for then the others may be shifted as well.
 */
export function readJudgement({ text, stop }: Pick<Turn, "text" | "stop">, { questions, transcript }: Asked): Reading {
  if (stop === "refused") return broken("the judge refused to answer");
  const answer = parsed(text);
  if ("why" in answer) return broken(answer.why);
  const numbers = answer.answers.map(({ number }) => number);
  const byNumber = new Map(answer.answers.map((one) => [one.number, one]));
  const matches = questions.flatMap((question, index) => {
    const one = byNumber.get(index + 1);
    return one ? [matchOf(one, question, index + 1, transcript)] : [];
  });
  if (matches.length === questions.length && numbers.length === questions.length) return { kind: "answered", matches };
  const got = numbers.length === 0 ? "none" : cut(numbers.join(", "));
  return broken(`the judge must answer criteria 1 to ${questions.length} once each, and answered ${got}`);
}

const broken = (why: string): Reading => ({ kind: "broken", why });

function parsed(text: string): z.infer<typeof judgementSchema> | { why: string } {
  // Servers that know no structured output leave the model's usual fence around its JSON.
  const json = text.trim().replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, "$1");
  if (json === "") return { why: "the judge's answer is empty" };
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch {
    return { why: `the judge's answer is not JSON: ${cut(oneLine(json))}` };
  }
  const answer = judgementSchema.safeParse(data);
  if (answer.success) return answer.data;
  return { why: `the judge's answer has another form than asked for: ${cut(oneLine(z.prettifyError(answer.error)))}` };
}

function matchOf({ evidence, reason, verdict }: Answer, question: Question, number: number, all: Transcript): Match {
  const because = oneLine(reason);
  if (verdict === "cannot tell") return unknown(`the judge cannot tell: ${cut(because)}`);
  const about = question.about === "value" ? valueEntries(question, number) : all;
  const untrue = whyNoEvidence(evidence, about, question.about === "value" ? "value" : "transcript");
  if (untrue !== undefined) return unknown(untrue);
  return verdict === "met" ? { met: "yes", evidence } : { met: "no", why: `the judge: ${cut(because)}`, evidence };
}

/** Why a quote does not count; undefined when it does. */
function whyNoEvidence(evidence: string, about: Transcript, where: "transcript" | "value"): string | undefined {
  const quote = oneLine(evidence);
  if (quote === "") return "the judge quoted nothing";
  const holding = about.map((entry) => ({ of: entry.of, text: oneLine(entry.text) })).filter(holds(quote));
  const done = holding.filter(({ of }) => of === "done");
  if (done.length === 0) {
    return holding.some(({ of }) => of === "given")
      ? "the judge quoted what the model was told, not what it did"
      : `the judge quoted what is not in the ${where}`;
  }
  const letters = quote.replace(/[^\p{L}\p{N}]/gu, "");
  const enough = new TextEncoder().encode(letters).length >= leastEvidence || done.some(({ text }) => text === quote);
  return enough ? undefined : `the judge quoted too little to mean anything: ${JSON.stringify(quote)}`;
}

const holds = (quote: string) => (entry: { text: string }) => entry.text.includes(quote);

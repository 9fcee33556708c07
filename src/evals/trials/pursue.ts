import type { Design, Request } from "../verdicts/design.ts";
import type { EvidenceBook } from "../verdicts/evidence.ts";
import type { PlanEnd } from "./runPlan.ts";

/** A design that came to its verdict, or what stopped it before. */
export type Pursued<V> = { kind: "decided"; verdict: V } | { kind: "stopped"; end: Exclude<PlanEnd, "complete"> };

/**
 * Runs the trials that a design asks for, look after look, until it decides or the run is stopped. `ask` runs the trials
 * and adds them to the book. A design sees nothing but the book, so a resumed run goes on where the record ends.
 */
export async function pursue<V>(
  design: Design<V>,
  book: EvidenceBook,
  ask: (requests: readonly Request[]) => Promise<PlanEnd>,
): Promise<Pursued<V>> {
  for (let asked = ""; ; ) {
    const step = design.next(book.evidence);
    if (step.kind === "decided") return step;
    const requests = JSON.stringify(step.requests);
    if (requests === asked) throw new Error(`the trials that were asked for are not on the record: ${requests}`);
    asked = requests;
    const end = await ask(step.requests);
    if (end !== "complete") return { kind: "stopped", end };
  }
}

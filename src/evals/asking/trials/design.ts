import { getOrAdd } from "../../base/collections.ts";

/**
 * The outcome of one trial: the model passed; it selected the right tool, or rightly none, but did not pass; it failed;
 * or infrastructure kept it from answering.
 */
export type Answer = "pass" | "selected" | "fail" | "missing";

/** Whether there is an answer that passed or failed. */
export const isGraded = (answer: Answer | undefined): answer is Exclude<Answer, "missing"> =>
  answer !== undefined && answer !== "missing";

/**
 * What one request brought: an answer, or a copy: a reply that was seen before in this run (same response id, or
 * flagged as cached). What the model did itself (cut at the token limit, malformed, refused) is a fail, never missing.
 * A request that was turned away before the model could answer (429, 503, no connection) may be sent again without
 * being observed.
 */
export type Observation = Answer | "copy";

/** A trial that remains missing is requested this often in total. */
const missingAttempts = 3;
/** A trial that only gets copies is requested this often in total, and then is missing. */
const copyAttempts = 4;

/**
 * Ask this trial of the case in these arms, in this order, close in time. `trial` counts from 1. `order`: the tool
 * order, a number from 0, in every arm the same. No two trials of a case have the same until all orders are used, but
 * several cases do. An arm that was asked before is asked again with the same request.
 */
export type TrialRequest = { case: string; trial: number; arms: readonly string[]; order: number };

/** What to do next: make these trials, or stop with the verdict. `look` counts from 1. */
export type Step<V> =
  | { kind: "ask"; requests: readonly TrialRequest[]; look: number }
  | { kind: "decided"; verdict: V };

/** A running design: it yields the trials that it needs, and reads the record again when it continues. */
export type Play<V> = Generator<{ requests: readonly TrialRequest[]; look: number }, V, void>;

/**
 * A sequential design: a pure function of the record. `play` goes through the design from its start and yields the
 * trials that the record lacks; so a resumed run and a replayed record need nothing but the record. `cap` is the most
 * trials that it asks for, over all cases and arms, without those asked again.
 */
export type Design<V> = { cap: number; play(record: TrialRecord): Play<V> };

/** The next step of a design on this record, from the record alone. A run that goes on keeps its play instead. */
export function nextStep<V>(design: Design<V>, record: TrialRecord): Step<V> {
  const { done, value } = design.play(record).next();
  return done ? { kind: "decided", verdict: value } : { kind: "ask", ...value };
}

/** Paid requests: all of them, those that returned a copy, and those without an answer. */
export type Paid = { calls: number; copies: number; missing: number };

/** The record of a run as a design sees it. Trials may be added in any order. */
export class TrialRecord {
  readonly #cases = new Map<string, Map<string, ReturnType<typeof newColumn>>>();

  /**
   * Adds what one request brought. A trial that was graded or given up keeps its answer; what is added
   * to it later only counts as paid. `outcome` names the answer in full (tool and arguments), to compare repeats;
   * `isResent`: errors came first, and the request was sent again.
   */
  add(id: string, arm: string, trial: number, observation: Observation, outcome?: string, isResent = false): void {
    const { answers, outcomes, paid, open, recovered, resent, copied } = this.#column(id, arm);
    paid.calls++;
    if (observation === "copy") paid.copies++;
    if (observation === "missing") paid.missing++;
    if (answers[trial - 1] !== undefined) return;
    if (observation !== "copy" && isGraded(observation)) {
      answers[trial - 1] = observation;
      outcomes[trial - 1] = outcome ?? observation;
      if (open.get(trial)?.missing) recovered.add(trial);
      else if (isResent) resent.add(trial);
      open.delete(trial);
      return;
    }
    const tried = getOrAdd(open, trial, noRequests);
    tried.calls++;
    if (observation === "copy") tried.copies++;
    else tried.missing++;
    if (tried.missing >= missingAttempts || tried.copies >= copyAttempts) {
      answers[trial - 1] = "missing";
      if (tried.copies >= copyAttempts) copied.add(trial);
      open.delete(trial);
    }
  }

  /** The settled trials of a case in an arm, trial t at index t - 1, holes where none is settled. Stays current. */
  answers(id: string, arm: string): readonly (Answer | undefined)[] {
    return this.#column(id, arm).answers;
  }

  /** Trials whose answer was missing when they were first asked. Stays current. */
  recovered(id: string, arm: string): ReadonlySet<number> {
    return this.#column(id, arm).recovered;
  }

  /** Trials whose answer came after an error to the same request. Stays current. */
  resent(id: string, arm: string): ReadonlySet<number> {
    return this.#column(id, arm).resent;
  }

  /** Trials that were given up because every reply to them was a copy. Stays current. */
  copied(id: string, arm: string): ReadonlySet<number> {
    return this.#column(id, arm).copied;
  }

  /** The full answer of a trial, if there is one. */
  outcome(id: string, arm: string, trial: number): string | undefined {
    return this.#column(id, arm).outcomes[trial - 1];
  }

  /** Gives up every trial without an answer, for a record to which nothing will be added. */
  abandon(): void {
    for (const arms of this.#cases.values())
      for (const { answers, open } of arms.values()) {
        for (const trial of open.keys()) answers[trial - 1] = "missing";
        open.clear();
      }
  }

  /** How often a trial without an answer was requested. */
  attempts(id: string, arm: string, trial: number): number {
    return this.#column(id, arm).open.get(trial)?.calls ?? 0;
  }

  /** The paid requests for a case in an arm. */
  paid(id: string, arm: string): Readonly<Paid> {
    return this.#column(id, arm).paid;
  }

  /** The arms of a case with requests, in the order of the first request. */
  arms(id: string): string[] {
    return [...(this.#cases.get(id) ?? [])].flatMap(([arm, { paid }]) => (paid.calls > 0 ? [arm] : []));
  }

  #column(id: string, arm: string) {
    const arms = getOrAdd(this.#cases, id, () => new Map<string, ReturnType<typeof newColumn>>());
    return getOrAdd(arms, arm, newColumn);
  }
}

function newColumn() {
  return {
    answers: [] as (Answer | undefined)[],
    outcomes: [] as (string | undefined)[],
    paid: noRequests(),
    /** Requested trials that have no answer yet. */
    open: new Map<number, Paid>(),
    /** Trials with an answer that was missing at first. */
    recovered: new Set<number>(),
    /** Trials with an answer that was an error at first. */
    resent: new Set<number>(),
    /** Trials given up because every reply was a copy. */
    copied: new Set<number>(),
  };
}

const noRequests = (): Paid => ({ calls: 0, copies: 0, missing: 0 });

/** The passes among the trials `from`..`to` of a case in an arm that passed or failed; missing ones are left out. */
export function countPasses(
  record: TrialRecord,
  id: string,
  arm: string,
  from = 1,
  to = Number.POSITIVE_INFINITY,
): { passed: number; trials: number } {
  const answers = record.answers(id, arm);
  let passed = 0;
  let trials = 0;
  for (let t = from; t <= Math.min(to, answers.length); t++) {
    const answer = answers[t - 1];
    if (answer === "pass") passed++;
    if (isGraded(answer)) trials++;
  }
  return { passed, trials };
}

/** With more than this share of missing trials, nothing can be decided. */
export const mostMissing = 0.05;
/** This many missing trials are tolerated in a small experiment. */
const toleratedMissing = 2;

/** Whether too many settled trials of these cases in these arms are missing: more than 5 %, and more than two. */
export function lacksAnswers(record: TrialRecord, ids: readonly string[], arms: readonly string[]): boolean {
  const answers = ids.flatMap((id) => arms.flatMap((arm) => record.answers(id, arm)));
  const settled = answers.filter((answer) => answer !== undefined);
  const missing = settled.filter((answer) => answer === "missing").length;
  return missing > toleratedMissing && missing > mostMissing * settled.length;
}

/** Asks for what the record lacks of these requests. `order`: the arms of a request as they are asked. */
export function* bringRequests(
  record: TrialRecord,
  requests: readonly TrialRequest[],
  look: number,
  order: (request: TrialRequest) => readonly string[] = ({ arms }) => arms,
): Play<void> {
  for (;;) {
    const lacking = requests.flatMap((one) => {
      const arms = one.arms.filter((arm) => record.answers(one.case, arm)[one.trial - 1] === undefined);
      return arms.length === 0 ? [] : [{ ...one, arms: order({ ...one, arms }) }];
    });
    if (lacking.length === 0) return;
    yield { requests: lacking, look };
  }
}

/** The same design, with another form of its verdict. */
export function mapVerdict<V, W>(design: Design<V>, map: (verdict: V) => W): Design<W> {
  return {
    cap: design.cap,
    *play(record) {
      return map(yield* design.play(record));
    },
  };
}

/** Plays several designs on one record: asks for what all of them lack, until every one has its verdict. */
export function* playTogether<V>(plays: readonly Play<V>[]): Play<V[]> {
  const steps = plays.map((play) => ({ play, step: play.next() }));
  for (;;) {
    const asked = steps.flatMap(({ step }) => (step.done ? [] : [step.value]));
    if (asked.length === 0) return steps.flatMap(({ step }) => (step.done ? [step.value] : []));
    const look = Math.min(...asked.map((one) => one.look));
    yield { look, requests: asked.flatMap(({ requests }) => requests) };
    for (const one of steps) if (!one.step.done) one.step = one.play.next();
  }
}

/**
 * Plays a design against a simulated model until it decides. `calls` is what it asked for, trials asked again included.
 * Throws RangeError when the design asks for nothing new, which is a defect of the design.
 */
export function simulate<V>(
  design: Design<V>,
  answer: (
    id: string,
    arm: string,
    trial: number,
    order: number,
  ) => Observation | readonly [Observation, outcome: string | undefined, isResent?: boolean],
  record = new TrialRecord(),
): { verdict: V; calls: number; record: TrialRecord } {
  const play = design.play(record);
  let calls = 0;
  for (let step = play.next(); ; step = play.next()) {
    if (step.done) return { verdict: step.value, calls, record };
    const before = calls;
    for (const { case: id, trial, arms, order } of step.value.requests) {
      for (const arm of arms) {
        const answered = answer(id, arm, trial, order);
        if (typeof answered === "string") record.add(id, arm, trial, answered);
        else record.add(id, arm, trial, ...answered);
        calls++;
      }
    }
    if (calls === before) throw new RangeError("the design asks for nothing new");
  }
}

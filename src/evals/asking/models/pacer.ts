import { setTimeout as sleep } from "node:timers/promises";

/** Time in ms, and a wait that ends early when the signal aborts and never rejects. */
export type Clock = { now(): number; sleep(ms: number, signal: AbortSignal): Promise<void> };

export const realClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
};

/**
 * The outcome of one request. `throttled`: refused because of the rate (429), with the wait that the service asked for.
 * `failed`: any other temporary fault. `refused`: a fault that every request would have (a wrong key, an unknown
 * model). `rejected`: a permanent fault of this request alone, or of every request from now on (no credit left);
 * `about` identifies the case. `answered`: anything else. While no request was answered, a permanent fault counts as
 * `refused` if it has the status of an error, and as `failed` if it is a reply that cannot be used.
 */
export type Report =
  | { kind: "answered" }
  | { kind: "rejected"; message: string; about: string }
  | { kind: "failed" | "refused"; message: string }
  | { kind: "throttled"; message: string; waitMs: number };

/** After this many faults in a row, requests are sent one at a time, as probes. */
const faultsInRow = 10;
/**
 * After this many requests in a row are throttled, all requests wait and slow down. Fewer are retried alone: services
 * also throttle single requests for reasons of their own, and a rate that is too high is soon refused this often.
 */
const throttlesInRow = 3;
/** After this many cases in a row are rejected with the same message, the model is stopped. */
const rejectionsInRow = 5;
/** The first request is sent alone. If it is not answered within this time, the others are sent too. */
const firstMs = 5_000;
/** The longest wait of a timer. */
const longestMs = 2 ** 31 - 1;
const lowestRate = 0.2;

/** The growth of the rate in a second: after the first throttling, whose rate is a guess, and after further ones. */
const growth = { first: 2, later: 1.01 } as const;
/** What is left of the rate after the service throttled it. */
const reduction = 0.9;
const probeWaitMs = (failed: number) => Math.min(500 * 2 ** failed, 8_000);

/**
 * Decides when the requests to one model are sent, over all trials.
 *
 * - The first request is sent alone. If it is refused, no other is sent.
 * - The rate is unlimited until the service throttles three requests in a row. Then all requests wait as long as the
 *   service asks, and continue at the rate that it granted, which doubles every second until the service throttles
 *   again. From then on, each throttling lowers the rate by a tenth, and it grows by 1% a second.
 * - After ten faults in a row, requests are sent one at a time, with waits from 0.5 to 8 s between them. After `probes`
 *   further faults, no other is sent.
 * - After five cases in a row were rejected with the same message, no other request is sent.
 */
export class Pacer {
  readonly #probes: number;
  #isTried = false;
  #answers = 0;
  #stopped: string | undefined;
  #faults = 0;
  #rejection = { message: "", cases: new Set<string>() };
  #failedProbes = 0;
  /** The request that others wait for. */
  #probe: Promise<void> | undefined;
  /** Requests per second, at the time until which all were paused. */
  #rate = Number.POSITIVE_INFINITY;
  #throttles = 0;
  #throttledInRow = 0;
  #nextAt = 0;
  #pausedUntil = 0;
  readonly #since: number;

  constructor(
    probes: number,
    private readonly clock: Clock = realClock,
  ) {
    this.#probes = Math.max(3, probes);
    this.#since = clock.now();
  }

  /** Why no further request is sent; undefined while requests are sent. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** How many requests were answered. */
  get answers(): number {
    return this.#answers;
  }

  /**
   * Waits until a request may be sent, sends it, and adapts to its outcome. Resolves with undefined if requests are no
   * longer sent.
   */
  async send<T>(signal: AbortSignal, request: () => Promise<T>, report: (result: T) => Report): Promise<T | undefined> {
    while (this.#isCautious()) {
      if (this.#stopped !== undefined || signal.aborted) return undefined;
      if (!this.#probe) {
        const sent = this.#sendNext(signal, request, (result) => this.#learn(report(result), true));
        const end = () => {
          this.#probe = undefined;
        };
        this.#probe = sent.then(end, end);
        return await sent;
      }
      const isOver = await this.#awaitProbe(this.#probe, signal);
      if (!isOver) break;
    }
    return await this.#sendNext(signal, request, (result) => this.#learn(report(result), false));
  }

  /** Sends a request when it is its turn. */
  async #sendNext<T>(signal: AbortSignal, request: () => Promise<T>, learn: (result: T) => void) {
    await this.#awaitSlot(signal);
    if (this.#stopped !== undefined || signal.aborted) return undefined;
    const result = await request();
    if (!signal.aborted) learn(result);
    return result;
  }

  #isCautious(): boolean {
    return !this.#isTried || this.#faults >= faultsInRow || this.#stopped !== undefined;
  }

  /** Resolves with false if the first request takes so long that others need not wait for it. */
  async #awaitProbe(ended: Promise<void>, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const waitMs = this.#isTried ? longestMs : firstMs;
    const patience = this.clock.sleep(waitMs, AbortSignal.any([over.signal, signal]));
    const isOver = await Promise.race([ended.then(() => true), patience.then(() => this.#isTried)]);
    over.abort();
    return isOver;
  }

  async #awaitSlot(signal: AbortSignal): Promise<void> {
    const now = this.clock.now();
    const at = Math.max(now, this.#pausedUntil, this.#nextAt);
    this.#nextAt = at + 1_000 / this.#rateAt(at);
    if (at > now) await this.clock.sleep(at - now, signal);
  }

  #learn(report: Report, isProbe: boolean): void {
    this.#isTried = true;
    if (report.kind === "rejected") this.#countRejection(report);
    if (report.kind === "answered") this.#rejection.cases.clear();
    if (report.kind === "answered" || report.kind === "rejected") {
      this.#answers++;
      this.#faults = 0;
      this.#failedProbes = 0;
      this.#throttledInRow = 0;
      return;
    }
    const wasCautious = this.#faults >= faultsInRow;
    this.#faults++;
    if (report.kind === "throttled" && ++this.#throttledInRow >= throttlesInRow) this.#slowDown(report.waitMs);
    if (wasCautious && isProbe) this.#failedProbes++;
    if (this.#faults >= faultsInRow) this.#pauseUntil(this.clock.now() + probeWaitMs(this.#failedProbes));
    if (report.kind === "refused" || this.#failedProbes >= this.#probes) this.#stopped ??= report.message;
  }

  #countRejection({ message, about }: { message: string; about: string }): void {
    if (message !== this.#rejection.message) this.#rejection = { message, cases: new Set() };
    this.#rejection.cases.add(about);
    if (this.#rejection.cases.size >= rejectionsInRow) this.#stopped ??= message;
  }

  #pauseUntil(time: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, time);
  }

  #rateAt(time: number): number {
    const seconds = Math.max(0, time - this.#pausedUntil) / 1_000;
    return Math.max(lowestRate, this.#rate * (this.#throttles === 1 ? growth.first : growth.later) ** seconds);
  }

  /** Slows down. Throttled requests during the wait belong to the same burst: they only prolong the wait. */
  #slowDown(waitMs: number): void {
    const now = this.clock.now();
    const rate = this.#rateAt(now);
    const isKnown = now < this.#pausedUntil;
    this.#pauseUntil(now + waitMs);
    if (isKnown) return;
    const granted = this.#answers / Math.max(1, (now - this.#since) / 1_000);
    this.#rate = this.#throttles === 0 ? granted : rate * reduction;
    this.#throttles++;
    this.#nextAt = this.#pausedUntil;
  }
}

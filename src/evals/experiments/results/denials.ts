import { canonicalJson } from "../../base/types/json.ts";
import type { SuiteSummary } from "../../base/types/run.ts";
import type { Call, Trial, Turn } from "../../base/types/trial.ts";

type Denials = NonNullable<SuiteSummary["denials"]>;

/**
 * What models did after their first denied call: a call that was not executed, by the policy or by a host. The reply
 * after it counts; a trial that ended with the denial is not counted.
 */
export class DenialTally {
  #calls = 0;
  #trials = 0;
  #retries = 0;
  readonly #next = { sameCall: 0, otherArguments: 0, otherTool: 0, noCall: 0, ended: 0 };

  add({ turns }: Trial): void {
    const denied = turns.flatMap(({ calls }) => calls.filter(isDenied));
    const [first] = denied;
    if (!first) return;
    this.#calls += denied.length;
    this.#trials++;
    const at = turns.findIndex(({ calls }) => calls.includes(first));
    this.#next[classifyNext(first, turns[at], turns.slice(at + 1))]++;
    const known = new Set<string>();
    for (const { calls } of turns) {
      for (const call of calls) if (known.has(call.tool)) this.#retries++;
      for (const call of calls) if (isDenied(call)) known.add(call.tool);
    }
  }

  /** Undefined if no call was denied. */
  summary(): Denials | undefined {
    if (this.#trials === 0) return undefined;
    return { calls: this.#calls, trials: this.#trials, retries: this.#retries, next: { ...this.#next } };
  }
}

const isDenied = ({ execution }: Call) => execution?.status === "skipped" && execution.denied === true;

/** The calls of the reply after a denial. A reply that only searches for tools is skipped. */
function classifyNext(first: Call, turn: Turn | undefined, later: readonly Turn[]): keyof Denials["next"] {
  const replies = later.filter(({ userTurn }) => userTurn === turn?.userTurn);
  const reply = replies.find(({ calls }) => calls.length === 0 || calls.some(({ role }) => role !== "search"));
  if (!reply) return "ended";
  const key = ({ tool, arguments: args }: Call) => canonicalJson([tool, args ?? null]);
  const calls = reply.calls.filter(({ role }) => role !== "search");
  if (calls.length === 0) return "noCall";
  if (calls.some((call) => key(call) === key(first))) return "sameCall";
  return calls.some(({ tool }) => tool === first.tool) ? "otherArguments" : "otherTool";
}

import { hash } from "node:crypto";
import type { Trial, Turn } from "../types/trial.ts";

/**
 * Recognizes replies that were seen before in a run, by the ids that the provider gave them: a proxy or a cache that
 * answers a second request with an old reply repeats its id. Some servers give all replies one id: an id that comes with
 * another reply is none.
 */
export class SeenReplies {
  readonly #models = new Map<string, { replies: Map<string, string>; hasIds: boolean }>();

  /** Takes in a trial, and returns whether a reply in it was seen before. */
  add({ cell, turns }: Pick<Trial, "cell" | "turns">): boolean {
    const seen = this.#models.get(cell.model) ?? { replies: new Map<string, string>(), hasIds: true };
    this.#models.set(cell.model, seen);
    let isCopy = false;
    for (const turn of turns) {
      if (turn.responseId === undefined) continue;
      const reply = summarise(turn);
      const before = seen.replies.get(turn.responseId);
      if (before === undefined) seen.replies.set(turn.responseId, reply);
      else if (before === reply) isCopy = true;
      else seen.hasIds = false;
    }
    return isCopy && seen.hasIds;
  }
}

function summarise({ text, calls }: Turn): string {
  const said = JSON.stringify([
    text,
    calls.map(({ tool, arguments: args, argumentsText }) => [tool, args, argumentsText]),
  ]);
  return hash("sha256", said, "base64").slice(0, 16);
}

import { hash } from "node:crypto";
import type { Trial, Turn } from "../../base/types/trial.ts";

/**
 * Recognizes replies that were seen before in a run by their provider ids: a proxy or cache that answers a second
 * request with an old reply repeats its id. Some servers give every reply the same id. As soon as one id comes with two
 * different replies, the ids of that model are ignored.
 */
export class SeenReplies {
  readonly #models = new Map<string, { replies: Map<string, string>; hasIds: boolean }>();

  /** Adds a trial. Returns whether one of its replies was seen before. */
  add({ cell, turns }: Pick<Trial, "cell" | "turns">): boolean {
    const seen = this.#models.get(cell.model) ?? { replies: new Map<string, string>(), hasIds: true };
    this.#models.set(cell.model, seen);
    let isCopy = false;
    for (const turn of turns) {
      if (turn.responseId === undefined) continue;
      const reply = hashReply(turn);
      const known = seen.replies.get(turn.responseId);
      if (known === undefined) seen.replies.set(turn.responseId, reply);
      else if (known === reply) isCopy = true;
      else seen.hasIds = false;
    }
    return isCopy && seen.hasIds;
  }
}

function hashReply({ text, calls }: Turn): string {
  const content = JSON.stringify([
    text,
    calls.map(({ tool, arguments: args, argumentsText }) => [tool, args, argumentsText]),
  ]);
  return hash("sha256", content, "base64").slice(0, 16);
}

import { setTimeout as pause } from "node:timers/promises";
import type { Broker } from "./connection.ts";
import { nameAnswers, type Result, resultSchema } from "./messages.ts";

/** An answer on the server. It stays there until it is acknowledged, even if this process is killed. */
export type Answer = { entry: string; result: Result; acknowledge(): Promise<unknown> };

/** The answers to one run. */
export type Answers = {
  /** Creates the stream if it does not exist. Workers answer only runs that have one. */
  create(): Promise<void>;
  /** Resolves when every answer that is on the server now has been delivered. An answer can be delivered twice. */
  catchUp(): Promise<void>;
  /** Stops reading answers. */
  close(): void;
  /** Removes the stream at the end of the run. */
  remove(): Promise<unknown>;
};

/** Number of answers per read. */
const batchSize = 100;
const waitMs = 1_000;

/**
 * Delivers the answers to a run as they arrive. They are entries of a stream that only this process reads: an answer
 * takes one command to write, one to delete, and no lock. After a lost connection all unacknowledged answers are
 * delivered again, because a server that was killed may have lost the last ones and reuse their numbers.
 */
export function openAnswers(broker: Broker, run: string, onAnswer: (answer: Answer) => void): Answers {
  const { redis, connect, reportRefusal } = broker;
  const stream = nameAnswers(run);
  const reader = connect();
  let isOpen = true;
  let from = "0";
  reader.on("ready", () => {
    from = "0";
  });

  const receive = ([entry, fields]: [string, string[]]) => {
    const acknowledge = () => redis.xdel(stream, entry);
    const pairs = fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1]]] : []));
    const { data: result } = resultSchema.safeParse(Object.fromEntries(pairs));
    if (result) onAnswer({ entry, result, acknowledge });
    else acknowledge().catch(() => {});
  };
  const readAll = async () => {
    while (isOpen) {
      try {
        const after = from;
        const read = await reader.xread("COUNT", batchSize, "BLOCK", waitMs, "STREAMS", stream, after);
        const entries = read?.[0]?.[1] ?? [];
        for (const entry of entries) receive(entry);
        if (from === after) from = entries.at(-1)?.[0] ?? after;
      } catch (error) {
        reportRefusal(error);
        await pause(500);
      }
    }
  };
  void readAll();

  return {
    async create() {
      // The consumer group is not used, but only this command creates an empty stream.
      await redis.xgroup("CREATE", stream, "run", "0", "MKSTREAM").catch((error: Error) => {
        if (!error.message.startsWith("BUSYGROUP")) throw error;
      });
    },
    async catchUp() {
      const read = await redis.xread("STREAMS", stream, from);
      for (const entry of read?.[0]?.[1] ?? []) receive(entry);
    },
    close() {
      isOpen = false;
      reader.disconnect();
    },
    remove: () => redis.del(stream),
  };
}

import { describe, expect, it } from "vitest";
import { SeenReplies } from "../../../src/evals/asking/trials/runPlan.ts";
import type { Turn } from "../../../src/evals/base/types/trial.ts";
import { turn } from "../../fakes/model.ts";

const trial = (model: string, ...turns: Turn[]) => ({
  cell: { suite: "s", case: "c", arm: "head", model, trial: 1 },
  turns,
});
const reply = (responseId: string | undefined, text = "") => ({
  ...turn(text, ["read", {}]),
  ...(responseId !== undefined && { responseId }),
});

describe("SeenReplies", () => {
  it("recognizes a repeated reply of the same model in any turn", () => {
    const seen = new SeenReplies();
    const copies = [
      trial("m", reply("a")),
      trial("m", reply("b"), reply("c")),
      trial("m", reply("d"), reply("c")),
      trial("other", reply("a")),
      trial("m", reply("a")),
    ].map((one) => seen.add(one));
    expect(copies).toEqual([false, false, true, false, true]);
  });

  it("ignores ids of a server that reuses one for different replies, and missing ids", () => {
    const seen = new SeenReplies();
    expect(seen.add(trial("m", reply("chatcmpl-0", "one")))).toBe(false);
    expect(seen.add(trial("m", reply("chatcmpl-0", "two")))).toBe(false);
    expect(seen.add(trial("m", reply("chatcmpl-0", "one")))).toBe(false);
    expect([1, 2].map(() => seen.add(trial("n", reply(undefined))))).toEqual([false, false]);
  });
});

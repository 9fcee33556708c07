import type { Prompts } from "../../base/types/io.ts";

/** Asks questions on `output`, which must not be standard output: that is for data. Loads its library on first use. */
export function createPrompts(output: NodeJS.WriteStream): Prompts {
  return {
    async select(message, options) {
      const { isCancel, select } = await import("@clack/prompts");
      const picked = await select({ message, options: [...options], output });
      return isCancel(picked) ? undefined : picked;
    },
  };
}

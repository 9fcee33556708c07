import type { Prompts } from "../types/io.ts";

/** Questions on `output`, which is not standard output: that stays free for data. The library is loaded by the first one. */
export function createPrompts(output: NodeJS.WriteStream): Prompts {
  return {
    async select(message, options) {
      const { isCancel, select } = await import("@clack/prompts");
      const picked = await select({ message, options: [...options], output });
      return isCancel(picked) ? undefined : picked;
    },
    async text(message, example) {
      const { isCancel, text } = await import("@clack/prompts");
      const typed = await text({ message, placeholder: example, output });
      return isCancel(typed) ? undefined : typed;
    },
  };
}

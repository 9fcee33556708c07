import { constants } from "node:os";

/** Errors that Node prints as a number only. */
const unnamed = {
  EDQUOT: "disk quota exceeded",
  ENOLCK: "no locks available",
  ESTALE: "stale file handle",
} as const;

/** The code and the message of an error of the file system; an empty code for any other error. */
export function describeFileError(thrown: unknown): { code: string; message: string } {
  const { code = "", message = String(thrown) } = (thrown ?? {}) as Partial<NodeJS.ErrnoException>;
  const number = Number(/^Unknown system error -(\d+)$/.exec(code)?.[1]);
  for (const [name, meaning] of Object.entries(unnamed))
    if (constants.errno[name as keyof typeof unnamed] === number)
      return {
        code: name,
        message: message.replace(/Unknown system error -\d+(?:: Unknown system error -\d+)?/, `${name}: ${meaning}`),
      };
  return { code, message };
}

import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { describeFileError } from "../../../src/evals/base/files/files.ts";

/** As Node makes it of an error that libuv has no name for. */
function unnamed(number: number, form: (text: string) => string): Error {
  const text = `Unknown system error -${number}`;
  return Object.assign(new Error(form(text)), { code: text, errno: -number });
}

describe("an error of the file system", () => {
  it.each([
    ["EDQUOT", "EDQUOT: disk quota exceeded"],
    ["ENOLCK", "ENOLCK: no locks available"],
    ["ESTALE", "ESTALE: stale file handle"],
  ] as const)("%s is named in words", (code, text) => {
    const number = constants.errno[code];
    const ofFile = unnamed(number, (unknown) => `${unknown}: ${unknown}, write`);
    expect(describeFileError(ofFile)).toEqual({ code, message: `${text}, write` });
    const ofLock = unnamed(number, (unknown) => unknown);
    expect(describeFileError(ofLock)).toEqual({ code, message: text });
  });

  it("that Node names, or that has no code, is as it is", () => {
    const error = Object.assign(new Error("EIO: i/o error, write"), { code: "EIO" });
    expect(describeFileError(error)).toEqual({ code: "EIO", message: "EIO: i/o error, write" });
    expect(describeFileError(new Error("it was removed"))).toEqual({ code: "", message: "it was removed" });
    expect(describeFileError("text")).toEqual({ code: "", message: "text" });
    expect(describeFileError(undefined)).toEqual({ code: "", message: "undefined" });
    const other = unnamed(9_999, (unknown) => unknown);
    expect(describeFileError(other).message).toBe("Unknown system error -9999");
  });
});

import type { Report } from "./report.ts";

/** Exactly one object: the summary itself. What JSON leaves bare and a terminal may obey is escaped, to the same value. */
export const json: Report = {
  name: "json",
  render: ({ summary, pretty = true }) =>
    `${JSON.stringify(summary, null, pretty ? 2 : 0).replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, jsonEscape)}\n`,
};

function jsonEscape(sign: string): string {
  return Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
    "",
  );
}

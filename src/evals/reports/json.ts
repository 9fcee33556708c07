import type { Report } from "./report.ts";

/** Exactly one object: the summary itself. */
export const json: Report = {
  name: "json",
  render: ({ summary, pretty = true }) => safeJson(summary, pretty ? 2 : 0),
};

/** A value as JSON. What JSON leaves bare and a terminal may obey is escaped, to the same value. */
export function safeJson(value: unknown, indent: number): string {
  return `${JSON.stringify(value, null, indent).replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, jsonEscape)}\n`;
}

function jsonEscape(sign: string): string {
  return Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
    "",
  );
}

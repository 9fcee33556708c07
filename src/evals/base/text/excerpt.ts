import { createHash } from "node:crypto";

/**
 * A text for the record: unchanged up to `limit` characters; of a longer one its start, its end, its length and its
 * SHA-256, so that two of them can be compared.
 */
export function excerpt(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const hash = createHash("sha256").update(text).digest("hex");
  const tail = Math.floor(limit / 8);
  return `${text.slice(0, limit - tail)}… [cut: ${text.length} characters in total, SHA-256 ${hash}] …${text.slice(-tail)}`;
}

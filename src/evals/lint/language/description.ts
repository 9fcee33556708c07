import type { JsonObject } from "../../types/json.ts";
import { once } from "../once.ts";
import { isEnglish, plainText, withoutQuotes } from "./english.ts";

/** A tool's description as the rules of wording read it; undefined where it is no text. */
export const plainDescription = once(({ description }: JsonObject) =>
  typeof description === "string" ? plainText(description) : undefined,
);

/** The same without what stands in quotation marks: example queries may say anything. Code in backticks is kept. */
export const unquotedDescription = once((tool: JsonObject) =>
  plainDescription(tool)?.replace(/"[^"\n]{0,200}"/g, '""'),
);

/** What an English description itself says, without quotes and code; undefined for one in another language. */
export const englishDescription = once((tool: JsonObject) => {
  const { description } = tool;
  const text = typeof description === "string" && isEnglish(description) ? plainDescription(tool) : undefined;
  return text === undefined ? undefined : withoutQuotes(text);
});

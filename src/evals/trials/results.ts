import type { Execution } from "../types/trial.ts";

/** A result longer than this is cut before it goes back to the model, so that the ceiling of a plan is a real one. */
export const resultCharacters = 20_000;

/** What a model is told of a call: the result's text, or in plain words why there is none. Nothing is made up. */
export function resultText(execution: Execution): { text: string; isError: boolean } {
  if (execution.status === "skipped") return { text: `This call was not executed: ${execution.reason}`, isError: true };
  const items = execution.result.content.map(
    (item) => item.text ?? `[${item.type}${item.mimeType ? ` ${item.mimeType}` : ""}]`,
  );
  const structured = execution.result.structuredContent;
  const text = items.length === 0 && structured ? JSON.stringify(structured) : items.join("\n");
  const cut =
    text.length > resultCharacters
      ? `${text.slice(0, resultCharacters)}\n[cut: ${text.length} characters in all]`
      : text;
  return { text: cut, isError: execution.result.isError };
}

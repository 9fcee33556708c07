import type { Io } from "../base/types/io.ts";
import { type Blocks, plainText } from "./document.ts";
import { safeJson } from "./escape.ts";
import { renderTerminal } from "./terminal.ts";

/** Prints the result of a command: with `json` as an object, otherwise as the report that these blocks are. */
export function printResult(result: object, blocks: Blocks, json: boolean, io: Io): void {
  if (json) printJson(result, blocks, io);
  else io.out(renderTerminal(blocks, io));
}

/** Prints a result as JSON, with the headline and next step of its report; a caller (library, command line) gets it. */
export function printJson(result: object, blocks: Blocks, io: Io): void {
  const whole = { ...findLead(blocks), ...result };
  if (io.result) io.result(whole);
  else io.out(safeJson(whole, 2));
}

function findLead(blocks: Blocks): { headline?: string; next?: string } {
  const heading = blocks.find((block) => block.kind === "heading");
  const lines = blocks.flatMap((block) => (block.kind === "text" ? block.lines.map(plainText) : []));
  const next = lines.find((line) => line.startsWith("Next: "))?.slice("Next: ".length);
  return { ...(heading && { headline: plainText(heading.text) }), ...(next !== undefined && { next }) };
}

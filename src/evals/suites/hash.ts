import { createHash } from "node:crypto";
import { canonicalJson, type Json } from "../types/json.ts";
import type { Case, Suite } from "../types/suite.ts";

/** SHA-256 (hex) of all that decides whether a trial of the case passes; not its id, its place, or how often it is tried. */
export function caseHash({
  messages,
  expect,
  expectedBehavior,
  tools,
  files,
  packageHash,
  maxTurns,
}: Omit<Case, "hash">): string {
  return sha256({ messages, expect, expectedBehavior, tools, files, packageHash, maxTurns });
}

/** SHA-256 (hex) of all that decides what trials of the suite mean: its servers, how it runs, and its cases in order. */
export function suiteHash({ name, server, distractors, execute, isolate, lift, cases }: Omit<Suite, "hash">): string {
  return sha256({ name, server, distractors, execute, isolate, lift, cases: cases.map(({ hash }) => hash) });
}

function sha256(value: object): string {
  const plain = JSON.parse(JSON.stringify(value)) as Json;
  return createHash("sha256").update(canonicalJson(plain)).digest("hex");
}

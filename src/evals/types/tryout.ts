import type { Cost } from "./trial.ts";

/** Of one tool: how often it was wanted, how often it was picked, and how often both. */
export type ToolPicks = { tool: string; wanted: number; picked: number; right: number };

/** Two tools of which one was picked for the other `n` times, and the words that their texts share. */
export type WorstPair = { wanted: string; picked: string; n: number; shared: readonly string[] };

type Picked = { passed: number; trials: number };

/** The result of `evals try`. A query is right when its tool is picked, whatever its arguments are. */
export type TryResult = {
  server: string;
  model: string;
  /** How the model's figures must be read. */
  note?: string | undefined;
  tools: number;
  /** Tokens of the tool list in a request, about four bytes each. */
  listTokens: number;
  /** The model that wrote the queries, with the hash of what it was asked; absent where they are the tools' own words. */
  writer?: { model: string; prompt: string } | undefined;
  queries: number;
  dropped: readonly { input: string; why: string }[];
  /** Tools that no query was written for. */
  left: readonly string[];
  right: Picked;
  /** Of the queries that need no tool, those in which none was called. */
  quiet: Picked;
  broken: number;
  perTool: readonly ToolPicks[];
  confusions: readonly { expected: string; picked: string; n: number }[];
  worst: readonly WorstPair[];
  costUsd: Cost;
  suite: string;
  run: string;
  exitCode: number;
};

import { createHash } from "node:crypto";
import { labelCase } from "../../asking/scoring/labels.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { getOrAdd } from "../../base/collections.ts";
import { redactValue } from "../../base/secrets/secrets.ts";
import { cut, listJsonObjects } from "../../base/text/text.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type Json } from "../../base/types/json.ts";
import type { AskedModel } from "../../base/types/model.ts";
import { getMessages } from "../../base/types/suite.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import { type Variant, variantSchema } from "../../servers/overlay.ts";
import { Counter } from "../results/tally.ts";
import { findScreened, incumbentArm, type VariantFigures } from "../variants/verdict.ts";
import type { NamedVariant } from "./proposals.ts";
import type { Proposal, ProposalRound } from "./verdict.ts";

/** What the train cases brought with the current wording: how often each tool was picked in a case. */
export class Picks {
  readonly #cases = new Map<string, Counter>();

  add({ cell, verdict }: Trial): void {
    if (cell.arm !== incumbentArm || !verdict) return;
    const name = verdict.selection === "unknown-tool" ? `${verdict.picked} (no such tool)` : verdict.picked;
    getOrAdd(this.#cases, cell.case, () => new Counter()).add(name);
  }

  of(id: string): [tool: string, n: number][] {
    return this.#cases.get(id)?.ranked() ?? [];
  }
}

/** What a writer sees. `room`: train cases that the current wording fails at times; no held-out case is among them. */
export type Evidence = {
  room: readonly PlannedCase[];
  picks: Picks;
  findings: readonly string[];
  before: readonly { screening: VariantFigures["screening"]; proposals: readonly Proposal[] }[];
  wanted: number;
};

const instructions = `You improve how a language model chooses among tools. It only sees their names, descriptions and parameters. Below are
its tools, and requests after which it chose wrongly. Write other wordings, so that it chooses rightly, also after requests
that you do not see.

- Say what a tool does and when to use it, in the words of people who ask for it, and what sets it apart from similar tools.
- A name is part of the wording. If the model called a tool that does not exist, its name may be the better one.
- Keep what is true: invent no ability, parameter, value or limit. Do not mention a tool that is not listed.
- Be short: at most twice the text of now. Give the model no orders, and do not promise anything about other tools.
- Make the wordings differ in kind, not in a word.

Answer with JSON alone, an array of exactly as many wordings as are asked for. Each names only the tools that it changes:
[{"<tool>": {"description": "...", "name": "<optional new name>", "parameters": {"<parameter>": "<description>"}}}]`;

/** Identifies the instructions for the writer in records. */
export const promptHash = createHash("sha256").update(instructions).digest("hex");

const shortened = 600;

function describeEvidence({ room, picks, findings, before, wanted }: Evidence): string {
  const tools = new Map(room.flatMap(({ toolset }) => toolset.tools.map((tool) => [tool.name, tool])));
  const tried = before.flatMap(({ screening, proposals }) =>
    proposals.map(({ name, variant, refused }) => {
      const rate = findScreened(screening, name)?.rate;
      const result = refused ?? (rate === undefined ? "not asked" : `${Math.round(100 * rate)} % right`);
      return `${result}: ${cut(JSON.stringify(variant), shortened)}`;
    }),
  );
  return [
    "# Tools",
    ...[...tools.values()].map(describeTool),
    "# Requests, and what was chosen",
    ...room.map((planned) => {
      const chosen = picks.of(planned.case.id).map(([tool, n]) => `${tool} ${n} times`);
      const said = getMessages(planned.case, 1).at(-1)?.content ?? "";
      return `${JSON.stringify(cut(said, shortened))}: right is ${labelCase(planned.case)}; chosen ${chosen.join(", ")}`;
    }),
    ...(findings.length > 0 ? ["# What a linter says of the current wording", ...findings] : []),
    ...(tried.length > 0 ? ["# Wordings that were tried on these requests, best last", ...tried] : []),
    `Write ${wanted} wordings.`,
  ].join("\n");
}

function describeTool({ name, description = "", inputSchema, origin }: OfferedTool): string {
  const schema = origin === "instructions" ? "" : ` ${cut(JSON.stringify(inputSchema.properties ?? {}), shortened)}`;
  return `- ${name}: ${JSON.stringify(cut(description, 2 * shortened))}${schema}`;
}

/** Asks a model for wordings, named by round and number; `problem` says why there are none, or too few. */
export async function askWriter(
  writer: AskedModel,
  round: number,
  evidence: Evidence,
  io: Io,
): Promise<Pick<ProposalRound, "costUsd" | "problem"> & { found: NamedVariant[] }> {
  const cell = { suite: "improve", case: `round ${round}`, arm: "writer", model: writer.id, trial: 1 };
  const messages = redactValue(
    [
      { role: "system" as const, content: instructions },
      { role: "user" as const, content: describeEvidence(evidence) },
    ],
    io,
  );
  const reply = await writer.ask({ cell, turn: 1, messages, tools: [], toolset: "" }, io.signal);
  if (reply.kind === "broken")
    return { found: [], costUsd: 0, problem: `The writer did not answer: ${reply.message}.` };
  const found = readReply(reply.turn.text)
    .slice(0, evidence.wanted)
    .map((variant, at) => ({ name: `wording-${round}.${at + 1}`, variant }));
  const given = found.length === 0 ? "no wording" : `only ${found.length} of ${evidence.wanted} wordings`;
  const isShort = found.length < evidence.wanted && {
    problem: `The writer's answer has ${given} in the form that was asked for.`,
  };
  return { found, costUsd: writer.cost(reply.turn.usage), ...isShort };
}

/** The wordings in a reply: an array of them, or one, under any key around them. What has another form is left out. */
export const readReply = (reply: string): Variant[] => listJsonObjects(reply).flatMap(collect);

function collect(value: Json): Variant[] {
  if (Array.isArray(value)) return value.flatMap(collect);
  if (!isJsonObject(value)) return [];
  const { variants, wordings = variants, proposals = wordings, tools } = value;
  if (Array.isArray(proposals)) return collect(proposals);
  if (isJsonObject(proposals)) return Object.values(proposals).flatMap(collect);
  const parsed = variantSchema.safeParse(isJsonObject(tools) ? tools : value);
  return parsed.success && Object.keys(parsed.data).length > 0 ? [parsed.data] : [];
}

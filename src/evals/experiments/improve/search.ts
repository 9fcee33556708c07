import { join } from "node:path";
import * as z from "zod";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { replaceFile } from "../../base/files/files.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import type { Io } from "../../base/types/io.ts";
import type { AskedModel } from "../../base/types/model.ts";
import { readText } from "../../input/parsing/read.ts";
import type { ExperimentWorkspace, PlayDesign } from "../pipeline/experiment.ts";
import type { DesignResult } from "../pipeline/pipeline.ts";
import { type Overlaid, overlay } from "../variants/ask.ts";
import { improveLoop, type LoopSetup, type LoopVerdict } from "./design.ts";
import { createGate, type LintTools, type NamedVariant } from "./proposals.ts";
import { askWriter, Picks } from "./propose.ts";
import { type ProposalRound, proposalRoundSchema } from "./verdict.ts";

/** Everything that the search needs. `wordings`: takes the proposals that may be asked, by the name of their arm. */
type SearchParts = {
  setup: LoopSetup;
  cases: ReadonlyMap<string, PlannedCase>;
  fixed: readonly NamedVariant[];
  wanted: number;
  workspace: ExperimentWorkspace;
  writer: AskedModel | undefined;
  lint: LintTools;
  wordings: Map<string, Overlaid>;
};

/** Runs the loop on a record. Proposals are written there before they are asked. `picks`: the caller adds trials. */
export function createSearch({ setup, cases, fixed, wanted, workspace, writer, lint, wordings }: SearchParts, io: Io) {
  const rounds: ProposalRound[] = [];
  const picks = new Picks();

  async function makeRound(
    round: number,
    room: readonly string[],
    found: LoopVerdict["rounds"],
    gate: ReturnType<typeof createGate>,
  ): Promise<ProposalRound> {
    const check = (by: string) => (one: NamedVariant) => ({ ...one, by, refused: gate(one) });
    const given = round === 1 ? fixed.map(check("file")) : [];
    if (!writer) return { proposals: given, costUsd: 0 };
    const planned = room.flatMap((id) => cases.get(id) ?? []);
    const tools = planned[0]?.toolset.tools ?? [];
    const written = await askWriter(
      workspace.context.limits.guard(writer),
      round,
      {
        room: planned,
        picks,
        wanted,
        findings: lint(tools, undefined).map(({ tool = "", message }) => `${tool}: ${message}`),
        before: rounds.map(({ proposals }, at) => ({ proposals, screening: found[at] ?? [] })),
      },
      io,
    );
    const { costUsd, problem } = written;
    const proposals = [...given, ...written.found.map(check(writer.id))];
    return { proposals, costUsd, ...(problem !== undefined && { problem }) };
  }

  async function run(play: PlayDesign, dir: string): Promise<DesignResult<LoopVerdict>> {
    const file = join(dir, "proposals.json");
    // Only a record that is resumed has rounds.
    const read = readText(file, maxRoundsBytes);
    const recorded = "kind" in read ? [] : z.array(proposalRoundSchema).parse(JSON.parse(read.text));
    for (const { costUsd } of recorded) if (costUsd !== "unknown") workspace.context.limits.addSpent(costUsd);
    const gate = createGate([...cases.values()], lint, io);
    let stopped: DesignResult<LoopVerdict> = { kind: "stopped", end: "cancelled" };
    const loop = await improveLoop(
      setup,
      async (design) => {
        const result = await play(design);
        if (result.kind === "decided") return result.verdict;
        stopped = result;
        return undefined;
      },
      async (round, { room, rounds: found }) => {
        const kept = recorded[round - 1];
        const made = kept ?? (await makeRound(round, room, found, gate));
        if (io.signal.aborted && !kept) return undefined;
        rounds.push(made);
        const text = `${JSON.stringify(rounds, null, 2)}\n`;
        if (!kept) await replaceFile(file, knownSecrets(io.env).redact(text));
        const accepted = made.proposals.filter(({ refused }) => refused === null);
        for (const { name, variant } of accepted) wordings.set(name, overlay(name, variant));
        return accepted.map(({ name }) => name);
      },
    );
    return loop ? { kind: "decided", end: "complete", verdict: loop } : stopped;
  }

  return { rounds, picks, run };
}

const maxRoundsBytes = 64 * 1024 * 1024;

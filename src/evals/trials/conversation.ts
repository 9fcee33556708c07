import { listLoadedSkills } from "../scoring/activity.ts";
import type { AskedModel, HostedTrial } from "../types/model.ts";
import { type SkillPackage, skillEntryName } from "../types/skill.ts";
import type { Case } from "../types/suite.ts";
import type { OfferedTool } from "../types/tool.ts";
import type { Call } from "../types/trial.ts";
import { offerSkills } from "./catalogue.ts";
import type { Conversation } from "./converse.ts";
import type { Executor } from "./execute.ts";
import { libraryOf, type SkillShelf } from "./library.ts";
import { orderTools, type PlannedCell } from "./plan.ts";
import type { TrialContext } from "./runTrial.ts";

/** What a model is asked in one cell, turn by turn: the case, the tools and the skills, in the order of the trial. */
export function conversationOf(
  place: PlannedCell & { model: AskedModel },
  context: Pick<TrialContext, "show" | "skills">,
  executor: Executor,
): Conversation {
  const { cell, orderSeed, model, planned } = place;
  const { case: one, toolset } = planned;
  const skills = context.skills(place);
  const { tools, listedName } = context.show(place);
  const files = one.files ?? [];
  const readable = measuresBehaviour(one);
  const entries = orderTools(toolset.tools.filter(isSkill), orderSeed);
  const offer = offerSkills(entries, skills?.form ?? "skill-tool", { files: files.map(({ path }) => path), readable });
  const library = libraryOf(skills ?? noSkills, new Set(offer.catalogue?.map(({ name }) => name)), files, readable);
  return {
    cell,
    model,
    messages: withPrompt(one.messages, offer.prompt),
    tools: [...orderTools(tools, orderSeed), ...offer.tools],
    toolset: toolset.hash,
    ...(offer.catalogue && { catalogue: offer.catalogue }),
    listedName,
    maxTurns: one.maxTurns,
    executor: {
      execute: async (call, signal) => (await library.execute(call)) ?? (await executor.execute(call, signal)),
    },
    decided: deciderOf(one),
  };
}

/** The same for a host that keeps the conversation itself. */
export function hostedTrial(
  { cell, orderSeed, planned }: PlannedCell,
  skills: SkillShelf | undefined,
  executor: Executor,
): HostedTrial {
  const { case: one, toolset } = planned;
  const offered = orderTools(toolset.tools, orderSeed);
  return {
    cell,
    messages: one.messages,
    tools: offered.filter((tool) => !isSkill(tool)),
    skills: offered.filter(isSkill).map((entry) => packageOf(entry, skills?.packages)),
    files: one.files ?? [],
    maxTurns: one.maxTurns,
    execute: executor.execute,
  };
}

const noSkills: Pick<SkillShelf, "packages" | "read"> = {
  packages: new Map(),
  read: async (_, path) => ({ problem: `There is no file ${path}` }),
};

const isSkill = ({ origin }: OfferedTool) => origin === "skill";

/** Sentences of expected behaviour are about what comes after a skill was loaded; without any, loading it is all. */
const measuresBehaviour = ({ expectedBehavior }: Case) => expectedBehavior.length > 0;

/** The package of an entry under the wording of the arm. One that is gone by now still has its front matter. */
function packageOf(
  { name, description = "" }: OfferedTool,
  packages: SkillShelf["packages"] = new Map(),
): SkillPackage {
  const skill = name.slice(skillEntryName("").length);
  const known = packages.get(skill);
  if (known) return { ...known, description };
  const document = { frontMatter: {}, places: {}, body: "", bodyLine: 1, steps: [], never: [], references: [] };
  return { name: skill, folder: skill, description, dir: "", file: "", level: "named", document, hash: "" };
}

function withPrompt(messages: Case["messages"], prompt: string): Case["messages"] {
  if (prompt === "") return messages;
  const [first, ...others] = messages;
  if (first?.role !== "system") return [{ role: "system", content: prompt }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${prompt}` }, ...others];
}

/**
 * A trigger trial is over once the skill that it is about was loaded, for nothing after that changes the verdict. It goes
 * on past any other call: stopping at the first one would miss a skill that is loaded after a look around.
 */
function deciderOf(one: Case): (calls: readonly Call[]) => boolean {
  const { expect } = one;
  if (measuresBehaviour(one)) return () => false;
  if (expect?.kind === "skill" && expect.avoid.length === 0) {
    return (calls) => {
      const loaded = listLoadedSkills(calls);
      return expect.skill === "none" ? loaded.length > 0 : loaded.includes(expect.skill);
    };
  }
  const avoided = expect?.kind === "avoid" ? expect.avoid : [];
  return (calls) => listLoadedSkills(calls).some((skill) => avoided.includes(skillEntryName(skill)));
}

import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { nameProgram } from "../../base/files/files.ts";
import { measureSimilarity, toToolText, weighWords } from "../../base/search/similarity.ts";
import { holdsSecret } from "../../base/secrets/secrets.ts";
import { shellWord } from "../../base/text/display.ts";
import { splitName } from "../../base/text/nearest.ts";
import { mentionsName } from "../../base/text/text.ts";
import { usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { SkillPackage } from "../../base/types/skill.ts";
import { discoverSkills } from "../../input/skills/discover.ts";
import { heading, text } from "../../reports/document.ts";
import { count } from "../../reports/format.ts";
import { splitSentences, startsWithVerb } from "../lint/language.ts";
import { runRules } from "../lint/rule.ts";
import { rules } from "../lint/rules/index.ts";
import { collectSkills } from "../lint/skills.ts";
import type { SkillsTarget } from "../targets.ts";
import { type ConfusedTools, type DraftCase, makeRequest } from "./draft.ts";
import { type Drafted, listFindings, listMixedUp } from "./report.ts";
import { Drafts } from "./suite.ts";

const maxPositives = 3;
const maxSteps = 3;
/** Fewer say little, and lint warns of them. */
const minQueries = 5;

/** The eval file of a skill, as a message names it. */
export const locateEvals = ({ file }: SkillPackage) => join(dirname(file), "evals/evals.json");

/** Drafts `evals/evals.json` of each skill that has none, and describes the skills. Throws EvalsError. */
export async function initSkills(target: SkillsTarget, io: Io): Promise<Drafted> {
  const { dir, only } = target;
  const found = await discoverSkills([{ dir: resolve(io.cwd, dir), level: "named" }], { cwd: io.cwd });
  const skills = found.skills.filter(({ folder }) => only?.includes(folder) ?? true);
  if (skills.length === 0)
    throw usageError(`There is no skill package in "${dir}".`, "A skill package is a folder with a SKILL.md.");
  const { subjects } = await collectSkills(target, { io, settings: [] });
  const drafted = skills.filter((skill) => !existsSync(resolve(io.cwd, locateEvals(skill))));
  const kept = skills.length - drafted.length;
  let queries = 0;
  for (const skill of drafted) {
    const cases = draftSkillCases(skill, found.skills).filter(({ input }) => !holdsSecret(input, io));
    queries += cases.length;
    await new Drafts(locateEvals(skill), io).add(cases);
  }
  const shown = relative(io.cwd, resolve(io.cwd, dir)) || ".";
  const lint = `${nameProgram(io)} lint ${shellWord(shown)}`;
  return {
    path: shown,
    cases: queries,
    listTokens: Math.round(JSON.stringify(skills.map(({ name, description }) => [name, description])).length / 4),
    blocks: [
      heading(1, `${count(skills.length, "skill")} · ${shown}`),
      ...listMixedUp(skills, lint),
      ...listFindings(runRules(subjects ?? [], rules).findings, lint),
      text(
        drafted.length > 0
          ? `Drafted evals/evals.json of ${count(drafted.length, "skill")}: ${count(queries, "query")}, among them near misses, for which the skill must not load. They are guesses, and no model was asked. Review them with \`evals queries ${shellWord(shown)}\`.`
          : undefined,
        kept > 0 ? `Kept the queries of ${count(kept, "skill")}.` : undefined,
      ),
    ],
  };
}

/** Queries for the skill, and near misses: of skills mistaken for it, of similar ones, and what sounds like it. */
export function draftSkillCases(skill: SkillPackage, all: readonly SkillPackage[], confused: ConfusedTools[] = []) {
  const own = listRequests(skill);
  const weights = weighWords(all.map(toToolText));
  const [mine] = weights.slice(all.indexOf(skill));
  const similarity = (at: number) => (mine && weights[at] ? measureSimilarity(mine, weights[at]) : 0);
  const mistakes = ({ name }: SkillPackage) =>
    Number(confused.some(({ tool, avoid }) => tool === name && avoid === skill.name));
  const near = { avoid: { tool: skill.name, shared: [] } };
  const others = [...all.entries()]
    .filter(([, other]) => other !== skill)
    .sort(([a, one], [b, other]) => mistakes(other) - mistakes(one) || similarity(b) - similarity(a))
    .map(([, other]) => ({ input: listRequests(other)[0] ?? "", tool: other.name, ...near }))
    .filter(({ input }) => input !== "" && !own.includes(input));
  const words = splitName(skill.folder).join(" ");
  const misses = [
    ...others.slice(0, 2),
    { input: `Who invented ${words}?` },
    { input: `What is another word for ${words}?` },
    { input: "What is 17 plus 25?" },
    { input: "Thanks, that is all for today" },
  ].slice(0, Math.max(3, minQueries - own.length));
  const steps = skill.document.steps.slice(0, maxSteps).map(({ text }) => text);
  return [...own.map((input) => ({ input, tool: skill.name })), ...misses].map((one, at): DraftCase => {
    const id = at < own.length ? `${skill.folder}-${at + 1}` : `${skill.folder}-near-miss-${at + 1 - own.length}`;
    return { ...one, id, skill: skill.name, steps, unfilled: [] };
  });
}

/** What users ask for, in "Use when the user asks for X, or wants to Y". */
const occasion =
  /\b(?:user|users|you|someone|asked) *(?:asks?|wants?|needs?|requests?)? *(?:you )?(?:for|to|about|an?|the) ([^.;:()"]{4,200})/gi;

/** The rest of "asks for a changelog, or says ...". */
const ofUser = /^(?:says?|asks?|wants?|needs?|mentions?|types?|pastes?|uploads?)\b/i;

/** Requests in the words of a description: what it says the skill does, when to use it, and what it quotes. */
function listRequests({ name, folder, description }: SkillPackage): string[] {
  const sentences = splitSentences(description).slice(0, 10);
  const quoted = [...description.matchAll(/"([^"\n]{8,80})"/g)].map(([, phrase = ""]) => phrase);
  const occasions = [...description.matchAll(occasion)]
    .flatMap(([, what = ""]) => what.split(/,? or |, /))
    .map((what) => what.trim())
    .filter((what) => what.length > 3 && !ofUser.test(what));
  const requests = [
    ...quoted,
    ...occasions.map((what) =>
      startsWithVerb(splitName(what.split(" ")[0] ?? "")) ? `Please ${what}` : `I need ${what}`,
    ),
    ...sentences.slice(0, 1).map((sentence) => makeRequest({ name: folder, description: sentence })),
    `Can you help me with ${splitName(folder).join(" ")}?`,
  ];
  return [...new Set(requests)].filter((request) => !mentionsName(request.toLowerCase(), name)).slice(0, maxPositives);
}

import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { measureSimilarity, toToolText, weighWords } from "../../base/search/similarity.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { mentionsName } from "../../base/text/text.ts";
import { usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { SkillPackage } from "../../base/types/skill.ts";
import { writeOutput } from "../../experiments/workspace/writeOutput.ts";
import { discoverSkills } from "../../input/skills/discover.ts";
import { heading, text } from "../../reports/document.ts";
import { count, some } from "../../reports/format.ts";
import { splitSentences, startsWithVerb } from "../lint/language.ts";
import { lint } from "../lint/lint.ts";
import { rules } from "../lint/rules/index.ts";
import { collectSkills } from "../lint/skills.ts";
import { splitName } from "../lint/text.ts";
import { shellWord } from "../shell.ts";
import type { SkillsTarget } from "../targets.ts";
import { makeRequest } from "./draft.ts";
import { type Drafted, listFindings, listMixedUp } from "./report.ts";

/** A query of an eval file. */
type Query = { input: string; should_trigger: boolean };

const maxPositives = 3;
/** Fewer say little, and lint warns of them. */
const minQueries = 5;
const evalFile = "evals/evals.json";

/**
 * Drafts `evals/evals.json` of each skill in a folder that has none, and describes the skills. Throws EvalsError for a folder without a skill.
 */
export async function initSkills(target: SkillsTarget, io: Io): Promise<Drafted> {
  const { dir, only } = target;
  const found = await discoverSkills([{ dir: resolve(io.cwd, dir), level: "named" }], { cwd: io.cwd });
  const skills = found.skills.filter(({ folder }) => only?.includes(folder) ?? true);
  if (skills.length === 0)
    throw usageError(`There is no skill package in "${dir}".`, "A skill package is a folder with a SKILL.md.");
  const { subjects } = await collectSkills(target, { io, settings: [] });
  const kept = skills.filter((skill) => existsSync(join(skill.dir, evalFile)));
  const drafted = skills.filter((skill) => !kept.includes(skill));
  const isUsable = (line: string) => knownSecrets(io.env).redact(line) === line;
  let queries = 0;
  for (const skill of drafted) {
    const evals = draftQueries(skill, found.skills).filter(({ input }) => isUsable(input));
    queries += evals.length;
    await writeOutput(join(skill.dir, evalFile), `${JSON.stringify({ evals }, null, 2)}\n`, io, { flag: "wx" });
  }
  const shown = relative(io.cwd, resolve(io.cwd, dir)) || ".";
  const files = drafted.map(({ file }) => join(dirname(file), evalFile));
  return {
    path: shown,
    cases: queries,
    listTokens: Math.round(JSON.stringify(skills.map(({ name, description }) => [name, description])).length / 4),
    blocks: [
      heading(1, `${count(skills.length, "skill")} · ${shown}`),
      ...listMixedUp(skills),
      ...listFindings(lint(subjects ?? [], rules).findings, `evals lint ${shellWord(shown)}`),
      text(
        files.length > 0
          ? `Drafted ${some(files, 3)}: ${count(queries, "query")}, for some of which the skill must load. They are guesses, and no model was asked.`
          : undefined,
        kept.length > 0
          ? `Kept the queries of ${some(
              kept.map(({ name }) => name),
              5,
            )}.`
          : undefined,
      ),
    ],
  };
}

/** Queries that the skill is for, and near misses: those of the most similar skills, and what only sounds like it. */
export function draftQueries(skill: SkillPackage, all: readonly SkillPackage[]): Query[] {
  const own = listRequests(skill);
  const weights = weighWords(all.map(toToolText));
  const [mine] = weights.slice(all.indexOf(skill));
  const similarity = (at: number) => (mine && weights[at] ? measureSimilarity(mine, weights[at]) : 0);
  const others = [...all.entries()]
    .filter(([, other]) => other !== skill)
    .sort(([a], [b]) => similarity(b) - similarity(a))
    .flatMap(([, other]) => listRequests(other).slice(0, 1))
    .filter((input) => !own.includes(input));
  const words = splitName(skill.folder).join(" ");
  const misses = [
    ...others.slice(0, 2),
    `Who invented ${words}?`,
    `What is another word for ${words}?`,
    "What is 17 plus 25?",
  ];
  const label = (inputs: readonly string[], should_trigger: boolean) =>
    inputs.map((input) => ({ input, should_trigger }));
  return [...label(own, true), ...label(misses.slice(0, Math.max(3, minQueries - own.length)), false)];
}

const occasion =
  /\bwhen(?:ever)? (?:the |a )?(?:user|users|you|someone|somebody|asked) *(?:asks?|wants?|needs?|says?|requests?|mentions?)? *(?:you )?(?:for|to|about)? ([^.;:()]{4,200})/gi;

/** Requests in the words of a description: what it says the skill does, when to use it, and what it quotes. */
function listRequests({ name, folder, description }: SkillPackage): string[] {
  const sentences = splitSentences(description).slice(0, 10);
  const quoted = [...description.matchAll(/"([^"\n]{8,80})"/g)].map(([, phrase = ""]) => phrase);
  const occasions = [...description.matchAll(occasion)]
    .flatMap(([, what = ""]) => what.split(/,? or |, /))
    .map((what) => what.trim())
    .filter((what) => what.length > 3 && !what.includes('"'));
  const requests = [
    ...quoted,
    ...occasions.map((what) =>
      startsWithVerb(splitName(what.split(" ")[0] ?? "")) ? `Please ${what}` : `I need ${what}`,
    ),
    ...sentences.slice(0, 1).map((sentence) => makeRequest({ name: folder, description: sentence })),
  ];
  return [...new Set(requests)].filter((request) => !mentionsName(request.toLowerCase(), name)).slice(0, maxPositives);
}

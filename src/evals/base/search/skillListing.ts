/**
 * How a host shortens its list of skills. `budget`: the maximum characters of the user's skills in the list. `markup`:
 * the characters of a line besides the name; a description adds a separator. `name only`: lists all names, and adds
 * descriptions in the order of names while they fit. `cut`: cuts all descriptions to the same length.
 */
type ListingRule = { version: string; budget: number; markup: number; shortens: "name only" | "cut" };

/**
 * The hosts that shorten the list of skills, measured on their requests with 100 and 300 skills (November 2026). Claude
 * Code has 30,000 characters, of which its own skills take about 6,000. Codex has 2% of the model's context, and
 * includes the path of each skill. The markup of Copilot is estimated from the number of descriptions. Gemini CLI,
 * goose and opencode show every description in full.
 */
export const skillListings = {
  "claude-code": { version: "2.1.330", budget: 23_950, markup: "- \n".length, shortens: "name only" },
  codex: { version: "0.169.0", budget: 22_249, markup: "-  (file: r0//SKILL.md)\n".length, shortens: "cut" },
  copilot: { version: "1.0.102", budget: 15_900, markup: 20, shortens: "name only" },
} as const satisfies Record<string, ListingRule>;

export type ListingHost = keyof typeof skillListings;

export const listingHosts = Object.keys(skillListings) as readonly ListingHost[];

/** A skill as a host lists it: with its whole description, with the start of it, or by name only. */
export type ListedSkill = { name: string; description: string; shown: "whole" | "cut" | "name only" };

type Skill = { name: string; description: string };

const separator = ": ";

/** Lists the skills as a host does, sorted by name. */
export function listSkills(skills: readonly Skill[], host: ListingHost): ListedSkill[] {
  const sorted = [...skills].sort((a, b) => (a.name < b.name ? -1 : 1));
  const rule = skillListings[host];
  return rule.shortens === "cut" ? cutEvenly(sorted, rule) : dropDescriptions(sorted, rule);
}

function dropDescriptions(skills: readonly Skill[], { budget, markup }: ListingRule): ListedSkill[] {
  let left = skills.reduce((rest, { name }) => rest - name.length - markup, budget);
  return skills.map(({ name, description }) => {
    const needed = separator.length + description.length;
    if (needed > left) return { name, description: "", shown: "name only" };
    left -= needed;
    return { name, description, shown: "whole" };
  });
}

function cutEvenly(skills: readonly Skill[], { budget, markup }: ListingRule): ListedSkill[] {
  const overhead = skills.reduce((sum, { name }) => sum + 2 * name.length + markup + separator.length, 0);
  const lengths = skills.map(({ description }) => description.length);
  const room = findEvenLength(lengths, budget - overhead);
  return skills.map(({ name, description }) => {
    const shown = description.length <= room ? "whole" : room === 0 ? "name only" : "cut";
    return { name, description: description.slice(0, room), shown };
  });
}

/** The maximum length to which texts of these lengths can be cut so that together they fit into `budget`. */
function findEvenLength(lengths: readonly number[], budget: number): number {
  let left = budget;
  for (const [at, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const even = Math.floor(left / (lengths.length - at));
    if (length > even) return Math.max(0, even);
    left -= length;
  }
  return Number.MAX_SAFE_INTEGER;
}

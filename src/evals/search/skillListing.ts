/** How a host shortens its list of skills. `budget`: the characters that the list of the user's skills may have. */
type ListingRule = {
  /** The version whose requests were captured. */
  version: string;
  budget: number;
  /** `name only`: skills past the budget, in the order of names, lose their descriptions. `cut`: all are cut evenly. */
  shortens: "name only" | "cut";
};

/**
 * The hosts that shorten the list of skills that they show to the model, from their requests with 100 skills (November
 * 2026). Claude Code has 30,000 characters, of which its own skills take about 6,000; Codex has 2% of the model's context.
 * Gemini CLI, goose and opencode show every description in full.
 */
export const skillListings = {
  "claude-code": { version: "2.1.330", budget: 24_000, shortens: "name only" },
  codex: { version: "0.169.0", budget: 22_249, shortens: "cut" },
  copilot: { version: "1.0.102", budget: 15_900, shortens: "name only" },
} as const satisfies Record<string, ListingRule>;

export type ListingHost = keyof typeof skillListings;

export const listingHosts = Object.keys(skillListings) as readonly ListingHost[];

/** A skill as a host lists it: with its whole description, with a part of it, or with its name only. */
export type ListedSkill = { name: string; description: string; shown: "whole" | "cut" | "name only" };

type Skill = { name: string; description: string };

/** Characters of a line around name and description: `- name: description`. */
const markup = "- : \n".length;
/** The path of a skill in Codex's list, `(file: r0/name/SKILL.md)`, without the name. */
const pathMarkup = " (file: r0//SKILL.md)".length;

/** The skills as a host lists them, in the order of names. */
export function listSkills(skills: readonly Skill[], host: ListingHost): ListedSkill[] {
  const sorted = [...skills].sort((a, b) => (a.name < b.name ? -1 : 1));
  const { budget, shortens } = skillListings[host];
  return shortens === "cut" ? cutEvenly(sorted, budget) : dropDescriptions(sorted, budget);
}

function dropDescriptions(skills: readonly Skill[], budget: number): ListedSkill[] {
  let used = 0;
  return skills.map(({ name, description }) => {
    used += name.length + description.length + markup;
    return used <= budget ? { name, description, shown: "whole" } : { name, description: "", shown: "name only" };
  });
}

function cutEvenly(skills: readonly Skill[], budget: number): ListedSkill[] {
  const overhead = skills.reduce((sum, { name }) => sum + 2 * name.length + markup + pathMarkup, 0);
  const room = findEvenLength(
    skills.map(({ description }) => description.length),
    budget - overhead,
  );
  return skills.map(({ name, description }) => {
    const isWhole = description.length <= room;
    return {
      name,
      description: description.slice(0, room),
      shown: isWhole ? "whole" : room === 0 ? "name only" : "cut",
    };
  });
}

/** The longest length to which texts of these lengths can be cut such that together they have at most `budget`. */
function findEvenLength(lengths: readonly number[], budget: number): number {
  let left = budget;
  for (const [at, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const even = Math.floor(left / (lengths.length - at));
    if (length > even) return Math.max(0, even);
    left -= length;
  }
  return Number.MAX_SAFE_INTEGER;
}

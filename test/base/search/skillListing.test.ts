import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listingHosts, listSkills, skillListings } from "../../../src/evals/base/search/skillListing.ts";

/** What the captures had: 100 skills with descriptions of about 530 characters. */
const hundred = Array.from({ length: 100 }, (_, at) => ({
  name: `skill-${String(at).padStart(3, "0")}`,
  description: "d".repeat(530),
}));
const count = (host: (typeof listingHosts)[number]) => {
  const shown = listSkills(hundred, host).map((skill) => skill.shown);
  return [shown.filter((one) => one === "whole").length, shown.filter((one) => one === "cut").length];
};

it("has the counts that were captured", () => {
  expect(count("claude-code")[0]).toBeGreaterThanOrEqual(42);
  expect(count("claude-code")[0]).toBeLessThanOrEqual(45);
  expect(count("copilot")[0]).toBeGreaterThanOrEqual(24);
  expect(count("copilot")[0]).toBeLessThanOrEqual(30);
  expect(count("codex")).toEqual([0, 100]);
  const [first] = listSkills(hundred, "codex");
  expect(first?.description.length).toBeGreaterThan(155);
  expect(first?.description.length).toBeLessThan(185);
});

it("lists what Claude Code listed of 100 and of 300 skills with descriptions of other lengths", () => {
  const skills = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const words = `word${at} `.repeat(Math.floor((100 + ((at * 37) % 900)) / 7));
      const number = String(at).padStart(3, "0");
      return { name: `skill-${number}`, description: `D${number} ${words}end${at}` };
    });
  const whole = (count: number) =>
    listSkills(skills(count), "claude-code").flatMap(({ shown }, at) => (shown === "whole" ? [at] : []));
  const first = Array.from({ length: 44 }, (_, at) => at);
  // From its requests: a short description finds room after longer ones did not.
  expect(whole(100)).toEqual([...first, 49, 50, 73]);
  expect(whole(300)).toHaveLength(43);
});

it("keeps the descriptions that come first by name", () => {
  const [longest, ...others] = ["a", "b", "c"].map((name) => ({ name, description: "x".repeat(11_000) }));
  const listed = listSkills([...others, longest ?? { name: "", description: "" }], "claude-code");
  expect(listed.map(({ name, shown }) => `${name} ${shown}`)).toEqual(["a whole", "b whole", "c name only"]);
});

it("shows a description whole up to the length to which Codex cuts the others, and a name where nothing is left", () => {
  const names = ["a", "b", "ccc"];
  const { budget, markup }: { budget: number; markup: number } = skillListings.codex;
  // Its name is in a line twice, and a colon and a space follow it.
  const room = names.reduce((rest, name) => rest - 2 * name.length - markup - 2, budget) / 3;
  expect(room).toBe(Math.floor(room));
  const list = (...lengths: number[]) => {
    const skills = lengths.map((length, at) => ({ name: names[at] ?? "", description: "d".repeat(length) }));
    return listSkills(skills, "codex").map(({ shown, description }) => [shown, description.length]);
  };
  const cut = ["cut", room];
  expect(list(room, room + 5, room + 10)).toEqual([["whole", room], cut, cut]);
  expect(list(room + 1, room + 5, room + 10)).toEqual([cut, cut, cut]);
  const many = Array.from({ length: 1_000 }, (_, at) => ({ name: `skill-${at}`, description: "Does it." }));
  expect(new Set(listSkills(many, "codex").map(({ shown }) => shown))).toEqual(new Set(["name only"]));
});

describe.each(listingHosts)("%s", (host) => {
  const skill = fc.record({
    name: fc.string({ minLength: 1, maxLength: 20 }),
    description: fc.string({ maxLength: 1024 }),
  });
  const skills = fc.uniqueArray(skill, { selector: ({ name }) => name, maxLength: 150 });

  it("lists every skill once, with the beginning of its description, within the budget", () => {
    fc.assert(
      fc.property(skills, (some) => {
        const listed = listSkills(some, host);
        expect(listed.map(({ name }) => name).sort()).toEqual(some.map(({ name }) => name).sort());
        for (const { name, description, shown } of listed) {
          const whole = some.find((one) => one.name === name)?.description ?? "";
          expect(whole.startsWith(description)).toBe(true);
          if (shown === "whole") expect(description).toBe(whole);
        }
        const characters = listed.reduce((sum, one) => sum + one.description.length, 0);
        expect(characters).toBeLessThanOrEqual(skillListings[host].budget);
      }),
    );
  });

  it("shows a short list in full", () => {
    const [one, two] = hundred;
    expect(
      listSkills(
        [one, two].flatMap((each) => each ?? []),
        host,
      ).map(({ shown }) => shown),
    ).toEqual(["whole", "whole"]);
  });
});

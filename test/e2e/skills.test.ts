import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runManifestSchema } from "../../src/evals/base/types/run.ts";
import { trialSchema } from "../../src/evals/base/types/trial.ts";
import type { SkillListing } from "../../src/evals/inspection/tools.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { summaryOf, trialsOf } from "./evals.ts";
import { criteriaOf, loading, project, type Shown, shownIn, verdicts } from "./skills/project.ts";

/** The skills that were offered in a run, each with its wording. */
function offeredIn(dir: string): Record<string, string | undefined> {
  const { toolsets } = runManifestSchema.parse(JSON.parse(readFileSync(join(dir, "run.json"), "utf8")));
  const entries = Object.values(toolsets).flat();
  return Object.fromEntries(entries.map(({ name, description }) => [name, description]));
}

describe("the skills of a project and of a home", () => {
  const { cwd, home, skill, run } = project();
  const one = (input: string) => [{ input, expected_behavior: ["helps"] }];
  const own = join(cwd, ".claude/skills");
  skill(own, "notes", { description: "Takes notes of a meeting.", evals: one("Take notes of the meeting") });
  skill(join(cwd, ".agents/skills"), "photos", { description: "Sorts photos.", evals: one("Sort my photos") });
  skill(join(cwd, ".mine/skills"), "other", { description: "Waters plants.", evals: one("Water the plants") });
  skill(join(home, ".claude/skills"), "notes", { description: "Notes down recipes.", evals: one("Note this recipe") });
  skill(join(home, ".claude/skills"), "letters", { description: "Writes letters.", evals: one("Write a letter") });
  const asked = async (...flags: string[]) => {
    const { dir, suites } = summaryOf(await run("run", "--json", ...flags));
    return { suites: suites.map(({ name }) => name), notes: offeredIn(dir)["skill:notes"] };
  };

  it("are discovered without a path, and the host decides which of two with one name is loaded", async () => {
    const [plain, claudeCode, codex] = await Promise.all([
      asked("--user-skills"),
      asked("--user-skills", "--host", "claude-code"),
      asked("--user-skills", "--host", "codex"),
    ]);
    const suites = ["skill:letters", "skill:notes", "skill:photos"];
    expect(plain).toEqual({ suites, notes: "Takes notes of a meeting." });
    expect(claudeCode).toEqual({ suites: ["skill:letters", "skill:notes"], notes: "Notes down recipes." });
    expect(codex).toEqual({ suites: ["skill:photos"], notes: undefined });
  });

  it("are those that `skills list` shows for a host, and a baseline of another list is compared as a changed one", async () => {
    const listed = JSON.parse((await run("tools", "--skills", "--host", "goose", "--json")).out) as SkillListing;
    const { dir } = summaryOf(await run("run", "--user-skills", "--host", "goose", "--json"));
    expect(Object.keys(offeredIn(dir)).sort()).toEqual(listed.skills.map(({ name }) => `skill:${name}`));

    const here = ["run", "--skill", "notes", "--host", "claude-code"];
    await run(...here, "--host-dir", ".claude", "--host-dir", ".agents");
    await run("baseline", "accept", "--force");
    const checked = await run(...here, "--check", "on", "--json");
    expect(summaryOf(checked).suites[0]?.verdict).toMatchObject({
      kind: "no-regression",
      changes: [{ label: expect.stringContaining("skill:photos") }],
    });
  });

  it("of the home folder are in no suite, report or baseline, unless --user-skills is given", async () => {
    const accept = async (folder: string, ...flags: string[]) => {
      const ended = await run("run", "--accept", "--baselines", folder, "--out", `${folder}/reports`, ...flags);
      expect(ended.code).toBe(0);
      const names = readdirSync(join(cwd, folder), { recursive: true, encoding: "utf8" });
      const files = names.filter((name) => /\.[a-z]+$/.test(name));
      const naming = files.filter((name) => /letters/i.test(readFileSync(join(cwd, folder, name), "utf8")));
      return { baselines: files.filter((name) => !name.startsWith("reports")), naming };
    };
    expect(await accept("shared")).toMatchObject({
      baselines: [expect.stringMatching(/^skill-notes/), expect.stringMatching(/^skill-photos/)],
      naming: [],
    });
    const { baselines, naming } = await accept("own", "--user-skills");
    expect(baselines).toHaveLength(3);
    expect(naming).toEqual(expect.arrayContaining(baselines));
  });

  it("are selected by name, home and host folder", async () => {
    const [one, project] = await Promise.all([asked("--skill", "photos"), asked()]);
    expect(one).toEqual({ suites: ["skill:photos"], notes: "Takes notes of a meeting." });
    expect(project.suites).toEqual(["skill:notes", "skill:photos"]);
    const other = await asked("--host-dir", ".mine");
    expect(other).toEqual({ suites: ["skill:other"], notes: undefined });
  });

  it("are named where one is asked for that is not there", async () => {
    const shadowed = `${home}/.claude/skills/notes/SKILL.md: warning: Another skill "notes" is loaded instead of this one`;
    const poems = {
      code: 2,
      out: "",
      err: `error: No skill "poems" was found.
  Use one of "letters", "notes", "photos"; see \`evals tools --skills\`.
${shadowed}: .claude/skills/notes/SKILL.md.
  Its eval files are not run. See \`evals tools --skills\`.
`,
    };
    expect(await run("run", "--user-skills", "--skill", "poems")).toEqual(poems);
    const beside = await run("run", "--skill", "photos", "--skill", "poems");
    expect(beside).toMatchObject({ code: 2, out: "", err: expect.stringContaining('error: No skill "poems"') });
  });
});

describe.each(["plain", "agent-skills"])("whether skills are loaded, as %s shows them", (host) => {
  const { cwd, skill, run } = project();
  const folder = join(cwd, ".claude/skills");
  const query = (text: string, should_trigger: boolean) => ({ query: text, should_trigger });
  skill(folder, "notes", {
    description: "Takes notes of a meeting.",
    body: "# Notes\n\nThe secret of this body is a swordfish.",
    triggers: [
      ...["load notes", "look around, then load notes", "load photos", "say nothing", "fail"].map((text) =>
        query(text, true),
      ),
      ...["load photos instead, a near miss", "load notes, wrongly", "say nothing, rightly"].map((text) =>
        query(text, false),
      ),
    ],
  });
  skill(folder, "photos", { description: "Sorts photos.", triggers: [query("load photos, please", true)] });
  const model = (shown: Shown): MessageAnswer | { fault: "status"; status: number } => {
    const [, wanted] = /load (notes|photos)/.exec(shown.query) ?? [];
    if (shown.query.startsWith("fail")) return { fault: "status", status: 400 };
    const around = shown.query.startsWith("look") && shown.replies < 2;
    if (around) return { calls: [{ name: "Read", input: { file_path: `/skills/photos/part-${shown.replies}.md` } }] };
    return wanted !== undefined && !shown.results.includes("Launching")
      ? { calls: [loading(wanted, shown)] }
      : { text: "Done." };
  };

  it("is told by the whole trial: a look around is no miss, an error in no denominator", async () => {
    const endpoint = await startMessagesEndpoint((body) => model(shownIn(body)));
    const asked = ["-m", "anthropic:x", "--base-url", endpoint.url, "-n", "2", "--host", host, "--seed", "3"];
    const ended = await run("run", ...asked, "--json");
    const summary = summaryOf(ended);
    expect(ended.code).toBe(1);
    expect(endpoint.requests.filter(({ refused }) => refused !== undefined)).toEqual([]);
    const [first] = endpoint.requests;
    expect(first && shownIn(first.body).skills.toSorted()).toEqual(["notes", "photos"]);
    expect(first?.body.tools?.map(({ name }) => name)).toEqual(host === "plain" ? ["Skill"] : ["Read"]);
    expect(JSON.stringify(first?.body.system).includes("<available_skills>")).toBe(host !== "plain");
    expect(JSON.stringify(endpoint.requests), "the body is never shown").not.toContain("swordfish");

    const [told] = summary.skills ?? [];
    expect(told?.skills.map(({ precision, recall, ...counts }) => [counts, precision?.rate, recall?.rate])).toEqual([
      [{ name: "notes", truePositives: 4, falsePositives: 2, falseNegatives: 4, trueNegatives: 6 }, 4 / 6, 0.5],
      [{ name: "photos", truePositives: 2, falsePositives: 2, falseNegatives: 0, trueNegatives: 6 }, 0.5, 1],
    ]);
    const failed = summary.suites[0]?.cases.find(({ id }) => id === "fail");
    expect(failed).toMatchObject({ trials: 0, broken: 2, rate: null, ok: false });
    const looked = trialsOf(summary.dir).find(({ cell }) => cell.case === "look-around-then-load-notes");
    expect(looked?.turns.map(({ calls }) => calls.length)).toEqual([1, 1, 1]);
    expect(looked?.verdict).toMatchObject({ grade: "pass", skills: ["notes"] });
  });
});

describe("what a skill is worth", () => {
  const { cwd, skill, run, write } = project();
  const folder = join(cwd, "packages");
  const swordfish = "ends with swordfish";
  skill(folder, "notes", {
    description: "Takes notes of a meeting.",
    body: "# Notes\n\n1. Read references/format.md and follow it.",
    files: { "references/format.md": "End with the word swordfish." },
    evals: [
      { id: 3, prompt: "note the meeting", expected_behavior: [swordfish, "names Ingrid"], files: ["in.txt"] },
      { id: 7, prompt: "note the weather", expected_behavior: [swordfish] },
    ],
  });
  write(join(folder, "notes/in.txt"), "Ingrid came.");
  skill(folder, "photos", { description: "Sorts photos." });

  /** Follows the skill where it is offered: loads it, reads its reference, and does as that says. */
  const model = (shown: Shown): MessageAnswer => {
    const read = (path: string) => ({ calls: [{ name: "Read", input: { file_path: path } }] });
    const said = shown.query.includes("meeting") ? "Ingrid came. " : "It rains. ";
    if (!shown.skills.includes("notes")) return { text: `${said}That is all of it.` };
    if (shown.replies === 0) return { calls: [loading("notes", shown)] };
    if (shown.results.includes("Launching")) return read("/skills/notes/references/format.md");
    return { text: shown.results.includes("swordfish") ? `${said}And a swordfish.` : said };
  };
  /** Finds a word in the transcript; cannot tell of Ingrid in the third reply that it is asked for. */
  const judging = () => {
    let asked = 0;
    return ({ criteria, transcript }: NonNullable<ReturnType<typeof criteriaOf>>) =>
      verdicts(
        criteria.map((criterion) => {
          if (criterion === "names Ingrid" && ++asked === 3) return { verdict: "cannot tell", evidence: "" };
          const quote = criterion.includes("Ingrid") ? "Ingrid came." : "And a swordfish.";
          const met = transcript.includes(quote);
          return met ? { verdict: "met", evidence: quote } : { verdict: "not met", evidence: "That is all of it." };
        }),
      );
  };
  const all = async () => {
    const judge = judging();
    return startMessagesEndpoint((body) => {
      const criteria = criteriaOf(body);
      return criteria ? judge(criteria) : model(shownIn(body));
    });
  };
  const asked = (url: string) => [
    ...["run", "packages/notes", "-m", "anthropic:claude-sonnet-5-5", "--judge", "anthropic:claude-haiku-5-5"],
    ...["--base-url", url, "-n", "3", "-c", "1", "--seed", "4"],
  ];

  it("is the lift over the same queries without it, asked interleaved and judged blindly", async () => {
    const endpoint = await all();
    const ended = await run(...asked(endpoint.url), "--json");
    const summary = summaryOf(ended);
    expect([ended.code, ended.err], "what cannot be told leaves the run incomplete").toEqual([3, ""]);
    expect(endpoint.requests.filter(({ refused }) => refused !== undefined)).toEqual([]);

    const journal = readFileSync(join(summary.dir, "trials.jsonl"), "utf8").trimEnd().split("\n");
    const trials = journal.map((line) => trialSchema.parse(JSON.parse(line)));
    const arms = trials.flatMap(({ cell }) => (cell.suite.endsWith("behavior") ? [cell.arm] : []));
    expect(arms.toSorted()).toEqual([...Array(6).fill("head"), ...Array(6).fill("without")]);
    expect(arms.filter((arm, index) => arm !== arms[index - 1]).length).toBeGreaterThan(4);
    const judged = endpoint.requests.flatMap(({ body }) => criteriaOf(body) ?? []);
    expect(judged).toHaveLength(12);
    for (const { transcript } of judged) expect(transcript).not.toMatch(/skill|Launching|format\.md/i);

    expect(summary.judge).toEqual({ model: "anthropic:claude-haiku-5-5" });
    const [trigger, behavior] = summary.suites;
    expect(trigger).toMatchObject({ name: "skill:notes", ok: true });
    const { arms: sides = [], behaviors } = behavior?.arms?.[0] ?? {};
    expect(sides[1]?.against).toMatchObject({ verdict: "better", net: { change: expect.closeTo(5 / 6) } });
    expect(sides.map(({ passed }) => passed)).toEqual([0, 5]);
    expect(behaviors).toEqual([
      sentence("3", swordfish, { passed: 3, trials: 3 }, { passed: 0, trials: 3 }),
      sentence("3", "names Ingrid", { passed: 2, trials: 2 }, { passed: 3, trials: 3 }),
      sentence("7", swordfish, { passed: 3, trials: 3 }, { passed: 0, trials: 3 }),
    ]);

    const report = (await run("show")).out;
    expect(report).toContain("BETTER with the skill against without the skill: passed +83.3 pp");
    expect(report).toContain("Judge: anthropic:claude-haiku-5-5: agreement with people not measured");
  });
});

type Counts = { passed: number; trials: number };
const sentence = (id: string, text: string, one: Counts, without: Counts) => ({ case: id, text, met: [without, one] });

describe("the description of a skill", () => {
  const { cwd, skill, run, write } = project();
  const folder = join(cwd, ".claude/skills");
  const query = (text: string) => ({ query: text, should_trigger: true });
  const good = "Takes minutes of a meeting. Use it for minutes, agenda items and action points.";
  const asks = ["Take minutes of our meeting", "List the action points", "Which agenda items are open?"];
  const describe = (description: string) => skill(folder, "minutes", { description, triggers: asks.map(query) });
  describe(good);
  skill(folder, "photos", {
    description: "Sorts photos by date and place.",
    triggers: [query("Sort the photos by date")],
  });

  it("is checked, blamed and bettered as that of a tool", async () => {
    expect((await run("run")).code).toBe(0);
    expect((await run("baseline", "accept")).code).toBe(0);
    describe("Does its work.");
    const checked = await run("run", "--check", "on", "--fail-on", "changed", "--json");
    expect(checked.code).toBe(1);
    const [minutes, photos] = summaryOf(checked).suites;
    expect(minutes?.verdict).toMatchObject({
      kind: "changed",
      changes: [{ label: expect.stringContaining("skill:minutes"), before: good }],
    });
    expect(photos?.verdict).toMatchObject({ kind: "no-regression" });

    const wordings = { variants: { clear: { "skill:minutes": good }, vague: { "skill:minutes": "Helps." } } };
    write(join(cwd, "wordings.json"), JSON.stringify(wordings));
    const [blamed, compared] = await Promise.all([
      run("blame"),
      run("variants", "wordings.json", "--skill", "minutes", "--json"),
    ]);
    expect(blamed.err).toBe("");
    expect(blamed.out).toMatch(/^BLAMED: skill:minutes\n/);
    expect(JSON.parse(compared.out)).toMatchObject({ kind: "adopt", winner: "clear" });
  });
});

describe("tools and skills in one suite", () => {
  const { cwd, skill, run, write } = project();
  skill(join(cwd, "packages"), "notes", { description: "Takes notes of a meeting." });
  skill(join(cwd, "packages"), "photos", { description: "Sorts photos." });
  const server = { command: process.execPath, args: [join(import.meta.dirname, "../../dist/server/main.js")] };
  const cases = [
    { id: "tool", input: "echo hello", expect: { tool: "echo", args: { text: "hello" } } },
    { id: "skill", input: "load notes", expect: { skill: "notes" } },
    { id: "wrong-skill", input: "load photos", expect: { skill: "notes" } },
    { id: "no-skill", input: "echo without a skill", expect: { skill: "none" } },
    { id: "avoid", input: "load photos, not notes", expect: { avoid: ["skill:notes"] } },
    { id: "avoided", input: "load notes all the same", expect: { avoid: ["skill:notes"] } },
    { id: "nothing", input: "say hello", expect: { tool: "none" } },
  ];
  write(
    join(cwd, "evals/mixed.json"),
    JSON.stringify({ name: "mixed", server, skills: ["../packages"], trials: 1, cases }),
  );

  it("are asked and reported together", async () => {
    const endpoint = await startMessagesEndpoint((body) => {
      const shown = shownIn(body);
      const [, wanted] = /load (notes|photos)/.exec(shown.query) ?? [];
      if (shown.replies > 0) return { text: "Done." };
      if (wanted !== undefined) return { calls: [loading(wanted, shown)] };
      return shown.query.startsWith("echo")
        ? { calls: [{ name: "echo", input: { text: "hello" } }] }
        : { text: "Hello." };
    });
    const asked = ["evals/mixed.json", "-m", "anthropic:x", "--base-url", endpoint.url];
    const ended = await run("run", ...asked, "--json");
    const summary = summaryOf(ended);
    expect([ended.code, ended.err]).toEqual([1, "Calls of these tools are executed: echo.\n"]);
    const [first] = endpoint.requests;
    expect(first?.body.tools?.map(({ name }) => name).sort()).toEqual(["Skill", "echo"]);
    const outcomes = summary.suites[0]?.cases.map(({ id, outcomes: words, ok }) => [id, Object.keys(words)[0], ok]);
    expect(outcomes).toEqual([
      ["tool", "right-tool", true],
      ["skill", "right-tool", true],
      ["wrong-skill", "wrong-tool", false],
      ["no-skill", "abstained", true],
      ["avoid", "right-tool", true],
      ["avoided", "over-triggered", false],
      ["nothing", "abstained", true],
    ]);
    expect(summary.suites[0]?.coverage).toEqual({ tools: 1, expected: 1, missing: [] });
    expect(summary.skills?.[0]?.skills.map(({ precision, recall, ...counts }) => counts)).toEqual([
      { name: "notes", truePositives: 1, falsePositives: 1, falseNegatives: 1, trueNegatives: 2 },
      { name: "photos", truePositives: 0, falsePositives: 1, falseNegatives: 0, trueNegatives: 2 },
    ]);
    expect(summary.suites[0]?.confusion).toEqual([
      { expected: "(avoid skill:notes)", picked: "skill:notes", n: 1 },
      { expected: "skill:notes", picked: "skill:photos", n: 1 },
    ]);
  });
});

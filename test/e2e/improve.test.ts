import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { deriveSeed } from "../../src/evals/base/stats/random.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { type MessagesBody, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { evals, start, timeless, trialsOf } from "./evals.ts";

const current = "Writes the minutes of a meeting from its transcript. Use when the user pastes a transcript.";
const better =
  "Writes minutes, recaps and summaries of meetings and calls. Use when the user asks what was said or decided.";
const greedy = "Writes anything about meetings, also invitations. Use when the user asks for something.";
const wanted = ["Recap the call with Acme", "Recap the standup", "What did the board decide?", "Sum up the retro"];
const more = [
  "Sum up the sync with legal",
  "What did we decide on Monday?",
  "Recap the planning",
  "Sum up the interview",
];
const unwanted = ["Translate this letter", "What is 17 plus 25?", "Draft an invitation to a meeting", "Write a haiku"];
const near = ["Draft an invitation for Ada", "Review my pull request"];

const dir = makeFolder();
let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
/** Called with each request, before it is answered. */
let onRequest: (body: MessagesBody, isWriter: boolean) => void = () => {};

/** A model that loads the skill as its description says, whatever else it is shown; what is sent decides each answer. */
function answer(body: MessagesBody) {
  const system = JSON.stringify(body.system ?? "");
  const isWriter = system.includes("You improve");
  onRequest(body, isWriter);
  if (isWriter)
    return { text: JSON.stringify([better, greedy].map((description) => ({ "skill:minutes": { description } }))) };
  const query = JSON.stringify(body.messages.at(-1));
  const isWanted = /Recap|decide|Sum up/.test(query);
  const rates = system.includes(better) ? [1, 0] : system.includes(greedy) ? [1, 0.8] : [0.4, 0];
  const rate = isWanted ? rates[0] : /invitation/.test(query) ? rates[1] : 0;
  const isLoaded = deriveSeed(1, JSON.stringify(body)) / 2 ** 32 < (rate ?? 0);
  return isLoaded ? { calls: [{ id: "call", name: "Skill", input: { skill: "minutes" } }] } : { text: "Sure." };
}

beforeAll(async () => {
  const write = (file: string, text: string) => writeIn(dir, file, text);
  const skill = (name: string, description: string) =>
    write(
      `.claude/skills/${name}/SKILL.md`,
      `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n\nRead it.\n`,
    );
  skill("minutes", current);
  skill("invites", "Writes invitations to meetings. Use when the user wants to invite people.");
  const ask = (queries: string[], should_trigger: boolean) => queries.map((input) => ({ input, should_trigger }));
  const queries = [...ask([...wanted, ...more], true), ...ask([...unwanted, ...near], false)];
  write(".claude/skills/minutes/evals/evals.json", JSON.stringify({ evals: queries }, null, 2));
  const git = (...args: string[]) => execFileSync("git", args, { cwd: dir });
  git("init", "-q");
  git("add", "-A");
  endpoint = await startMessagesEndpoint(answer);
});
afterAll(() => endpoint.close());

/** The same project in another folder, without records. */
function copy(): string {
  const other = makeFolder();
  cpSync(dir, other, { recursive: true, filter: (path) => !path.endsWith("reports") });
  return other;
}

const writer = ["--writer", "anthropic:claude-opus-5-5"];
const reach = () => ["--base-url", endpoint.url, "-c", "4", "--trust"];
const search = () => [
  "improve",
  "--skill",
  "minutes",
  "-m",
  "anthropic:claude-haiku-5-5",
  ...writer,
  "--seed",
  "7",
  ...reach(),
];

it("proves the description of a skill, from its queries to a patch that git applies", async () => {
  const flags = ["--format", "markdown", "--output", "won.json", "--patch", "won.diff"];
  const { code, out, err } = await evals([...search(), ...flags], { cwd: dir });
  const shown = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\dT[\d-]+/g, "<run>").replaceAll(dir, "<dir>");
  expect({ code, out: shown(out), err: shown(err) }).toMatchSnapshot();
  expect(JSON.parse(readFileSync(join(dir, "won.json"), "utf8")).variants["wording-1.1"]).toEqual({
    "skill:minutes": { description: better },
  });
  execFileSync("git", ["apply", "won.diff"], { cwd: dir });
  expect(readFileSync(join(dir, ".claude/skills/minutes/SKILL.md"), "utf8")).toContain(`description: ${better}\n`);
  execFileSync("git", ["checkout", "-q", ".claude/skills/minutes/SKILL.md"], { cwd: dir });
  const again = await evals(["show", "improve"], { cwd: dir, width: 80 });
  expect(shown(again.out)).toMatchSnapshot();
});

/** What a search left: its record, without what differs from one to the next, and what it printed. */
function readRecord(cwd: string, printed: string) {
  const [name = ""] = readdirSync(join(cwd, "reports")).filter((one) => one.startsWith("20"));
  const record = join(cwd, "reports", name);
  const { run: _, dir: __, ...result } = JSON.parse(printed);
  const proposals = JSON.parse(readFileSync(join(record, "proposals.json"), "utf8"));
  return { name, result, proposals, trials: trialsOf(record).map(timeless) };
}

it("ends with the same record after kill -9 in each phase", async () => {
  const phases: string[] = [];
  const whole = copy();
  let wordings = 0;
  onRequest = (body, isWriter) => {
    if (isWriter) wordings++;
    phases.push(
      isWriter
        ? "proposals"
        : wordings === 0
          ? "room"
          : JSON.stringify(body.system).includes(current)
            ? "own"
            : "other",
    );
  };
  const ended = await start([...search(), "--json"], { cwd: whole }).ended;
  expect(ended.code).toBe(0);
  const expected = readRecord(whole, ended.out);
  expect(expected.result.kind).toBe("adopt");
  // The search is a little less than a third of the trials.
  const searched = Math.round(phases.length / 3);
  const kills = {
    "to find room": 30,
    "for proposals": phases.indexOf("proposals") + 1,
    "in a round": Math.round((phases.indexOf("proposals") + searched) / 2),
    "in the proof": searched + 20,
    "for the certificate": phases.length - 50,
  };
  for (const [phase, at] of Object.entries(kills)) {
    const cwd = copy();
    let requests = 0;
    const killed = start([...search(), "--json"], { cwd });
    onRequest = () => {
      if (++requests === at) killed.child.kill("SIGKILL");
    };
    expect([phase, (await killed.ended).code]).toEqual([phase, null]);
    onRequest = () => {};
    const [name = ""] = readdirSync(join(cwd, "reports")).filter((one) => one.startsWith("20"));
    const resumed = await start(["improve", "--resume", name, "--json", "--trust"], { cwd }).ended;
    expect([phase, resumed.err, resumed.code]).toEqual([phase, expect.any(String), 0]);
    expect({ phase, ...readRecord(cwd, resumed.out), name: "" }).toEqual({ phase, ...expected, name: "" });
    rmSync(cwd, { recursive: true, force: true });
  }
  rmSync(whole, { recursive: true, force: true });
});

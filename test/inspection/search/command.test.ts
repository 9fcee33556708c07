import { describe, expect, it } from "vitest";
import { type SearchOptions, search } from "../../../src/evals/inspection/search/command.ts";
import { anIo } from "../../fakes/io.ts";
import { type Files, skillText, workspace } from "../../input/skills/workspace.ts";

const tool = (name: string, description: string, more: object = {}) => ({
  name,
  description,
  inputSchema: { type: "object", properties: {} },
  ...more,
});

const files: Files = {
  "tools.json": JSON.stringify([
    tool("read_note", "Returns the text of one note."),
    tool("search_notes", "Finds the notes with a text.", { _meta: { "anthropic/searchHint": "grep" } }),
    tool("save_note", "Creates or replaces a note."),
    tool("ping", "Says whether the server is up.", { _meta: { "anthropic/alwaysLoad": true } }),
  ]),
  "evals/notes.yaml": `
server: { tools: ../tools.json }
cases:
  - { id: read, input: Read me the note shopping.md, expect: { tool: read_note } }
  - id: find
    input: [Which file mentions the garden?, Find garden in my notes]
    searches: [grep, /mention|search_/]
    expect: { tool: search_notes }
  - { id: both, input: Read the note and save it, expect: { calls: [{ tool: read_note }, { tool: save_note }] } }
  - { id: up, input: Is the server up?, expect: { tool: ping } }
  - { id: weather, input: What is the weather?, expect: { tool: none } }
`,
};

const defaults: SearchOptions = { host: "plain", json: false };

async function run(project: Files, options: Partial<SearchOptions> = {}) {
  const cwd = workspace(project);
  const io = anIo({ cwd, env: { HOME: cwd } });
  const code = await search({ ...defaults, ...options }, io);
  return { code, out: io.printed() };
}

describe("evals search", () => {
  it("searches at each message of a conversation for what is expected of the replies to it", async () => {
    const project = {
      ...files,
      "evals/notes.yaml": `
server: { tools: ../tools.json }
cases:
  - id: find-then-read
    turns:
      - { input: Finds the notes with garden, expect: { tool: search_notes } }
      - { input: Thanks!, expect: { tool: none } }
      - { input: Returns the text of one, expect: { tool: read_note } }
    searches: [grep]
    expect: { calls: [{ tool: search_notes }, { tool: read_note }] }
`,
    };
    const { out } = await run(project, { json: true });
    const [suite] = JSON.parse(out).suites;
    const asked = suite.queries.map(({ query, expected }: Record<string, Record<string, string>>) => [
      query?.text,
      expected,
    ]);
    expect(asked).toEqual([
      ["Finds the notes with garden", [["search_notes"]]],
      ["grep", [["search_notes"]]],
      ["Returns the text of one", [["read_note"]]],
    ]);
    expect(suite.leftOut).toEqual([]);
  });

  it("prints recall, the queries that find too little with their missing words, and what was not searched for", async () => {
    const { code, out } = await run(files);
    expect(code).toBe(0);
    await expect(out).toMatchFileSnapshot("snapshots/recall.txt");
  });

  it("searches the names of a host, by the rankers that are named, and fails below a threshold", async () => {
    const { code, out } = await run(files, {
      host: "claude-code",
      ranker: ["keyword"],
      failOn: ["recall@5=0.9", "recall@1=90%"],
    });
    expect(code).toBe(1);
    expect(out).toMatch(/^FAILED 2 thresholds not reached · 6 queries · 1 suite\n/);
    expect(out).toContain("  keyword: recall@5 is 0.80, below 0.90\n");
    expect(out).toMatch(/^ {2}keyword: recall@1 is 0\.\d\d, below 0\.90$/m);
    expect(out).toMatch(/^find +Which .* +mcp__tools__search_notes +none +file, mentions, garden$/m);
    expect(out).not.toContain("bm25");
  });

  it("passes where every threshold is reached", async () => {
    const { code, out } = await run(files, { case: ["read"], failOn: ["recall@1=1"], json: true });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      thresholds: ["recall@1=1"],
      suites: [
        { suite: "notes", tools: 4, queries: [{ case: "read", ranks: { keyword: [1], bm25: [1], regex: [1] } }] },
      ],
    });
  });

  it("is undecided where no case expects a tool", async () => {
    const { code, out } = await run(files, { case: ["weather"], failOn: ["recall@1=1"] });
    expect(code).toBe(3);
    expect(out).toContain("NOT SEARCHED");
  });

  it("is undecided where a server cannot be listed, and searches the other suites", async () => {
    const broken = "server: { command: ./missing }\ncases: [{ input: Read it, expect: { tool: read_note } }]\n";
    const { code, out } = await run({ ...files, "evals/broken.yaml": broken });
    expect(code).toBe(3);
    expect(out).toContain("The server could not be listed. read-it");
    expect(out).toContain("Found among the first 5: keyword 80%, bm25 80%, regex 83% · 6 queries · 2 suites");
  });

  it.each(["recall@4=1", "recall@5=2", "fast"])("refuses the threshold %s", async (text) => {
    await expect(run(files, { failOn: [text] })).rejects.toThrow(`--fail-on: "${text}" is not a threshold.`);
  });

  it("measures skills in the list of each host", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => {
        const name = `skill-${String(at).padStart(2, "0")}`;
        const text = skillText(name).replace(
          /^description: .*$/m,
          `description: Handles topic${at}. ${"x".repeat(600)}`,
        );
        return [`skills/${name}/SKILL.md`, text];
      }),
    );
    const suite = `
skills: [../skills]
cases:
  - { id: early, input: Please handle topic3, expect: { skill: skill-03 } }
  - { id: late, input: Please handle topic59, expect: { skill: skill-59 } }
`;
    const { code, out } = await run({ ...many, "evals/skills.yaml": suite }, { failOn: ["recall@5=1"] });
    expect(code).toBe(1);
    await expect(out).toMatchFileSnapshot("snapshots/skills.txt");
  });
});

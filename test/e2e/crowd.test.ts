import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deriveSeed } from "../../src/evals/base/stats/random.ts";
import type { CrowdSummary } from "../../src/evals/experiments/arms/crowdVerdict.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { type Ended, evals, pageOf, trialsOf, workspace } from "./evals.ts";

const dir = workspace();
const run = (...args: string[]) => evals(args, { cwd: dir });
const file = (name: string, content: unknown) => {
  writeFileSync(join(dir, name), JSON.stringify(content));
  return name;
};
const aTool = (name: string, description: string) => ({ name, description, inputSchema: { type: "object" } });

const names = ["read", "write", "search", "list", "move", "delete", "rename", "stat"];
file(
  "tools.json",
  names.map((name) => aTool(name, `Does ${name}.`)),
);
const suite = file("noisy.yaml", {
  name: "noisy",
  server: { tools: "tools.json" },
  cases: names.slice(0, 5).map((tool) => ({ id: tool, input: `please ${tool}`, expect: { tool } })),
});
const mail = file("mail.json", {
  tools: ["read", ...Array.from({ length: 11 }, (_, at) => `mail_${at}`)].map((name) => aTool(name, "Sends mail.")),
});
const chat = file(
  "chat.json",
  Array.from({ length: 10 }, (_, at) => aTool(`chat_${at}`, "Posts a message.")),
);

/** A model that picks the right tool with a chance that depends on how many it is shown. All that was sent decides. */
function modelWith(chanceOf: (tools: number) => number) {
  return startMessagesEndpoint((body) => {
    const said = JSON.stringify(body.messages[0]?.content);
    const right = names.find((name) => said.includes(`please ${name}`)) ?? "";
    const shown = body.tools ?? [];
    const lucky = deriveSeed(1, JSON.stringify(body)) / 2 ** 32 < chanceOf(shown.length);
    const name = lucky ? right : (shown.find((tool) => tool.name.startsWith("mail_"))?.name ?? "delete");
    return { calls: [{ name, input: {} }], usage: { input_tokens: 1000 } };
  });
}
const model = (url: string) => ["-m", "anthropic:claude-sonnet-5-5", "--base-url", url, "--seed", "4"];

describe("evals crowd", () => {
  const orderForeignTools = ({ out }: Ended): CrowdSummary => JSON.parse(out);

  it("shows the fall of selection as foreign tools join, the smaller crowd inside the larger one", async () => {
    const endpoint = await modelWith((tools) => (tools > 20 ? 0.4 : 0.95));
    const args = ["crowd", suite, "-d", mail, "-d", chat, "--sizes", "20,0,5", "-n", "10", ...model(endpoint.url)];
    const ended = await run(...args, "--json");
    await endpoint.close();
    expect(ended.code).toBe(0);
    expect(ended.err).toBe(
      'warning: Foreign tools skipped because of a duplicate name: "read" of the distractor "mail".\n',
    );
    const curve = orderForeignTools(ended);
    expect(curve).toMatchObject({ kind: "fell", cases: 5, exitCode: 0 });
    const [alone, few, many] = curve.points;
    expect(curve.points.map(({ size, trials, broken }) => [size, trials, broken])).toEqual([
      [0, 50, 0],
      [5, 50, 0],
      [20, 50, 0],
    ]);
    expect(alone?.passed).toBeGreaterThan(42);
    expect(few?.adjusted).toBeGreaterThan(0.05);
    expect(many?.adjusted).toBeLessThan(0.001);
    expect(many?.instead["foreign tool"]).toBe(50 - (many?.passed ?? 0));
    const lists = new Map(
      endpoint.requests.map(({ body }) => [body.tools?.length, new Set(body.tools?.map(({ name }) => name))]),
    );
    expect([...lists.keys()].sort()).toEqual([13, 28, 8]);
    for (const name of lists.get(13) ?? []) expect(lists.get(28)).toContain(name);
    expect(trialsOf(curve.dir)).toHaveLength(150);
    const page = pageOf(curve.dir);
    expect(page.trials).toMatchObject({
      recorded: 150,
      cases: [{ arms: [{ arm: "crowd-0" }, { arm: "crowd-5" }, { arm: "crowd-20" }] }, {}, {}, {}, {}],
    });
    expect(page.before).toContainEqual(
      expect.objectContaining({ kind: "figure", figure: expect.objectContaining({ type: "curve" }) }),
    );
  });

  it("reports the lexical model with one trial each, beside a real server", async () => {
    const ended = await run("crowd", "evals/filesystem.yaml", "-d", mail, "-d", chat, "--sizes", "0,20");
    expect(ended).toMatchObject({ code: 0, err: "" });
    const text = ended.out.replace(/Record: .*/, "Record: here");
    expect(text).toMatchInlineSnapshot(`
      "NO FALL SHOWN: 90% correct with 0 foreign tools, 90% with 20
        How sure: certain, since the model is deterministic.
        Next: try more of them with \`--sizes\`, or ones that are more like your own.

      filesystem · lexical-2 (keyword search, not a language model; all definitions shown) · 10 cases
      foreign tools  correct (95% CI)   change (95% CI)  picked instead
      ─────────────────────────────────────────────────────────────────
      0              9/10 90% (60-98%)  -                no tool 1
      20             9/10 90% (60-98%)  0 pp             no tool 1

      Trials: 20 · cost $0
      Record: here
      "
    `);
  });

  it.each([
    [["-d", mail, "--sizes", "50"], "--sizes needs 50 foreign tools, but there are 11 (1 skipped)."],
    [["-d", mail, "--sizes", "0,ten"], '--sizes: "ten" is not a number of tools.'],
    [["-d", "gone.json"], '--distractors: there is no file "gone.json".'],
    [[], "There are no foreign tools to add."],
  ])("refuses %j", async (flags, message) => {
    const ended = await run("crowd", suite, ...flags);
    expect([ended.code, ended.out]).toEqual([2, ""]);
    expect(ended.err).toContain(message);
  });
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deriveSeed } from "../../src/evals/base/stats/random.ts";
import type { variantsJson } from "../../src/evals/experiments/variants/report.ts";
import { variantVerdictSchema } from "../../src/evals/experiments/variants/verdict.ts";
import { writeIn } from "../fakes/folder.ts";
import { type MessagesBody, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { type Ended, evals, pageOf, trialsOf, workspace } from "./evals.ts";

const dir = workspace();
const variants = (...args: string[]) => evals(["variants", ...args], { cwd: dir });
const file = (name: string, content: unknown) => writeIn(dir, name, content);
const resultOf = ({ out }: Ended): ReturnType<typeof variantsJson> => JSON.parse(out);

const names = ["read", "write", "search", "list", "move", "delete", "rename", "stat"];
const tools = names.map((name) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: {} },
}));
const wanted = ["read", "search", "list", "move", "stat"];
file("tools.json", tools);
const suite = file("noisy.yaml", {
  name: "noisy",
  server: { tools: "tools.json" },
  cases: [
    ...wanted.map((tool) => ({ id: `wants-${tool}`, input: `please ${tool}`, expect: { tool } })),
    { input: "please nothing", expect: { tool: "none" } },
  ],
});

/**
 * A model that picks the right tool by chance, and better where its description says when to use it. All that was sent
 * decides an answer, so the same seed gives the same run.
 */
function noisyModel(rates: { plain: number; helped: number }, usage?: (body: MessagesBody) => number) {
  return startMessagesEndpoint((body) => {
    const { content } = body.messages[0] ?? {};
    const said = JSON.stringify(content);
    const right = names.find((name) => said.includes(`please ${name}`));
    const description = String(body.tools?.find(({ name }) => name === right)?.description);
    const chance = right === undefined ? 0.98 : description.includes("Use it when") ? rates.helped : rates.plain;
    const lucky = deriveSeed(1, JSON.stringify(body)) / 2 ** 32 < chance;
    const name = lucky ? right : "delete";
    const input_tokens = usage?.(body) ?? 100;
    return { ...(name === undefined ? { text: "No." } : { calls: [{ name, input: {} }] }), usage: { input_tokens } };
  });
}

const helpful = (...which: string[]) =>
  Object.fromEntries(which.map((name) => [name, `Use it when asked to ${name}.`]));
const reworded = (word: string) => Object.fromEntries(wanted.map((name) => [name, `${word} ${name}.`]));
const asked = (url: string) => [suite, "-m", "anthropic:x", "--base-url", url, "--seed", "5"];

describe("evals variants on a model that varies", () => {
  it("adopts the wording that is better, and writes it as an overlay of the same form", async () => {
    const endpoint = await noisyModel({ plain: 0.5, helped: 0.95 }, (body) => JSON.stringify(body.tools).length);
    const wordings = file("better.yaml", { variants: { other: reworded("Performs"), clear: helpful(...wanted) } });
    const ended = await variants(wordings, ...asked(endpoint.url), "--json", "--output", "won.json");
    expect(ended.code).toBe(0);
    const result = resultOf(ended);
    expect(result).toMatchObject({ kind: "adopt", winner: "clear", headline: "ADOPT clear", method: "sampled" });
    const verdict = variantVerdictSchema.parse(result.verdict);
    expect(verdict.gain?.p).toBeLessThanOrEqual(verdict.gain?.level ?? 0);
    expect(verdict.certificates).toHaveLength(6);
    for (const { bound, harm } of verdict.certificates) expect(bound).toBeLessThan(harm);
    expect(verdict.screening).toMatchObject([[{ challenger: "clear" }, { challenger: "other" }]]);
    const [, other, clear] = result.wordings;
    expect(clear?.tokens).toBeGreaterThan(other?.tokens ?? 0);
    expect(result.best?.changes.map(({ label }) => label)).toEqual(
      wanted.toSorted().map((name) => `${name}: description`),
    );
    expect(trialsOf(result.dir)).toHaveLength(result.calls.made);
    expect(pageOf(result.dir)).toMatchObject({ title: "ADOPT clear", trials: { recorded: result.calls.made } });
    expect(readFileSync(join(result.dir, "summary.md"), "utf8")).toContain("ADOPT clear");
    expect(endpoint.requests).toHaveLength(result.calls.made);
    expect(ended.err).toContain("Wrote clear to won.json");
    expect(JSON.parse(readFileSync(join(dir, "won.json"), "utf8"))).toEqual({
      variants: { clear: helpful(...wanted) },
    });

    const again = await variants("won.json", ...asked(endpoint.url));
    expect(again.out).toMatch(/^ADOPT clear\n {2}clear is better: .* passes \d+ of \d+ times/);
    expect(again.out).toContain("read: description\n    [-Does read.-]{+Use it when asked to read.+}\n");
  });

  it.each([
    [["--output", "-", "--json"], "--json and --output - both use standard output."],
    [["--output", "./flags.yaml"], '--output would replace the variants file "flags.yaml".'],
  ])("refuses %j", async (flags, message) => {
    const wordings = file("flags.yaml", "variants: { a: { read: Reads. } }\n");
    const ended = await variants(wordings, suite, ...flags);
    expect([ended.code, ended.out]).toEqual([2, ""]);
    expect(ended.err).toContain(message);
  });
});

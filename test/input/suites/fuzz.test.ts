import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { EvalsError } from "../../../src/evals/base/types/errors.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { loadYaml, workspace } from "./workspace.ts";

const name = fc.stringMatching(/^[a-z_]{5,12}$/);
const literal = fc.jsonValue({ maxDepth: 1 }).map((value): unknown => JSON.parse(JSON.stringify(value)));
const argument = fc.oneof(
  fc.integer(),
  fc.string(),
  fc.record({ $contains: fc.string() }),
  literal.map((value) => ({ $equals: value })),
);
const caseArbitrary = fc.record(
  {
    // A blank input is refused.
    input: fc.string({ minLength: 1 }).filter((text) => text.trim() !== ""),
    expect: fc.record(
      { tool: name, args: fc.dictionary(name, argument), extras: fc.boolean() },
      { requiredKeys: ["tool", "args", "extras"] },
    ),
    trials: fc.integer({ min: 1, max: 50 }),
  },
  { requiredKeys: ["input", "expect", "trials"] },
);

describe("any suite", () => {
  it("loads a thousand cases", async () => {
    const cases = Array.from({ length: 1000 }, (_, i) => ({
      input: "Show me the notes",
      expect: { tool: "read", args: { path: { $endsWith: `${i}` } } },
    }));
    const text = stringify({ cases });
    const suite = await loadYaml(text);
    expect(suite.cases.at(-1)).toMatchObject({ id: "show-me-the-notes-1000", location: { line: 5996 } });
  });

  it("loads with the content that was written, from YAML and from JSON", async () => {
    const folder = await workspace({});
    await fc.assert(
      fc.asyncProperty(fc.array(caseArbitrary, { minLength: 1, maxLength: 6 }), async (cases) => {
        fc.pre(!JSON.stringify(cases).includes("__proto__"));
        await writeFile(join(folder, "s.yaml"), stringify({ name: "y", cases }));
        await writeFile(join(folder, "s.json"), JSON.stringify({ name: "j", cases }));
        const { suites } = await loadSuites(["s.yaml", "s.json"], { cwd: folder });
        const written = cases.map(({ input, expect: { tool, args, extras }, trials }) => ({
          input,
          tools: [tool],
          args,
          extras,
          trials,
        }));
        for (const suite of suites) {
          const read = suite.cases.map(({ messages, expect: expectation, trials }) => {
            const found = expectation?.kind === "tool" ? expectation : undefined;
            return {
              input: messages[0]?.content,
              tools: found?.call.tools,
              args: found?.call.args,
              extras: found?.extras,
              trials,
            };
          });
          expect(read).toEqual(written);
        }
        expect(suites[0]?.cases.map(({ hash }) => hash)).toEqual(suites[1]?.cases.map(({ hash }) => hash));
      }),
    );
  });

  it("loads or throws EvalsError, whatever its content", async () => {
    const folder = await workspace({});
    const keys = fc.constantFrom(
      "cases",
      "evals",
      "input",
      "messages",
      "expect",
      "tool",
      "calls",
      "args",
      "server",
      "command",
      "url",
      "result",
      "matches",
      "anyOf",
      "gte",
      "tools",
      "__proto__",
      "skill",
      "x",
    );
    const { tree } = fc.letrec<{ tree: unknown; node: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6, withCrossShrink: true },
        fc.constantFrom<unknown>("x", "none", "(", 1, true, null, ""),
        tie("node"),
      ),
      node: fc.oneof(fc.array(tie("tree"), { maxLength: 3 }), fc.dictionary(keys, tie("tree"), { maxKeys: 4 })),
    }));
    const content = fc.oneof(
      fc.jsonValue(),
      tree,
      fc.array(tree).map((cases): JsonObject => JSON.parse(JSON.stringify({ cases }))),
    );
    await fc.assert(
      fc.asyncProperty(content, async (data) => {
        await writeFile(join(folder, "s.json"), JSON.stringify(data));
        const result = await loadSuites(["s.json"], { cwd: folder }).catch((error: unknown) => error);
        if (result instanceof EvalsError) {
          expect(result.problems.some(({ severity }) => severity === "error")).toBe(true);
          expect(result.problems.every(({ location }) => location?.file === "s.json")).toBe(true);
        } else expect(result).toMatchObject({ suites: [expect.anything()] });
      }),
      { numRuns: 500 },
    );
  });
});

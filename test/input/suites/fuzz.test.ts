import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { EvalsError } from "../../../src/evals/base/types/errors.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { workspace } from "./workspace.ts";

describe("any suite", () => {
  it("loads or throws EvalsError, whatever its content", async () => {
    const folder = await workspace({});
    const keys = fc.constantFrom(
      ...["cases", "evals", "input", "messages", "expect", "tool", "calls", "args", "server", "command", "url"],
      ...["result", "matches", "anyOf", "gte", "tools", "__proto__", "skill", "x"],
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

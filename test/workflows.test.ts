import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

const step = z.looseObject({
  uses: z.string().optional(),
  run: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const workflow = z.looseObject({
  jobs: z.record(
    z.string(),
    z.looseObject({ steps: z.array(step), permissions: z.record(z.string(), z.string()).optional() }),
  ),
});
const folder = new URL("../.github/workflows/", import.meta.url);
const workflows = readdirSync(folder).map((name) => {
  const text = readFileSync(new URL(name, folder), "utf8");
  return { name, text, ...workflow.parse(parse(text)) };
});

describe("the workflows", () => {
  it.each(workflows)("$name pins each action by its commit and names its version", ({ text }) => {
    const uses = [...text.matchAll(/uses: (.*)/g)].map(([, used]) => used);
    expect(uses.length).toBeGreaterThan(0);
    for (const used of uses) expect(used).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it("publish in a job that has the token and runs nothing of the repository or of its dependencies", () => {
    const mayPublish = workflows.flatMap(({ jobs }) =>
      Object.values(jobs).filter(
        ({ permissions, steps }) =>
          permissions?.["id-token"] === "write" ||
          steps.some(({ env }) => JSON.stringify(env ?? {}).includes("secrets.")),
      ),
    );
    expect(mayPublish).toHaveLength(1);
    const steps = mayPublish[0]?.steps ?? [];
    expect(steps.flatMap(({ uses }) => uses?.replace(/@.*/, "") ?? [])).toEqual([
      "actions/download-artifact",
      "actions/setup-node",
    ]);
    expect(steps.flatMap(({ run }) => run ?? [])).toEqual([
      expect.stringContaining("sha256sum --check"),
      "npm publish tool-evals.tgz --ignore-scripts --provenance --access public",
    ]);
  });
});

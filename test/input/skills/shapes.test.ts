import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import { readEvals, skillText, workspace } from "./workspace.ts";

const folder = join(import.meta.dirname, "../../fixtures/skills/shapes");
const shapes = readdirSync(folder).filter((name) => name.endsWith(".json"));

/** What the files of some shapes name, each in the place that it is to be found in. */
const files = {
  "skills/demo/SKILL.md": skillText("demo"),
  "skills/demo/notes.txt": "notes of the package\n",
  "skills/demo/evals/notes.txt": "never reached: the package goes before\n",
  "skills/demo/evals/files/input.csv": "a,b\n",
  "skills/demo/evals/input.csv": "c,d\n",
  "skills/demo/picture.png": new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff]),
  "input.csv": "never reached: evals/ goes before\n",
  "shared/config.ini": "x=1\n",
};

describe("the shapes of eval files", () => {
  it.each(shapes)("%s is converted to the common form", async (shape) => {
    const name = shape.startsWith("trigger-") ? "trigger-eval.json" : "evals.json";
    const made = workspace({ ...files, [`skills/demo/evals/${name}`]: readFileSync(join(folder, shape)) });
    const read = await readEvals(made);
    if (typeof read === "string") throw new Error(read);
    const lines = [
      ...read.evals.map((one) => JSON.stringify(one, null, 1).replace(/\n\s*/g, " ")),
      ...read.warnings.map(formatProblem),
    ];
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(join(folder, shape.replace(".json", ".txt")));
    expect(read.files).toEqual([`skills/demo/evals/${name}`]);
    expect(existsSync(join(made, "executed"))).toBe(false);
  });
});

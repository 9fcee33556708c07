import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const cli = join(import.meta.dirname, "../../dist/evals/cli.js");

/** Imports a source, without and with running it; the suite of each, or what was printed where none was written. */
async function importBoth(source: string) {
  const cwd = mkdtempSync(join(tmpdir(), "import-"));
  mkdirSync(join(cwd, "src"));
  writeFileSync(join(cwd, "src/tools.json"), JSON.stringify(["find", "count"]));
  writeFileSync(
    join(cwd, "src/other.test.ts"),
    'import { describeAccuracyTests } from "./sdk.js";\nexport const database = "shop";\n' +
      'describeAccuracyTests([{ prompt: "Other", expectedToolCalls: [] }]);\n',
  );
  writeFileSync(join(cwd, "src/a.test.ts"), source);
  const run = async (out: string, ...flags: string[]) => {
    const args = [cli, "import", "src/a.test.ts", "--output", out, ...flags];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
    const file = join(cwd, out, "mongodb.yaml");
    return { stdout, suite: existsSync(file) ? readFileSync(file, "utf8") : "" };
  };
  return { cwd, parsed: await run("parsed"), run: await run("run", "--execute-source") };
}

const source = `import { readFileSync } from "node:fs";
import path from "node:path";
import { describeAccuracyTests } from "./sdk.js";
import { Matcher } from "./sdk.js";
import { database } from "./other.test.js";
import { z } from "zod";

const names: string[] = JSON.parse(readFileSync(path.join(__dirname, "tools.json"), "utf8"));
const schema = z.object({ name: z.string() });
beforeAll(() => { throw new Error("not run"); });

describe.each(["one model"])("%s", () => {
  describeAccuracyTests([
    { prompt: "How many?", expectedToolCalls: [{ toolName: "count", parameters: { database, limit: Matcher.number((n) => n <= 5) } }] },
    ...names.map((toolName) => ({ prompt: \`Use \${toolName}\`, expectedToolCalls: [{ toolName, parameters: {} }] })),
    { prompt: schema.description, expectedToolCalls: [] },
  ]);
});
`;

it("runs a source for what cannot be known by parsing it, and names what a package would have told", async () => {
  const { parsed, run } = await importBoth(source);
  expect(parsed.suite).toMatchSnapshot("parsed");
  expect(parsed.stdout).toContain("To resolve what a source loads or computes, run it with --execute-source.");
  expect(run.suite).toMatchSnapshot("run");
});

it("lets a source neither write files nor start programs, and keeps what was parsed of one that fails", async () => {
  const { cwd, run } = await importBoth(`import { writeFileSync } from "node:fs";
import { describeAccuracyTests } from "./sdk.js";
describeAccuracyTests([{ prompt: "Kept", expectedToolCalls: [] }]);
writeFileSync("written.txt", "x");
`);
  expect(existsSync(join(cwd, "written.txt"))).toBe(false);
  expect(run.suite).toContain("input: Kept");
  expect(run.stdout).toContain("what only running the source could find out: it could not be run");
});

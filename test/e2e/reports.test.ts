import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { validator } from "../reports/sarif.ts";
import { evals, workspace } from "./evals.ts";
import { spoilable } from "./spoiled.ts";

// Reports of records. What they hold, in every form: goldens.test.ts.

const dir = workspace();

const run = (...args: string[]) => evals(args, { cwd: dir, env: { HOME: dir, ANTHROPIC_API_KEY: "" } });

let suite = "";

beforeAll(async () => {
  const files = await spoilable(dir);
  suite = files.suite;
  await run("run", suite, "--check", "off", "--fail-on", "rate");
  writeFileSync(
    join(dir, "variants.json"),
    JSON.stringify({ variants: { clear: { get_file_info: "When a file was modified." } } }),
  );
  await run("variants", "variants.json", suite);
});

const show = async (form: string) => (await run("show", "variants", "--format", form)).out;

it("writes the forms with a file beside each record", async () => {
  const record = join(dir, "reports", JSON.parse(await show("json")).run);
  expect(readFileSync(join(record, "junit.xml"), "utf8")).toBe(await show("junit"));
  expect(readFileSync(join(record, "summary.md"), "utf8")).toBe(await show("markdown"));
});

it("prints what the command itself prints with --json", async () => {
  const shown = JSON.parse(await show("json"));
  const again = await run("variants", "--resume", shown.run, "--json");
  expect(JSON.parse(again.out)).toEqual(shown);
});

it("asks to finish an experiment that has no result on its record", async () => {
  const { run: id } = JSON.parse(await show("json"));
  const file = join(dir, "reports", id, "run.json");
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  delete manifest.experiment.result;
  writeFileSync(file, JSON.stringify(manifest));
  const { code, err } = await run("show", id);
  expect([code, err.replaceAll(id, "RUN")]).toMatchSnapshot();
  expect((await run("variants", "--resume", id)).code).toBe(0);
  expect((await run("show", id)).code).toBe(0);
});

it("asks to run an experiment again whose result another version has written", async () => {
  const { run: id } = JSON.parse(await show("json"));
  const file = join(dir, "reports", id, "run.json");
  const written = readFileSync(file, "utf8");
  const manifest = JSON.parse(written);
  manifest.experiment.result = {};
  writeFileSync(file, JSON.stringify(manifest));
  const { code, err } = await run("show", id);
  writeFileSync(file, written);
  expect(code).toBe(2);
  expect(err).toMatch(
    /^error: The result of the record .* cannot be read: .*\n {2}Another version of tool-evals wrote it\. Run `evals variants` again\.\n$/s,
  );
});

// The official validator has no build for Linux on other processors.
const hasValidator = process.platform !== "linux" || process.arch === "x64";
if (!hasValidator) console.warn(`Skipped: the validator of SARIF does not run on ${process.arch}.`);
it.runIf(hasValidator)("has SARIF without an error or a warning in the official validator", async () => {
  // npm may not have run its install script.
  chmodSync(validator, 0o755);
  const lint = await run("lint", "--tools", "tools.json", "--format", "sarif", "--failure-threshold", "info");
  writeFileSync(join(dir, "lint.sarif"), lint.out);
  const reporter = join(import.meta.dirname, "../../examples/reporters/sarif.mjs");
  const { out } = await run("run", suite, "--check", "off", "--json", "--reporter", `custom:${reporter}`);
  const log = join(JSON.parse(out).dir, "run.sarif");
  const env = { ...process.env, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: "1" };
  const validate = (...files: string[]) =>
    spawnSync(validator, ["validate", ...files, "--output", "found.sarif", "--log", "ForceOverwrite"], {
      ...{ cwd: dir, env, encoding: "utf8" },
    });
  const { stdout, status } = validate("lint.sarif", log);
  expect(stdout).toContain("2 files scanned");
  expect(status).toBe(0);
  const found = JSON.parse(readFileSync(join(dir, "found.sarif"), "utf8")).runs[0].results ?? [];
  expect(found.map((one: { ruleId: string; message: object }) => [one.ruleId, one.message])).toEqual([]);
  // A log without a tool is refused, so that an empty list means something.
  writeFileSync(join(dir, "bad.sarif"), JSON.stringify({ version: "2.1.0", runs: [{ results: [{}] }] }));
  expect(validate("bad.sarif").stdout).toMatch(/error/);
});

import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type Ended, evals, summaryOf, workspace } from "./evals.ts";

const dir = workspace();
const baselines = join(dir, "evals/baselines");
const filesBaseline = join(baselines, "files.lexical-2.json");

const tools = (description: string, path = "Where the file is.") => [
  {
    name: "read_file",
    description,
    inputSchema: { type: "object", properties: { path: { type: "string", description: path } }, required: ["path"] },
  },
  { name: "list_folder", description: "List the files in a folder.", inputSchema: { type: "object" } },
];
const suite = `name: files
server: { tools: tools.json }
cases:
  - { id: read, input: Read the contents of the file notes.txt, expect: { tool: read_file } }
  - { id: list, input: Which files are in my folder? List them, expect: { tool: list_folder } }
`;
const write = (file: string, text: string) => writeFileSync(join(dir, file), text);
const list = (...of: Parameters<typeof tools>) => write("evals/tools.json", JSON.stringify(tools(...of)));

beforeEach(() => {
  for (const made of [baselines, join(dir, "reports"), join(dir, ".git")])
    rmSync(made, { recursive: true, force: true });
  for (const name of readdirSync(join(dir, "evals")).filter((file) => /\.(yaml|json)$/.test(file)))
    rmSync(join(dir, "evals", name));
  write("evals/files.yaml", suite);
  list("Read the complete contents of one file as text.");
});

/** What was printed, without what differs from run to run. */
function steady({ code, out, err }: Ended): { code: number | null; out: string; err: string } {
  const clean = (text: string) =>
    text
      .replaceAll(`${dir}/`, "")
      .replace(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}/g, "RUN")
      .replace(/\d{4}-\d\d-\d\d(T[\d:.]+Z)?/g, "DATE")
      .replace(/v\d+\.\d+\.\d+/g, "VERSION")
      .replace(/tool-evals \d\S+/g, "tool-evals VERSION");
  return { code, out: clean(out), err: clean(err) };
}

const baseline = async (...args: string[]) => steady(await evals(["baseline", ...args], { cwd: dir }));
const verify = async (...args: string[]) => steady(await evals(["baseline", "verify", ...args], { cwd: dir }));
/** Leaves a run of the suite as it stands at first, and its baseline. Made once; later calls put it back. */
async function acceptBaseline(): Promise<void> {
  const kept = join(dir, "kept");
  if (!existsSync(kept)) {
    await run("evals/files.yaml");
    await baseline("accept");
    cpSync(join(dir, "reports"), join(kept, "reports"), { recursive: true });
    cpSync(baselines, join(kept, "baselines"), { recursive: true });
  }
  cpSync(join(kept, "reports"), join(dir, "reports"), { recursive: true });
  cpSync(join(kept, "baselines"), baselines, { recursive: true });
}

const run = (...args: string[]) => evals(["run", ...args, "--json"], { cwd: dir });

/** What is said of a command that is refused. */
async function refusal(...args: string[]): Promise<string> {
  const { code, out, err } = await baseline(...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  return err;
}

// A first baseline, one that is shown, and tools that are verified: test/e2e/goldens.
describe("evals baseline", () => {
  it("names each wording that changed, until it is accepted", async () => {
    await acceptBaseline();
    list("Get the contents of one file as text.", "The absolute path of the file.");
    write("evals/files.yaml", `${suite}  - { id: weather, input: Will it rain?, expect: { tool: none } }\n`);
    const { code, out } = await verify("evals/files.yaml");
    expect(code).toBe(1);
    expect(out).toContain("lexical-2: 1 of 3 cases covered, accepted DATE\n");
    expect(out).toMatch(/\nread {5}its tool changed {5}read_file\nweather {2}not in the baseline\n/);
    expect(out).toContain("  read_file.path: description\n    [-Where-]{+The absolute path of+} the file [-is-].\n");
    await run("evals/files.yaml", "--check", "off");
    expect(await baseline("accept")).toMatchObject({ code: 0, err: "" });
    expect(await verify()).toMatchObject({ code: 0, out: expect.stringMatching(/^VERIFIED/) });
  });

  it("names what has no counterpart: a baseline without a suite, a suite without a baseline", async () => {
    await acceptBaseline();
    write("evals/files.yaml", suite.replace("name: files", "name: folders"));
    const { code, out } = await verify();
    expect(code).toBe(1);
    expect(out).toMatch(
      /^NOT ACCEPTED: folders has no baseline\.\n {2}Next: `evals run evals\/files\.yaml`, then `evals baseline accept`\.\n/,
    );
    expect(out).toContain("\nBaselines without a suite\n  evals/baselines/files.lexical-2.json\n");
    expect(out).toContain("\nExit code: 1, because of --fail-on unaccepted\n");
  });

  it("keeps the commit, and warns when it is not what ran", async () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: dir });
    git("init", "-q");
    git("add", "evals/tools.json");
    git("commit", "-q", "-m", "tools");
    await run("evals/files.yaml");
    expect(await baseline("accept")).toMatchObject({ code: 0, err: "" });
    list("Get it.");
    await run("evals/files.yaml", "--check", "off");
    const { err } = await baseline("accept");
    expect(err.replace(/[0-9a-f]{12}/, "COMMIT")).toMatchInlineSnapshot(`
      "warning: The run was made with changes that are not in commit COMMIT.
        Commit, run and accept again if the commit should identify these tools.
      "
    `);
  });
});

describe("bad input", () => {
  it("says what to do where there is no run, or more than one run", async () => {
    const none = await refusal("accept");
    await acceptBaseline();
    expect([none, await refusal("accept", "one", "two")]).toMatchSnapshot();
  });

  it("refuses an incomplete run, unless it is forced", async () => {
    const { dir: folder } = summaryOf(await run("evals/files.yaml"));
    const [first = ""] = readFileSync(join(folder, "trials.jsonl"), "utf8").split("\n");
    writeFileSync(join(folder, "trials.jsonl"), `${first}\n`);
    expect(await refusal("accept")).toMatchInlineSnapshot(`
      "error: The run RUN is incomplete: 1 trial missing.
        Finish it with \`evals run --resume RUN\`, or accept it as it is with --force.
      "
    `);
    expect(existsSync(baselines)).toBe(false);
    expect(await baseline("accept", basename(folder), "--force")).toEqual({
      code: 0,
      err: 'warning: "files" on lexical-2 has no graded trial of list.\n  Run it again and accept that run, to know how they pass.\n',
      out: expect.stringMatching(/^ACCEPTED files · lexical-2 · 2 cases, 2 tools, 1 of 1 trial passed\n/),
    });
  });

  it("refuses a run in which nothing was graded", async () => {
    write("evals/files.yaml", suite.replace("{ tools: tools.json }", "{ command: node, args: [-e, process.exit(3)] }"));
    await run("evals/files.yaml");
    expect(await refusal("accept", "--force")).toMatchInlineSnapshot(`
      "error: The run RUN has no graded trial of files on lexical-2.
        Find the cause with \`evals show\`, then run again.
      "
    `);
    expect(existsSync(baselines)).toBe(false);
  });

  it("reports a server that does not start after everything that could be compared", async () => {
    write("evals/other.yaml", suite.replace("name: files", "name: other"));
    await run("evals");
    await baseline("accept");
    write("evals/files.yaml", suite.replace("{ tools: tools.json }", "{ command: node, args: [-e, process.exit(3)] }"));
    const { code, out, err } = await verify();
    expect({ code, out }).toMatchSnapshot();
    expect(err).toBe("");
  });

  it("refuses a baseline that was edited by hand, until it is accepted anew", async () => {
    await acceptBaseline();
    writeFileSync(filesBaseline, readFileSync(filesBaseline, "utf8").replace('"passed": 1', '"passed": 0'));
    const message = "The baseline was edited by hand: checksum mismatch.\n";
    expect(await refusal("verify")).toContain(`evals/baselines/files.lexical-2.json: error: ${message}`);
    expect(await baseline("accept")).toMatchObject({
      code: 0,
      err: `evals/baselines/files.lexical-2.json: warning: ${message}  It is replaced.\n`,
    });
    expect(await verify()).toMatchObject({ code: 0, out: expect.stringMatching(/^VERIFIED/) });
  });

  it("does not overwrite the baseline of another suite", async () => {
    write("evals/other.yaml", suite.replace("name: files", "name: other"));
    await run("evals/other.yaml");
    await baseline("accept");
    copyFileSync(join(baselines, "other.lexical-2.json"), filesBaseline);
    await run("evals/files.yaml", "--check", "off");
    expect(await refusal("accept")).toContain('The baseline is of "other" on lexical-2, not of "files" on lexical-2.');
    expect(readFileSync(filesBaseline)).toEqual(readFileSync(join(baselines, "other.lexical-2.json")));
  });
});

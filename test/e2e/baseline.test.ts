import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { baselineSchema } from "../../src/evals/base/types/check.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
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

describe("evals baseline", () => {
  it("accepts the latest run, shows it, and finds the live tools unchanged", async () => {
    await run("evals/files.yaml");
    expect(await baseline("accept")).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "",
        "out": "ACCEPTED files · lexical-2 · 2 cases, 2 tools, 2 of 2 trials passed
        Written to evals/baselines/files.lexical-2.json
        The first baseline of this suite and model.
        Next: commit the file; \`evals run\` compares with it once the tools change.
      ",
      }
    `);
    expect(baselineSchema.parse(JSON.parse(readFileSync(filesBaseline, "utf8")))).toMatchObject({
      suite: "files",
      cases: [
        { id: "list", passed: 1, trials: 1 },
        { id: "read", passed: 1, trials: 1 },
      ],
    });
    expect(await baseline("show")).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "",
        "out": "files · lexical-2 · 2 cases, 2 tools, 2 of 2 trials passed
        File: evals/baselines/files.lexical-2.json
        Accepted: DATE · from run RUN
        Written by: tool-evals VERSION · Node VERSION · host plain
        Model: retrieval baseline, deterministic, {"search":"BM25 over name, description and parameter
          names","leastShare":0.3333333333333333,"judged":"tools alone"}
        Tools: list_folder, read_file

      case  passed
      ────────────────
      list  1/1 (100%)
      read  1/1 (100%)
      ",
      }
    `);
    expect(await baseline("show", "files")).toEqual(await baseline("show", "evals/baselines/files.lexical-2.json"));
    expect(await verify()).toEqual({
      code: 0,
      out: expect.stringMatching(/^VERIFIED: 1 baseline matches the current tools and cases\.\n/),
      err: "",
    });
  });

  it("names each wording that changed, before and after it is accepted", async () => {
    await acceptBaseline();
    list("Get the contents of one file as text.", "The absolute path of the file.");
    write("evals/files.yaml", `${suite}  - { id: weather, input: Will it rain?, expect: { tool: none } }\n`);
    expect(await verify("evals/files.yaml")).toMatchInlineSnapshot(`
      {
        "code": 1,
        "err": "",
        "out": "OUTDATED: the baselines do not cover 2 of 3 cases as they are now.
        Next: \`evals run evals/files.yaml\`, then \`evals baseline accept\`.

      files (evals/files.yaml)

      lexical-2: 1 of 3 cases covered, accepted DATE
      case     why                  changed
      ───────────────────────────────────────
      read     its tool changed     read_file
      weather  not in the baseline

      Tools of list, read:

        read_file: description
          [-Read-]{+Get+} the [-complete-] contents of one file as text.
        read_file.path: description
          [-Where-]{+The absolute path of+} the file [-is-].

      Baseline: evals/baselines/files.lexical-2.json

      Coverage of files: cases expect 2 of 2 tools
      tool       parameters that no case names
      ────────────────────────────────────────
      read_file  path

      Exit code: 1, because of --fail-on changed, stale
      ",
      }
    `);
    await run("evals/files.yaml", "--check", "off");
    expect(await baseline("accept")).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "",
        "out": "ACCEPTED files · lexical-2 · 3 cases, 2 tools, 3 of 3 trials passed
        Written to evals/baselines/files.lexical-2.json
        Next: commit the file; \`evals run\` compares with it once the tools change.

      Changes since the baseline of DATE (run RUN)
        read_file: description
          [-Read-]{+Get+} the [-complete-] contents of one file as text.
        read_file.path: description
          [-Where-]{+The absolute path of+} the file [-is-].

      Added (not compared): weather
      ",
      }
    `);
    expect(await verify()).toMatchObject({ code: 0, out: expect.stringMatching(/^VERIFIED/) });
  });

  it("reports the rates that changed, and how many trials a check needs", async () => {
    let right = true;
    const endpoint = await startMessagesEndpoint((body) => {
      const reads = right && JSON.stringify(body.messages).includes("notes.txt");
      return { calls: [reads ? { name: "read_file", input: { path: "notes.txt" } } : { name: "list_folder" }] };
    });
    const args = ["evals/files.yaml", "-m", "anthropic:x", "--base-url", endpoint.url, "--check", "off", "-n"];
    await run(...args, "20");
    expect(await baseline("accept")).toMatchObject({ code: 0, err: "" });
    right = false;
    await run(...args, "2");
    await endpoint.close();
    expect(await baseline("accept", "--force")).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "warning: "files" on anthropic:x has fewer than 3 graded trials of read (2), list (2).
        Checks ask both lists anew, but cannot tell how the model was: run with -n 3 or more.
      ",
        "out": "ACCEPTED files · anthropic:x · 2 cases, 2 tools, 2 of 4 trials passed
        Written to evals/baselines/files.anthropic-x-d796edf1.json
        Next: commit the file; \`evals run\` compares with it once the tools change.

      Changes since the baseline of DATE (run RUN)
        read: 20/20 (100%) before, 0/2 (0%) now
      ",
      }
    `);
  });

  it("names what has no counterpart: a baseline without a suite, a suite without a baseline", async () => {
    await acceptBaseline();
    write("evals/files.yaml", suite.replace("name: files", "name: folders"));
    expect(await verify()).toMatchInlineSnapshot(`
      {
        "code": 1,
        "err": "",
        "out": "NOT ACCEPTED: folders has no baseline.
        Next: \`evals run evals/files.yaml\`, then \`evals baseline accept\`.

      Coverage of folders: cases expect 2 of 2 tools
      tool       parameters that no case names
      ────────────────────────────────────────
      read_file  path

      Baselines without a suite
        evals/baselines/files.lexical-2.json

      Exit code: 1, because of --fail-on unaccepted
      ",
      }
    `);
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
  it("says what to do where there is no run, no baseline, or none of that name", async () => {
    expect(await baseline("accept")).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "error: There is no record of \`evals run\` under reports.
        Make one with \`evals run\`, or give its folder.
      ",
        "out": "",
      }
    `);
    expect(await verify()).toMatchInlineSnapshot(`
      {
        "code": 1,
        "err": "",
        "out": "NOT ACCEPTED: files has no baseline.
        Next: \`evals run evals/files.yaml\`, then \`evals baseline accept\`.

      Coverage of files: cases expect 2 of 2 tools
      tool       parameters that no case names
      ────────────────────────────────────────
      read_file  path

      Exit code: 1, because of --fail-on unaccepted
      ",
      }
    `);
    await acceptBaseline();
    expect(await baseline("show", "flies")).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "error: There is no baseline of a suite or in a file "flies".
        Did you mean "files"?
      ",
        "out": "",
      }
    `);
    expect(await baseline("accept", "one", "two")).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "error: Only one run can be accepted at a time.
        Name one run, or none for the latest.
      ",
        "out": "",
      }
    `);
  });

  it("refuses an incomplete run, unless it is forced", async () => {
    const { dir: folder } = summaryOf(await run("evals/files.yaml"));
    const [first = ""] = readFileSync(join(folder, "trials.jsonl"), "utf8").split("\n");
    writeFileSync(join(folder, "trials.jsonl"), `${first}\n`);
    expect(await baseline("accept")).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "error: The run RUN is incomplete: 1 trial missing.
        Finish it with \`evals run --resume RUN\`, or accept it as it is with --force.
      ",
        "out": "",
      }
    `);
    expect(existsSync(baselines)).toBe(false);
    expect(await baseline("accept", basename(folder), "--force")).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "warning: "files" on lexical-2 has no graded trial of list.
        They cannot be compared.
      ",
        "out": "ACCEPTED files · lexical-2 · 2 cases, 2 tools, 1 of 1 trial passed
        Written to evals/baselines/files.lexical-2.json
        The first baseline of this suite and model.
        Next: commit the file; \`evals run\` compares with it once the tools change.
      ",
      }
    `);
  });

  it("refuses a run in which nothing was graded", async () => {
    write("evals/files.yaml", suite.replace("{ tools: tools.json }", "{ command: node, args: [-e, process.exit(3)] }"));
    await run("evals/files.yaml");
    expect(await baseline("accept", "--force")).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "error: The run RUN has no graded trial of files on lexical-2.
        Find the cause with \`evals show\`, then run again.
      ",
        "out": "",
      }
    `);
    expect(existsSync(baselines)).toBe(false);
  });

  it("reports a server that does not start after everything that could be compared", async () => {
    write("evals/other.yaml", suite.replace("name: files", "name: other"));
    await run("evals");
    await baseline("accept");
    write("evals/files.yaml", suite.replace("{ tools: tools.json }", "{ command: node, args: [-e, process.exit(3)] }"));
    const { code, out, err } = await verify();
    expect({ code, out }).toMatchInlineSnapshot(`
      {
        "code": 3,
        "out": "NOT VERIFIED: the tools of files could not be listed.
        VERIFIED: 1 baseline matches the current tools and cases.
        Next: find out why with \`evals doctor\`.

      files (evals/files.yaml)

      Server "files" exited with code 3.

      Coverage of other: cases expect 2 of 2 tools
      tool       parameters that no case names
      ────────────────────────────────────────
      read_file  path
      ",
      }
    `);
    expect(err).toBe("");
  });

  it("refuses a baseline that is truncated, older or edited by hand, until it is accepted anew", async () => {
    await acceptBaseline();
    const whole = readFileSync(filesBaseline, "utf8");
    writeFileSync(filesBaseline, whole.slice(0, 200));
    expect(await verify()).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "evals/baselines/files.lexical-2.json:7:23: error: The baseline is not JSON: it is truncated.
        Accept it again: \`evals run -n 20 --check off\`, then \`evals baseline accept\`.
      ",
        "out": "",
      }
    `);
    writeFileSync(filesBaseline, whole.replace("baseline 1", "baseline 0"));
    expect(await verify()).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "evals/baselines/files.lexical-2.json: error: The baseline was written by another version of tool-evals: its format is "tool-evals baseline 0", this version reads "tool-evals baseline 1".
        Accept it again: \`evals run -n 20 --check off\`, then \`evals baseline accept\`.
      ",
        "out": "",
      }
    `);
    writeFileSync(filesBaseline, whole.replace('"passed": 1', '"passed": 0'));
    expect(await baseline("show")).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "evals/baselines/files.lexical-2.json: error: The baseline was edited by hand: checksum mismatch.
        Accept it again: \`evals run -n 20 --check off\`, then \`evals baseline accept\`.
      ",
        "out": "",
      }
    `);
    expect(await baseline("accept")).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "evals/baselines/files.lexical-2.json: warning: The baseline was edited by hand: checksum mismatch.
        It is replaced without a comparison.
      ",
        "out": "ACCEPTED files · lexical-2 · 2 cases, 2 tools, 2 of 2 trials passed
        Written to evals/baselines/files.lexical-2.json
        Next: commit the file; \`evals run\` compares with it once the tools change.
      ",
      }
    `);
    expect(await verify()).toMatchObject({ code: 0 });
  });

  it("does not overwrite the baseline of another suite", async () => {
    write("evals/other.yaml", suite.replace("name: files", "name: other"));
    await run("evals/other.yaml");
    await baseline("accept");
    copyFileSync(join(baselines, "other.lexical-2.json"), filesBaseline);
    await run("evals/files.yaml", "--check", "off");
    expect(await baseline("accept")).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "evals/baselines/files.lexical-2.json: error: The baseline is of "other" on lexical-2, not of "files" on lexical-2.
        Move the file away, because it was copied or renamed, then accept a baseline for this suite.
      ",
        "out": "",
      }
    `);
    expect(readFileSync(filesBaseline)).toEqual(readFileSync(join(baselines, "other.lexical-2.json")));
  });
});

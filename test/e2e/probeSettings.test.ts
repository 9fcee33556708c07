import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProbeReport } from "../../src/evals/inspection/probe/report.ts";
import { makeFolder } from "../fakes/folder.ts";
import { evals } from "./evals.ts";

const bad = join(import.meta.dirname, "../fixtures/servers/bad.mjs");

function folder(): string {
  const dir = makeFolder();
  return dir;
}

/** The report of a probe in a folder, with its exit code and messages. */
async function probe(cwd: string, server: string, ...more: string[]) {
  const args = ["probe", "--server", server, "--seed", "1", "--timeout", "2", "--json", ...more];
  const { code, out, err } = await evals(args, { cwd });
  const { servers } = JSON.parse(out) as ProbeReport;
  return { code, err, findings: servers.flatMap((one) => one.findings), servers };
}

describe("evals probe with the settings of lint", () => {
  it("suppresses findings with their reason, and turns rules off", async () => {
    const cwd = folder();
    const tool = ["--tool", "get_a*"];
    const before = await probe(cwd, `node ${bad}`, ...tool);
    const [first] = before.findings;
    if (!first) throw new Error("nothing was found");
    mkdirSync(join(cwd, "evals"));
    const ignore = [{ rule: first.rule, tool: first.location.tool, reason: "known until 2.0" }];
    writeFileSync(join(cwd, "evals/lint.yaml"), JSON.stringify({ ignore }));
    const after = await probe(cwd, `node ${bad}`, ...tool);
    const isFirst = ({ rule, location }: typeof first) => rule === first.rule && location.tool === first.location.tool;
    expect(after.findings.filter(isFirst)).toEqual(
      before.findings.filter(isFirst).map(({ rule, location }) => expect.objectContaining({ rule, location })),
    );
    expect(JSON.stringify(after.findings.filter(isFirst))).toContain("known until 2.0");
    const off = await probe(cwd, `node ${bad}`, ...tool, "--severity", `${first.rule}=off`);
    expect(off.findings.filter(({ rule }) => rule === first.rule)).toEqual([]);
  });
});

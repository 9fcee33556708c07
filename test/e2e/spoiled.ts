import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { runManifestSchema } from "../../src/evals/base/types/run.ts";
import type { Tool } from "../../src/evals/base/types/tool.ts";
import { evals, summaryOf } from "./evals.ts";

type Case = { id: string; input: string; expect: { tool: string | string[]; [key: string]: unknown } };
type Suite = { server: object; cases: Case[] };

/** The tool whose description is spoiled. */
const spoiled = "get_file_info";

/** Descriptions that are changed beside it, to no effect. */
const reworded = [
  ...["read_text_file", "read_media_file", "read_multiple_files", "write_file", "edit_file", "create_directory"],
  ...["list_directory"],
];

const reword = (tool: Tool): Tool => {
  if (tool.name === spoiled) return { ...tool, description: "Gives a report on something." };
  if (!reworded.includes(tool.name)) return tool;
  return { ...tool, description: tool.description?.replace("Only works within", "Limited to") ?? "" };
};

/**
 * The filesystem example over a copy of its real server's list, so that the list can be changed: the cases that are about
 * choosing one tool. `spoil` rewords eight descriptions, one of them for the worse.
 */
export async function spoilable(dir: string): Promise<{ suite: string; spoil(): void }> {
  const { dir: record } = summaryOf(await evals(["run", "evals/filesystem.yaml", "--json"], { cwd: dir }));
  const manifest = runManifestSchema.parse(JSON.parse(readFileSync(join(record, "run.json"), "utf8")));
  const [list = []] = Object.values(manifest.toolsets);
  const tools = list.map(({ server, origin, ...tool }): Tool => tool);
  const write = (changed: readonly Tool[]) => writeFileSync(join(dir, "tools.json"), JSON.stringify(changed));
  write(tools);
  const example = parse(readFileSync(join(dir, "evals/filesystem.yaml"), "utf8")) as Suite;
  const cases = example.cases.map(({ id, input, expect: { tool } }) => ({ id, input, expect: { tool } }));
  const suite = { name: "files", server: { tools: "tools.json" }, execute: "never", maxTurns: 1, cases };
  writeFileSync(join(dir, "files.yaml"), stringify(suite));
  return { suite: "files.yaml", spoil: () => write(tools.map(reword)) };
}

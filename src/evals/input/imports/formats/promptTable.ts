import { isJsonObject } from "../../../base/types/json.ts";
import { asText, malformed, parseData } from "./data.ts";
import { type Format, type ImportedCase, keep, leaveOut } from "./imported.ts";

const interactions: Readonly<Record<string, string>> = {
  "clarification-required": "the query lacks parameters that the user has to give first",
  "context-required": "the query needs an attachment or a project that is not in the file",
  "investigation-required": "its source marks the expected tool as not certain",
};

const head = /^\|\s*Tool Name\s*\|\s*Test Prompt\s*\|/i;

/** Splits a row into cells. Backticks around the first one, the tool, are removed. */
function splitRow(line: string): string[] {
  const row = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  const [tool = "", ...cells] = row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  return [tool.replace(/^`(.*)`$/, "$1"), ...cells];
}

/** A Markdown table of `tool | prompt | interaction`, as in e2eTestPrompts.md of microsoft/mcp. */
export const promptTable: Format = {
  name: "prompt-table",
  label: "Markdown table of prompts (microsoft/mcp)",
  hasPlaceholders: true,
  recognizes: ({ file, text }) => /\.md$/i.test(file) && text.split("\n").some((line) => head.test(line)),
  async read({ file, text }) {
    let isInTable = false;
    const cases = text.split(/\r?\n/).flatMap((line, at): ImportedCase[] => {
      const isHead = head.test(line);
      const isRow = isInTable && /^\|/.test(line) && !/^[\s|:-]+$/.test(line);
      isInTable = isHead || (isInTable && /^\|/.test(line));
      if (isHead || !isRow) return [];
      const [tool = "", ...cells] = splitRow(line);
      const interaction = cells.length > 1 && /^[a-z-]+$/.test(cells.at(-1) ?? "") ? cells.pop() : undefined;
      const prompt = cells.join(" | ");
      const common = { name: prompt, location: { file, line: at + 1 }, losses: [] };
      if (prompt === "") return [leaveOut({ ...common, name: tool }, "the row has no prompt")];
      if (!/^[\w.-]+$/.test(tool)) return [leaveOut(common, "the row does not begin with the name of a tool")];
      const reason = interaction === undefined ? undefined : interactions[interaction];
      if (reason !== undefined) return [leaveOut(common, `${interaction}: ${reason}`)];
      if (interaction !== undefined && interaction !== "none")
        return [leaveOut(common, `unknown interaction "${interaction}"`)];
      return [keep(common, { input: prompt, expect: { tool } })];
    });
    return { file, cases, losses: [] };
  },
};

/** The same as a JSON object of lists: `{ tool: [prompt, ...] }`. */
export const promptLists: Format = {
  name: "prompt-lists",
  label: "JSON lists of prompts by tool (microsoft/mcp)",
  hasPlaceholders: true,
  recognizes: ({ file, text }) => /prompts\.json$/i.test(file) && /^\s*\{\s*"[^"]+"\s*:\s*\[/.test(text),
  async read(source) {
    const parsed = await parseData(source);
    const { value } = parsed;
    if (!isJsonObject(value)) throw malformed(parsed, [], "The file must be an object of lists by tool.");
    const cases = Object.entries(value).flatMap(([tool, list]) => {
      if (!Array.isArray(list)) throw malformed(parsed, [tool], `"${tool}" must be a list of prompts.`);
      return list.map((entry, at) => {
        const input = asText(entry);
        const common = { name: input ?? tool, location: parsed.location([tool, at]), losses: [] };
        return input === undefined
          ? leaveOut(common, "the prompt is not a text")
          : keep(common, { input, expect: { tool } });
      });
    });
    return { file: source.file, cases, losses: [] };
  },
};

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { startModels } from "./models.ts";
import { isShown, linesOf, refresh } from "./output.ts";
import { type Block, generatedPage, pagePaths, readPage, root } from "./page.ts";
import { openShell, type Shell } from "./shell.ts";

// Runs every command of the pages, in the order of the page. A comment `<!-- copy: docs/example -->` copies a folder of the
// repository into the page's own folder, `<!-- copy: evals/skills .claude/skills -->` to another place in it; with
// `fresh` for `copy` the folder has nothing else, so that what follows stands alone. A block with a file's name after
// its language is that file, or a change of it (`diff`). DOCS_UPDATE=1 (npm run docs:update) writes what is printed now
// into the pages instead of comparing it.
const isUpdate = process.env.DOCS_UPDATE === "1";

/** A command with the lines that the page shows below it, if it shows any, and its lines in the page (0-based). */
type Step = { command: string; shown?: { from: number; lines: string[] } };

const isWorkflow = ({ lang, text }: Block) => lang === "yaml" && /^jobs:/m.test(text);
const isRunnable = (block: Block) => block.lang === "sh" || block.lang === "console" || isWorkflow(block);
const noteOf = ({ notes }: Block, key: string) =>
  notes.find((note) => note.startsWith(`${key}: `))?.slice(key.length + 2);

/** `sh`: commands alone, a line each; `console`: commands after `$ `, each with its output. */
function stepsOf({ lang, line, text }: Block): Step[] {
  const steps: Step[] = [];
  let isContinued = false;
  for (const [index, one] of text.split("\n").entries()) {
    const last = steps.at(-1);
    const isCommand = lang === "sh" ? one.trim() !== "" && !one.startsWith("#") : one.startsWith("$ ");
    if (isContinued && last) {
      last.command += `\n${one}`;
      if (last.shown) last.shown.from = line + index + 1;
    } else if (isCommand && lang === "sh") steps.push({ command: one });
    else if (isCommand) steps.push({ command: one.slice(2), shown: { from: line + index + 1, lines: [] } });
    else last?.shown?.lines.push(one);
    isContinued = (isCommand || isContinued) && one.endsWith("\\");
  }
  return steps;
}

/** The commands of a workflow that run the program. */
function stepsOfWorkflow({ text }: Block): Step[] {
  const jobs = Object.values((parse(text) as { jobs: Record<string, { steps: { run?: string }[] }> }).jobs);
  return jobs
    .flatMap(({ steps }) => steps)
    .flatMap(({ run = "" }) => run.split("\n"))
    .filter((command) => command.startsWith("npx evals"))
    .map((command) => ({ command }));
}

const notRun: string[] = [];
const counts = { run: 0, compared: 0 };
let models: Awaited<ReturnType<typeof startModels>>;
beforeAll(async () => {
  models = await startModels();
});
afterAll(async () => {
  await models.close();
  console.log(
    [`Commands run: ${counts.run}, of which ${counts.compared} with their output compared.`]
      .concat(`Not run: ${notRun.length}.`, ...notRun.map((one) => `  ${one}`))
      .join("\n"),
  );
});

describe.concurrent("commands", () => {
  const pages = pagePaths
    .filter((path) => path !== generatedPage)
    .map(readPage)
    .filter(({ blocks }) => blocks.some(isRunnable));
  it.each(pages.map((page) => [page.path, page] as const))("of %s run and print what it shows", async (path, page) => {
    const shell = openShell(models.env);
    const updates: { from: number; count: number; lines: string[] }[] = [];
    const wrong: string[] = [];
    try {
      const copies = page.comments.flatMap(({ line, text }) => {
        const [, how, from, to = "."] = /^(copy|fresh): (\S+)(?: (\S+))?$/.exec(text) ?? [];
        return from === undefined ? [] : [{ line, isFresh: how === "fresh", from, to }];
      });
      for (const block of page.blocks) {
        while (copies[0] && copies[0].line < block.line) {
          if (copies[0].isFresh) shell.clear();
          shell.copy(copies[0].from, copies[0].to);
          copies.shift();
        }
        if (block.file !== undefined && block.lang === "diff") shell.patch(block.file, block.text);
        else if (block.file !== undefined) shell.write(block.file, block.text);
        if (isRunnable(block)) wrong.push(...(await runBlock(shell, path, block, updates)));
      }
    } finally {
      shell.remove();
    }
    if (isUpdate) update(path, updates);
    expect(wrong.join("\n\n")).toBe("");
  });
});

/** Runs the commands of a block and says what is wrong: an exit code other than 0 or 1, or other output than shown. */
async function runBlock(
  shell: Shell,
  path: string,
  block: Block,
  updates: { from: number; count: number; lines: string[] }[],
): Promise<string[]> {
  const at = `${path}:${block.line}`;
  const reason = noteOf(block, "not run");
  const steps = isWorkflow(block) ? stepsOfWorkflow(block) : stepsOf(block);
  if (reason !== undefined) {
    notRun.push(...steps.map(({ command }) => `${at} ${command} (${reason})`));
    return [];
  }
  const wrong: string[] = [];
  const expected = noteOf(block, "exit code");
  for (const { command, shown } of steps) {
    const { code, output } = await shell.run(models.redirect(command));
    counts.run++;
    const isFine = expected === undefined ? code === 0 || code === 1 : String(code) === expected;
    if (!isFine) wrong.push(`${at}: $ ${command}\nexits with ${code}:\n${output}`);
    if (!shown) continue;
    counts.compared++;
    const printed = linesOf(output);
    if (isUpdate && isFine)
      updates.push({ from: shown.from, count: shown.lines.length, lines: refresh(shown.lines, printed) });
    else if (!isShown(shown.lines, printed))
      wrong.push(`${at}: $ ${command}\nprints other than is shown (npm run docs:update):\n${output}`);
  }
  return wrong;
}

function update(path: string, updates: readonly { from: number; count: number; lines: string[] }[]): void {
  const file = join(root, path);
  const lines = readFileSync(file, "utf8").split("\n");
  for (const { from, count, lines: shown } of updates.toReversed()) lines.splice(from, count, ...shown);
  writeFileSync(file, lines.join("\n"));
}

// Installs the Claude Code that the end-to-end tests drive, if it is not there yet, and prints the path of its program.
// TOOL_EVALS_CLAUDE names another folder to keep it in. Where it cannot be had, exits with 1 and says why on stderr.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const version = "2.1.328";
// The package of the platform holds the program itself: nothing has to run after it is installed.
const musl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime ? "-musl" : "";
const name = `@anthropic-ai/claude-code-${process.platform}-${process.arch}${musl}`;

const kept = process.env.TOOL_EVALS_CLAUDE || join(import.meta.dirname, "../../../node_modules/.cache/tool-evals");
const folder = join(resolve(kept), `claude-code-${version}`);
const program = join(folder, "node_modules", name, process.platform === "win32" ? "claude.exe" : "claude");

if (!existsSync(program)) {
  const unfinished = `${folder}.${process.pid}`;
  const args = ["install", "--prefix", unfinished, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  try {
    mkdirSync(unfinished, { recursive: true });
    execFileSync("npm", [...args, `${name}@${version}`], { stdio: ["ignore", "ignore", "pipe"], timeout: 300_000 });
    // Whole or not at all, also when it is cut short or two do it at once.
    if (!existsSync(folder)) renameSync(unfinished, folder);
  } catch (error) {
    process.stderr.write(`Claude Code ${version} cannot be installed in ${folder}: ${error.message}\n`);
    process.exitCode = 1;
  } finally {
    if (existsSync(unfinished)) rmSync(unfinished, { recursive: true });
  }
}
if (existsSync(program)) process.stdout.write(`${program}\n`);

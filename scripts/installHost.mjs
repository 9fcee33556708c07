// node scripts/installHost.mjs <claude-code|codex|conformance|node>: installs the version of a host that is tested, or of
// the conformance suite of MCP and the Node that it needs, unless it is installed, and prints the path of its program.
// These are not dependencies: each is kept in a separate folder, below node_modules/.cache or the folder in
// TOOL_EVALS_HOSTS. Exits with 1, and the reason on stderr, when it is unavailable.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const { platform, arch } = process;
const isMusl = platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const exe = platform === "win32" ? ".exe" : "";
const cpu = { x64: "x86_64", arm64: "aarch64" }[arch];
const triple = { linux: `${cpu}-unknown-linux-musl`, darwin: `${cpu}-apple-darwin`, win32: `${cpu}-pc-windows-msvc` };

/**
 * The pinned hosts. The package of a platform holds the program itself, so no install script needs to run. `tag` is
 * added to the version where a package has one version per platform.
 */
const hosts = {
  "claude-code": {
    version: "2.1.330",
    package: `@anthropic-ai/claude-code-${platform}-${arch}${isMusl ? "-musl" : ""}`,
    program: `claude${exe}`,
  },
  codex: {
    version: "0.169.0",
    tag: `-${platform}-${arch}`,
    package: "@openai/codex",
    program: `vendor/${triple[platform]}/bin/codex${exe}`,
  },
  conformance: { version: "0.1.16", package: "@modelcontextprotocol/conformance", program: "dist/index.js" },
  node: {
    version: "24.9.0",
    package: `node-${platform === "win32" ? "win" : platform}-${arch}`,
    program: `bin/node${exe}`,
  },
};

const [name = ""] = process.argv.slice(2);
if (!Object.hasOwn(hosts, name)) {
  process.stderr.write(`Unknown host "${name}". Use one of: ${Object.keys(hosts).join(", ")}.\n`);
  process.exit(1);
}
const { version, tag = "", package: packageName, program: path } = hosts[name];
const kept = process.env.TOOL_EVALS_HOSTS || join(import.meta.dirname, "../node_modules/.cache/tool-evals");
const folder = join(resolve(kept), `${name}-${version}`);
const program = join(folder, "node_modules", packageName, path);

if (!existsSync(program)) {
  const unfinished = `${folder}.${process.pid}`;
  const args = ["install", "--prefix", unfinished, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  try {
    mkdirSync(unfinished, { recursive: true });
    const stdio = ["ignore", "ignore", "pipe"];
    execFileSync("npm", [...args, `${packageName}@${version}${tag}`], { stdio, timeout: 300_000 });
    // Complete or not at all, also when it is interrupted or two run at once.
    if (!existsSync(folder)) renameSync(unfinished, folder);
  } catch (error) {
    process.stderr.write(`${name} ${version} cannot be installed in ${folder}: ${error.message}\n`);
    process.exitCode = 1;
  } finally {
    if (existsSync(unfinished)) rmSync(unfinished, { recursive: true });
  }
}
if (existsSync(program)) process.stdout.write(`${program}\n`);
else process.exitCode = 1;

// node scripts/installHost.mjs [host...]: installs the versions of hosts that are tested, of node-llama-cpp, and of the
// conformance suite of MCP and the Node that it needs, unless they are installed, and prints the path of each program.
// Without a host: all. These are not dependencies: each is kept in a separate folder, below the user's
// ~/.cache/tool-evals/hosts or the folder in TOOL_EVALS_HOSTS, so that one install serves every clone. Exits with 1,
// and the reason on stderr, when one is unavailable or not what was tested.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

const { platform, arch } = process;
const isMusl = platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const exe = platform === "win32" ? ".exe" : "";
const cpu = { x64: "x86_64", arm64: "aarch64" }[arch];
const triple = { linux: `${cpu}-unknown-linux-musl`, darwin: `${cpu}-apple-darwin`, win32: `${cpu}-pc-windows-msvc` };

/**
 * The pinned hosts. The package of a platform holds the program itself, so no install script needs to run. `tag` is
 * added to the version where a package has one version per platform. `integrity` is the checksum of the package of the
 * platform on which hosts are tested, Linux on x64 with glibc.
 */
const hosts = {
  "claude-code": {
    version: "2.1.330",
    package: `@anthropic-ai/claude-code-${platform}-${arch}${isMusl ? "-musl" : ""}`,
    program: `claude${exe}`,
    integrity: "sha512-9Gn+V7DtJ8M1nztP9CeDVl9g3RtrepI7rOFTyPRRnZe8D6zebIHKmC7OvBauucuAP0X0k85SDN/LPVZyjsGezQ==",
  },
  codex: {
    version: "0.169.0",
    tag: `-${platform}-${arch}`,
    package: "@openai/codex",
    program: `vendor/${triple[platform]}/bin/codex${exe}`,
    integrity: "sha512-o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww==",
  },
  goose: {
    version: "1.52.0",
    package: `@aaif/goose-binary-${platform}-${arch}`,
    program: `bin/goose${exe}`,
    integrity: "sha512-2aPCG0HuLUI1cafcez1s1nLlTsNMx7AHWnmAOS/6S9xqmcvY+oXsQA5SUHin1Sf5uphK6pcOCLmgygJ6YQIDaQ==",
  },
  copilot: {
    version: "1.0.102",
    package: `@github/copilot-${platform}${isMusl ? "musl" : ""}-${arch}`,
    program: `copilot${exe}`,
    integrity: "sha512-eGHPbsP0p2QgfVZCjtbGBFZPBOJQ0DN7xIbBRAo7oG8b1zfLirQIdfI4h8Iy68Dv2cKJGJZg2/EO7W7KpIMJOw==",
  },
  "gemini-cli": {
    version: "0.61.0",
    package: "@google/gemini-cli",
    program: "bundle/gemini.js",
    integrity: "sha512-dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==",
  },
  conformance: {
    version: "0.1.16",
    package: "@modelcontextprotocol/conformance",
    program: "dist/index.js",
    integrity: "sha512-GI7qiN0r39/MH2srVUR3AXaEN0YLCro20lIBbnvc1frBhszenxvUifBuTzxeVQVagILfBzCIcnungUOma8OrgA==",
  },
  // The library of local models, with its build for this platform alone.
  "node-llama-cpp": {
    version: "3.21.1",
    package: "node-llama-cpp",
    also: `@node-llama-cpp/${{ linux: "linux-", darwin: "mac-", win32: "win-" }[platform]}${arch}${platform === "darwin" && arch === "arm64" ? "-metal" : ""}@3.21.1`,
    program: "dist/index.js",
    integrity: "sha512-E3N0Ev2Va0wzydvXYFwM9Hvyo07PoWjt8T/9GMc43Cvt8YkV/NU/tYUgEMC1grTPv2o9PRjQi0G3Wb5P/awiMg==",
  },
  node: {
    version: "24.9.0",
    package: `node-${platform === "win32" ? "win" : platform}-${arch}`,
    program: `bin/node${exe}`,
    integrity: "sha512-mN4aPMj4cOJv937Bu7ge7EBGmb3dkQ+04jcVWRiowd7+PmQ++TpLQXQh6I1madra65CiCYNfDWu3To51tq5xuA==",
  },
};

const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
const kept = resolve(process.env.TOOL_EVALS_HOSTS || join(caches, "tool-evals/hosts"));

/** The path of the program of a host, which is installed if needed. Throws when that is not possible. */
function install(name) {
  const { version, tag = "", package: packageName, also = [], program: path, integrity } = hosts[name];
  const folder = join(kept, `${name}-${version}`);
  const program = join(folder, "node_modules", packageName, path);
  if (existsSync(program)) return program;
  const unfinished = `${folder}.${process.pid}`;
  const quiet = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional"];
  try {
    mkdirSync(unfinished, { recursive: true });
    execFileSync("npm", ["install", "--prefix", unfinished, ...quiet, `${packageName}@${version}${tag}`].concat(also), {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 300_000,
    });
    const { packages } = JSON.parse(readFileSync(join(unfinished, "node_modules/.package-lock.json"), "utf8"));
    const [, installed] = Object.entries(packages).find(([key]) => key.endsWith(`node_modules/${packageName}`));
    const isTestedPlatform = platform === "linux" && arch === "x64" && !isMusl;
    if (isTestedPlatform && installed.integrity !== integrity)
      throw new Error(`its checksum is ${installed.integrity}, not ${integrity}`);
    // Complete or not at all, also when it is interrupted.
    renameSync(unfinished, folder);
  } catch (error) {
    // Another process may have installed it meanwhile.
    if (!existsSync(program)) throw new Error(`${name} ${version} cannot be installed in ${folder}: ${error.message}`);
  } finally {
    if (existsSync(unfinished)) rmSync(unfinished, { recursive: true });
  }
  if (!existsSync(program)) throw new Error(`${packageName}@${version} has no ${path}`);
  return program;
}

const args = process.argv.slice(2);
for (const name of args.length === 0 ? Object.keys(hosts) : args) {
  try {
    if (!Object.hasOwn(hosts, name))
      throw new Error(`Unknown host "${name}". Use one of: ${Object.keys(hosts).join(", ")}.`);
    process.stdout.write(`${install(name)}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

// npm test: installs what is missing, checks types, style and dead code, builds, and runs the tests that CI runs.
// npm test -- FOLDER...: all tests of these folders or files, the nightly ones included, and no checks.
// npm run test:all: all of it, as at night and before a release.
import { attempt, build, capture, findProgram, installPackages, isCi, root, run } from "./setUp.mjs";

const args = process.argv.slice(2);
const isAll = args.includes("--all");
const folders = args.filter((arg) => arg !== "--all");
const isWhole = folders.length === 0;

/** The programs that tests need besides the npm packages, and what is skipped without them. */
const systemPrograms = [
  {
    package: "chromium",
    names: process.env.CHROMIUM ? [process.env.CHROMIUM] : ["chromium", "chromium-browser", "google-chrome", "chrome"],
    skipped: "tests of the pages",
  },
  { package: "redis-server", names: [process.env.REDIS_SERVER ?? "redis-server"], skipped: "tests of the queue" },
];
const hosts = isAll ? [] : ["claude-code", "codex"];

const isMissing = ({ names }) => findProgram(...names) === undefined;

async function installSystemPrograms() {
  const missing = systemPrograms.filter(isMissing);
  if (missing.length > 0 && process.getuid?.() === 0 && findProgram("apt-get")) {
    process.env.DEBIAN_FRONTEND = "noninteractive";
    const quiet = ["-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"];
    await attempt("apt-get", ["update", "-qq"]);
    await attempt("apt-get", [
      "install",
      "-y",
      "--no-install-recommends",
      ...quiet,
      ...missing.map((one) => one.package),
    ]);
  }
}

/** Says what is missing, and which tests are skipped for it; in CI, that is an error. */
function reportMissing() {
  for (const { package: name, skipped } of systemPrograms.filter(isMissing)) {
    console.log(
      `Missing: ${name}. The ${skipped} ${isCi ? "fail" : "are skipped"}. Install it with your package manager.`,
    );
    if (isCi) process.exit(1);
  }
}

async function installHosts() {
  const installer = ["scripts/installHost.mjs", ...hosts];
  const installed = isCi ? await attempt(process.execPath, installer) : run(process.execPath, installer);
  if (installed) return;
  console.log(`Missing: the hosts named above. Their tests ${isCi ? "fail" : "are skipped"}.`);
  if (isCi) process.exit(1);
}

/** The checks run at once; what each printed follows in order, for those that failed. */
async function check() {
  const results = await Promise.all(
    ["types", "lint", "deadcode"].map(async (name) => ({ name, ...(await capture("npm", ["run", "-s", name])) })),
  );
  for (const { name, code, out } of results)
    console.log(code === 0 ? `npm run ${name}: passed` : `npm run ${name}: failed\n${out}`);
  if (results.some(({ code }) => code !== 0)) process.exit(1);
}

process.chdir(root);
await installPackages();
if (isWhole) {
  await installSystemPrograms();
  reportMissing();
  await installHosts();
  await check();
} else reportMissing();
await build();
const projects = isWhole && !isAll ? ["--project", "unit", "--project", "e2e"] : [];
process.exitCode = run("npx", ["vitest", "run", ...projects, ...folders]) ? 0 : 1;

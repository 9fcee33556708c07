import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { knownSecrets } from "../../src/evals/base/secrets/secrets.ts";
import { callIn } from "../e2e/evals.ts";
import { anIo } from "../fakes/io.ts";
import { root } from "./page.ts";

type Ran = { code: number | null; output: string };

/** A folder with a shell in it. */
export type Shell = {
  /** Removes all files of the folder. */
  clear(): void;
  /** Copies a file or folder of the repository. */
  copy(from: string, to: string): void;
  write(file: string, text: string): void;
  /** Applies a diff, whose hunks start with a line `@@`; throws when the file does not have the lines of one. */
  patch(file: string, diff: string): void;
  run(command: string): Promise<Ran>;
  remove(): void;
};

/** Stand-ins on the PATH: the program as built here, and `npx` of packages that are installed here. */
const program = `exec "${process.execPath}" "${root}/dist/evals/cli.js" "$@"`;
const programs: Record<string, string> = {
  evals: program,
  "tool-evals": program,
  "tool-evals-reference-server": `exec "${process.execPath}" "${root}/dist/server/main.js" "$@"`,
  vitest: `exec "${process.execPath}" "${root}/node_modules/vitest/vitest.mjs" "$@"`,
  npx: `[ "$1" = -y ] && shift
name=$1; shift
case $name in
  @modelcontextprotocol/*) exec "${process.execPath}" "${root}/node_modules/$name/dist/index.js" "$@" ;;
  *) exec "$name" "$@" ;;
esac`,
};

/** Opens a shell in a new folder. `env` is added to an environment that has nothing of the user's. */
export function openShell(env: Record<string, string>): Shell {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "docs-")));
  const [cwd, home, bin] = [join(top, "project"), join(top, "home"), join(top, "bin")];
  for (const folder of [cwd, home, bin]) mkdirSync(folder);
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  mkdirSync(join(cwd, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules")))
    symlinkSync(join(root, "node_modules", name), join(cwd, "node_modules", name));
  symlinkSync(root, join(cwd, "node_modules/tool-evals"));
  const whole = {
    PATH: `${bin}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    // Nobody can be asked for trust in the files of a page.
    CI: "true",
    GITHUB_STEP_SUMMARY: join(top, "summary.md"),
    GIT_CONFIG_COUNT: "2",
    GIT_CONFIG_KEY_0: "user.name",
    GIT_CONFIG_VALUE_0: "Ada",
    GIT_CONFIG_KEY_1: "user.email",
    GIT_CONFIG_VALUE_1: "ada@example.com",
    ...env,
  };
  return {
    clear() {
      for (const name of readdirSync(cwd).filter((one) => one !== "node_modules"))
        rmSync(join(cwd, name), { recursive: true });
    },
    copy: (from, to) => cpSync(join(root, from), join(cwd, to), { recursive: true }),
    write(file, text) {
      mkdirSync(dirname(join(cwd, file)), { recursive: true });
      writeFileSync(join(cwd, file), `${text}\n`);
    },
    patch(file, diff) {
      let text = readFileSync(join(cwd, file), "utf8");
      for (const hunk of diff.split(/^@@.*\n/m)) {
        const linesWithout = (sign: string) =>
          hunk
            .split("\n")
            .filter((line) => !line.startsWith(sign))
            .map((line) => line.slice(1))
            .join("\n");
        const [before, after] = [linesWithout("+"), linesWithout("-")];
        if (!text.includes(before)) throw new Error(`${file} does not have these lines:\n${before}`);
        text = text.replace(before, () => after);
      }
      writeFileSync(join(cwd, file), text);
    },
    run: async (command) => {
      const args = plainArguments(command);
      const { code, output } = await (args ? runHere(args, cwd, whole) : run(command, cwd, whole));
      return { code, output: output.replaceAll(cwd, "/home/ada/project").replaceAll(top, "/home/ada") };
    },
    remove: () => rmSync(top, { recursive: true, force: true }),
  };
}

/** The arguments of a command line of the program that needs no shell: words, some of them in quotes. */
function plainArguments(command: string): string[] | undefined {
  const [, rest] = /^(?:npx )?evals (.*)$/s.exec(command.replaceAll(/\\\n\s*/g, "")) ?? [];
  if (rest === undefined || /[|&;<>$`()*?{}~#\\\n]/.test(rest.replaceAll(/'[^']*'/g, ""))) return undefined;
  return [...rest.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"]+)(?=\s|$)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");
}

/** Runs the program in this process, which saves half a second of CPU. */
async function runHere(args: readonly string[], cwd: string, env: Record<string, string>): Promise<Ran> {
  let output = "";
  const print = (text: string) => {
    output += text;
  };
  const code = await callIn(anIo({ cwd, env, out: print, err: print }), args);
  return { code, output: knownSecrets(env).redact(output) };
}

function run(command: string, cwd: string, env: Record<string, string>): Promise<Ran> {
  const child = spawn("bash", ["-c", `exec 2>&1\n${command}`], { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (data) => {
    output += data;
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, output })));
}

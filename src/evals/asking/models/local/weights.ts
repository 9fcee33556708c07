import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, rename, rm, statfs } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import * as z from "zod";
import { createFetch } from "../../../base/network.ts";
import { nearest } from "../../../base/text/nearest.ts";
import { EvalsError, exitCodes, messageOf, usageError } from "../../../base/types/errors.ts";
import { askConsent, type Io, isCi } from "../../../base/types/io.ts";
import { withFileLock } from "../../../records/lock.ts";
import { megabytes } from "../../../reports/format.ts";
import { importLibrary } from "./library.ts";

export type WeightsOptions = {
  env: Io["env"];
  cwd?: string;
  /** Where to ask and tell; a program without gets no downloads. */
  io?: Pick<Io, "err" | "errIsTerminal" | "prompts" | "signal">;
};

/** Small models by their names: files of their authors, in 4 bits. The first is the model that `local` alone means. */
const models: Readonly<Record<string, string>> = {
  "qwen2.5-coder-1.5b": "hf:Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF:q4_k_m",
  "qwen2.5-coder-0.5b": "hf:Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF:q4_k_m",
};
const [defaultModel = ""] = Object.keys(models);

/**
 * Finds the file of a model, and downloads it if the user agrees. `name`: one of the list above, a GGUF file in the
 * working directory or in the folder of models (`EVALS_MODELS`, by default `~/.cache/tool-evals/models`), or
 * `hf:user/repo:quant`. Returns the absolute path, and the folder of the states of tool lists. Throws an EvalsError if
 * there is no file.
 */
export async function findWeights(id: string, name: string, options: WeightsOptions) {
  const { env, cwd = "." } = options;
  const caches = env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const folder = resolve(cwd, env.EVALS_MODELS || join(caches, "tool-evals/models"));
  const known = name || defaultModel;
  const uri = models[known] ?? (known.startsWith("hf:") ? known : undefined);
  const isFile = known.endsWith(".gguf") && !uri;
  const fileName = isFile ? known : `${known.slice(uri === known ? 3 : 0).replace(/[/:]/g, "_")}.gguf`;
  const [here, target] = [resolve(cwd, known), join(folder, fileName)];
  const found = [here, target].find((path) => path.endsWith(".gguf") && existsSync(path));
  const file = found ?? (uri === undefined ? undefined : await download({ id, uri, target }, options));
  if (file === undefined) {
    const near = nearest(known, Object.keys(models));
    const meant = near ? `Did you mean "local:${near}"? ` : "";
    const forms = `Name a GGUF file, hf:<user>/<repository>:<quantization>, or one of: ${Object.keys(models).join(", ")}.`;
    const files = target === here ? here : `${here} or ${target}`;
    throw usageError(`There is no file ${files} for the model ${id}.`, meant + forms);
  }
  return { file, cwd: resolve(cwd), states: join(folder, "states") };
}

/** What the hub tells of a repository. The checksum of a large file is its id in Git LFS. */
const repositorySchema = z.object({
  cardData: z.object({ license: z.string().optional() }).optional(),
  siblings: z.array(
    z.object({ rfilename: z.string(), size: z.number().optional(), lfs: z.object({ sha256: z.string() }).optional() }),
  ),
});

type Wanted = { id: string; uri: string; target: string };

/** Downloads a file once, whichever processes want it, once its license and size are agreed to. Resumes a part. */
async function download({ id, uri, target }: Wanted, { env, cwd = ".", io }: WeightsOptions): Promise<string> {
  const hub = (env.HF_ENDPOINT || "https://huggingface.co").replace(/\/$/, "");
  const [, repository = "", wanted = ""] = /^hf:([^/:]+\/[^/:]+)[/:]?(.*)$/.exec(uri) ?? [];
  const page = `${hub}/${repository}`;
  const byHand = `Download it from ${page} to ${target}, or set EVALS_MODELS to the folder that has it.`;
  const asked = readRepository(`${hub}/api/models/${repository}?blobs=true`, env, io);
  const { cardData, siblings } = await asked.catch((error) => {
    const why = `${hub} cannot be asked: ${messageOf(error)}`;
    throw usageError(`The weights of ${id} are not on this machine, and ${why}.`, byHand);
  });
  const isWanted = (name: string) => name.endsWith(".gguf") && name.includes(wanted.toLowerCase());
  const file = siblings.find(({ rfilename }) => isWanted(rfilename.toLowerCase()));
  const other = "Name a quantization that it has, for example :Q4_K_M.";
  if (!file) throw usageError(`${page} has no GGUF file${wanted && ` "${wanted}"`}.`, other);
  const bytes = file.size ?? 0;
  const what = `${file.rfilename} of ${repository}: ${megabytes(bytes)}, license ${cardData?.license ?? "not stated"}, from ${hub} to ${target}`;
  io?.err(`The weights of ${id} are downloaded once. ${what}\n`);
  const isAgreed = isCi(env) || (io && (await askConsent("Download it?", io)));
  if (!isAgreed)
    throw usageError(`The weights of ${id} were not downloaded.`, `Run it in a terminal and agree. ${byHand}`);
  const folder = dirname(target);
  await mkdir(folder, { recursive: true });
  const { bavail, bsize } = await statfs(folder);
  const room = `${folder} has ${megabytes(bavail * bsize)} free, and the weights take ${megabytes(bytes)}.`;
  if (bavail * bsize < bytes) throw usageError(room, "Free space, or set EVALS_MODELS to another folder.");
  return await withFileLock(target, async () => {
    // Another process may have downloaded it meanwhile.
    if (existsSync(target)) return target;
    const partial = `${basename(target)}.partial`;
    const { library } = await importLibrary(cwd);
    const onProgress = io && createProgress(io);
    const path = await library
      .resolveModelFile(`hf:${repository}/${file.rfilename}`, {
        directory: folder,
        fileName: partial,
        cli: false,
        deleteTempFileOnCancel: false,
        endpoints: { huggingFace: hub },
        ...(io && { signal: io.signal, onProgress }),
      })
      .then((downloaded) => {
        // The library resolves when it is stopped, too.
        io?.signal.throwIfAborted();
        return downloaded;
      })
      .catch((error) => {
        const failed = `The weights of ${id} could not be downloaded: ${messageOf(error)}.`;
        const message = io?.signal.aborted ? "Stopped during the download." : failed;
        const hint = "What was downloaded is kept: run it again.";
        throw new EvalsError({ severity: "error", message, hint }, exitCodes.incomplete);
      })
      .finally(() => io?.errIsTerminal && io.err("\r\x1b[K"));
    const sha256 = await hashFile(path);
    if (file.lfs && sha256 !== file.lfs.sha256) {
      await rm(path, { force: true });
      const wrong = `The checksum of ${file.rfilename} is ${sha256}, not ${file.lfs.sha256}.`;
      throw usageError(wrong, "It was removed. Run it again.");
    }
    await rename(path, target);
    return target;
  });
}

async function readRepository(url: string, env: Io["env"], io: WeightsOptions["io"]) {
  const limit = AbortSignal.timeout(15_000);
  const response = await createFetch(env)(url, { signal: io ? AbortSignal.any([io.signal, limit]) : limit });
  if (!response.ok) throw new Error(`it answers ${response.status}`);
  return repositorySchema.parse(await response.json());
}

/** Shows how much is downloaded: on a terminal in one line, elsewhere at each tenth. */
function createProgress({ err, errIsTerminal }: Pick<Io, "err" | "errIsTerminal">) {
  let shown = 0;
  return ({ totalSize, downloadedSize }: { totalSize: number; downloadedSize: number }) => {
    const part = Math.floor((100 * downloadedSize) / Math.max(1, totalSize));
    if (part < shown + (errIsTerminal ? 1 : 10)) return;
    shown = part;
    const text = `Downloaded ${megabytes(downloadedSize)} of ${megabytes(totalSize)} (${part}%)`;
    err(errIsTerminal ? `\r\x1b[K${text}` : `${text}\n`);
  };
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function hashFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of createReadStream(file, { highWaterMark: 2 ** 20 })) hash.update(part as Buffer);
  return hash.digest("hex");
}

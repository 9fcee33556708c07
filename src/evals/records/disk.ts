import { describeFileError } from "../base/files/files.ts";
import { EvalsError, exitCodes, type Location } from "../base/types/errors.ts";

const hints: Readonly<Record<string, string>> = {
  ENOSPC: "Free space on that disk, then run it again, with --resume if it had begun.",
  EDQUOT: "Free space in your disk quota, then run it again, with --resume if it had begun.",
  ENOLCK: "Choose a folder on another disk with --out: this one has no file locks.",
  ESTALE: "Check the network disk, then run it again, with --resume if it had begun.",
  EROFS: "Choose a folder on a writable disk with --out.",
  EACCES: "Choose a folder that you may write to with --out.",
  EPERM: "Choose a folder that you may write to with --out.",
  EEXIST: "Choose another folder with --out: this is a file.",
  ENOTDIR: "Choose another folder with --out: a part of this path is a file.",
  ENOENT: "Do not move or remove the folder while the run is being written.",
  EMFILE: "Raise the limit of open files (ulimit -n), or lower --concurrency.",
};

/** The error for a record file that cannot be written: the run is incomplete, and keeps what is already on disk. */
export function writeError(file: string, thrown: unknown): EvalsError {
  const { code, message: reason } = describeFileError(thrown);
  const message = `${file} cannot be written: ${reason}.`;
  const hint = hints[code] ?? "Check the disk, then run it again, with --resume if it had begun.";
  return incompleteError(message, hint);
}

/** An error after which what was asked for is incomplete. */
export function incompleteError(message: string, hint: string, location?: Location): EvalsError {
  return new EvalsError({ severity: "error", message, hint, ...(location && { location }) }, exitCodes.incomplete);
}

/** Throws the error of work on a record file: an EvalsError as it is, any other as `writeError`. For `catch`. */
export const failToWrite =
  (file: string) =>
  (thrown: unknown): never => {
    throw thrown instanceof EvalsError ? thrown : writeError(file, thrown);
  };

import { existsSync, readFileSync } from "node:fs";

/** The most memory that a process has had, in MiB; 0 when it has ended, or where the system does not say. */
export function readPeakMiB(pid = 0): number {
  const file = `/proc/${pid}/status`;
  const kib = existsSync(file) && /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(file, "utf8"))?.[1];
  return kib ? Number(kib) / 1024 : 0;
}

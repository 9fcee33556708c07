// Preloaded into a measured process: writes its CPU time, peak memory and wall time to the file in BENCH_USAGE as it exits.
import { writeFileSync } from "node:fs";

process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  const { maxRSS } = process.resourceUsage();
  writeFileSync(
    process.env.BENCH_USAGE,
    JSON.stringify({ cpuS: (user + system) / 1e6, peakMiB: maxRSS / 1024, wallS: performance.now() / 1000 }),
  );
});

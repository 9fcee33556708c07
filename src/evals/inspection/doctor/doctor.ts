import type { DoctorFlags } from "../../commands/doctor.ts";
import type { DoctorReport, Examined } from "../../diagnosis/report.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { doctorDocument } from "../../reports/doctor.ts";
import { asciiJson } from "../../reports/escape.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { schedule } from "../../trials/schedule.ts";
import { examine } from "./examine.ts";
import { patientsOf } from "./patients.ts";

/** Starting many at once would make slow starts of good ones. */
const atOnce = 4;

/** `evals doctor`: examines every server that is named, and prints what is wrong with each. Throws EvalsError. */
export async function doctor(flags: DoctorFlags, io: Io): Promise<ExitCode> {
  const patients = await patientsOf(flags, io);
  const settings = { execute: flags.execute, startMs: flags.timeout * 1000, io };
  const examined: Examined[] = [];
  await schedule(patients.entries(), atOnce, io.signal, async ([at, patient]) => {
    examined[at] = await examine(patient, settings);
  });
  if (io.signal.aborted) return io.signalExitCode();
  const healthy = examined.filter((one) => one.healthy).length;
  const ok = healthy === examined.length;
  const exitCode = ok ? exitCodes.passed : exitCodes.failed;
  const report: DoctorReport = { servers: examined, healthy, unhealthy: examined.length - healthy, ok, exitCode };
  io.out(flags.json ? `${asciiJson(report)}\n` : renderTerminal(doctorDocument(report), io));
  return exitCode;
}

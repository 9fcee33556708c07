import type { Io } from "../io.ts";
import type { Trial } from "../types/trial.ts";

/** The progress of a run. */
export type Progress = { add(trial: Trial): void; end(): void };

const redrawMs = 100;

/** One line on standard error that redraws itself on a terminal; nothing elsewhere. */
export function progressLine(io: Pick<Io, "err" | "errIsTerminal" | "width">, planned: number, done: number): Progress {
  if (!io.errIsTerminal) return { add: () => {}, end: () => {} };
  const startedAt = performance.now();
  let drawnAt = 0;
  let recorded = done;
  let broken = 0;
  const draw = (now: number) => {
    const seconds = (now - startedAt) / 1000;
    const left = recorded > done ? ((planned - recorded) * seconds) / (recorded - done) : undefined;
    const parts = [
      `${recorded}/${planned} trials`,
      ...(broken > 0 ? [`${broken} broken`] : []),
      ...(left !== undefined && left >= 1 ? [`about ${formatDuration(left)} left`] : []),
    ];
    io.err(`\r\x1b[K${parts.join(" · ").slice(0, io.width - 1)}`);
    drawnAt = now;
  };
  draw(startedAt);
  return {
    add(trial) {
      recorded++;
      if (trial.outcome.kind === "broken") broken++;
      const now = performance.now();
      if (now - drawnAt >= redrawMs) draw(now);
    },
    end: () => io.err("\r\x1b[K"),
  };
}

function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

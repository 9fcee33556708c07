import { EvalsError, exitCodes, type Problem } from "../errors.ts";
import type { ServerSpec } from "../types/suite.ts";

/** A server that is started as a process and spoken to over its stdin and stdout. */
export type CommandSpec = Extract<ServerSpec, { command: string }>;
/** A server that is reached over HTTP. */
export type UrlSpec = Extract<ServerSpec, { url: string }>;
/** A server that can be connected to: what is left once host configuration files and static lists are resolved. */
export type LiveSpec = CommandSpec | UrlSpec;

/** Environment variables as the process has them; never read from the process here. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A failure of a server, as opposed to a mistake in a file: the run is incomplete, not misused. */
export function serverError(message: string, hint?: string): EvalsError {
  return new EvalsError({ severity: "error", message, ...(hint && { hint }) }, exitCodes.incomplete);
}

// ${VAR} and ${VAR:-default} as Claude Code has them; ${env:VAR} is how VS Code and Cursor write the same.
const reference = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * The spec with `${VAR}` and `${VAR:-default}` replaced in command, args, env, url and headers. A variable that is unset
 * and has no default stays as it is written, with a warning that names it.
 */
export function fillIn<S extends LiveSpec>(
  spec: S,
  env: Env,
  name: string,
  place?: Problem["place"],
): { spec: S; warnings: Problem[] } {
  const unset = new Set<string>();
  const fill = (text: string) =>
    text.replace(reference, (whole, variable: string, fallback: string | undefined) => {
      // As in a shell, `:-` also replaces a variable that is set and empty.
      const value = fallback === undefined ? env[variable] : env[variable] || fallback;
      if (value === undefined) unset.add(variable);
      return value ?? whole;
    });
  const fillAll = (record: Record<string, string>) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fill(value)]));
  const filled =
    "command" in spec
      ? {
          ...spec,
          command: fill(spec.command),
          ...(spec.args && { args: spec.args.map(fill) }),
          ...(spec.env && { env: fillAll(spec.env) }),
        }
      : { ...spec, url: fill(spec.url), ...(spec.headers && { headers: fillAll(spec.headers) }) };
  const warnings = [...unset].map(
    (variable): Problem => ({
      severity: "warning",
      message: `server "${name}" names the environment variable ${variable}, which is not set; it is left as written`,
      hint: `Set ${variable}, or give a default: \${${variable}:-value}.`,
      ...(place && { place }),
    }),
  );
  return { spec: filled, warnings };
}

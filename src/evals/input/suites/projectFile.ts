import { resolve } from "node:path";
import * as z from "zod";
import { importModule } from "../../base/code/module.ts";
import { squeeze } from "../../base/text/text.ts";
import { EvalsError, type Location, messageOf, usageError } from "../../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../base/types/json.ts";
import { type SuiteSettings, suiteSettingsSchema } from "../../base/types/suiteFile.ts";
import { readNamed, readParsed } from "../parsing/read.ts";
import { explain, locateProblem } from "./explain.ts";

/** The schema of `evals.config.*` with these options, which are also allowed under `ci`. */
export function createProjectSchema(options: Record<string, z.ZodType>) {
  const optionsSchema = z.strictObject(options);
  return optionsSchema.extend({
    $schema: z.string().optional(),
    ci: optionsSchema.optional().describe("Replaces the values above where the environment variable CI is set"),
    suites: z
      .record(z.string(), suiteSettingsSchema)
      .optional()
      .describe("Replaces values of single suites, by their name"),
  });
}
/** The names that a project file can have. */
export const projectFiles = ["ts", "mts", "js", "mjs", "json", "yaml", "yml"].map((ending) => `evals.config.${ending}`);

type ProjectSchema = ReturnType<typeof createProjectSchema>;
type ProjectContent = { $schema?: string; ci?: JsonObject; suites?: Record<string, SuiteSettings> };

/** The options of a project (flag names in camel case), the settings of single suites, and the place of each value. */
export type Project = {
  options: Readonly<Record<string, Json>>;
  suites: Readonly<Record<string, SuiteSettings>>;
  location(name: string): Location;
};

/** Reads the configuration file of a project. `isCi`: the values under `ci` apply. Throws EvalsError with the place. */
export async function loadProject(
  file: string,
  { schema, cwd, isCi }: { schema: ProjectSchema; cwd: string; isCi: boolean },
): Promise<Project> {
  const read = await readValue(resolve(cwd, file), file);
  const { value, location } = read;
  const problems = [...read.problems, ...explain(schema, value).map((one) => locateProblem(one, { file, ...read }))];
  if (problems.length > 0) throw new EvalsError(problems);
  const { $schema: _, ci, suites = {}, ...options } = schema.parse(value) as ProjectContent;
  return {
    options: JSON.parse(JSON.stringify({ ...options, ...(isCi && ci) })) as Record<string, Json>,
    suites,
    location: (name) => location(isCi && ci && name in ci ? ["ci", name] : [name]),
  };
}

type Read = Omit<Awaited<ReturnType<typeof readParsed>>, "file">;

async function readValue(path: string, file: string): Promise<Read> {
  if (/\.(?:json|ya?ml)$/.test(file)) return await readParsed(path, file);
  // Node would wait for the writer of a pipe without end.
  readNamed("The file", path, { hint: "Replace it with a readable file, or remove it.", location: { file } });
  const exported = await importModule(path).catch((error: unknown) => {
    const hint = "Fix the file, or write the same keys in evals.config.yaml.";
    throw usageError(`The file cannot be loaded: ${squeeze(messageOf(error))}.`, hint, { file });
  });
  const value: unknown = exported.default;
  if (!isJsonObject(value as Json))
    throw usageError("The file has no object as its default export.", "Write: export default { ... }.", { file });
  const location = (_: Path): Location => ({ file });
  return { value: JSON.parse(JSON.stringify(value)) as Json, location, problems: [] };
}

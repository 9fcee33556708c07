import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { formatJsonPath } from "../base/jsonSchema/walk.ts";
import type { Io } from "../base/types/io.ts";
import { isJsonObject } from "../base/types/json.ts";
import type { Tool } from "../base/types/tool.ts";
import { findEntry } from "../input/hostFiles.ts";
import type { RegistrationSubject } from "./lint/rule.ts";
import { registrationRules } from "./lint/rules/registration.ts";
import { schemaRules } from "./lint/rules/schemas.ts";
import type { ServerTarget } from "./targets.ts";

// The rules of lint that say why a server does not work, for inspections that start it.

export type Registration = NonNullable<ServerTarget["registration"]>;

/** The entry of a server in a host configuration, for the lint rules. */
export function describeRegistration({ host, name }: Registration, io: Io): RegistrationSubject {
  const { entry, dir, isOfProject } = findEntry(host, name);
  const cwd = isJsonObject(entry) && typeof entry.cwd === "string" ? entry.cwd : undefined;
  return {
    name,
    entry,
    isFolderKnown: isOfProject || cwd !== undefined,
    absolute: isAbsolute,
    exists: (path: string) => existsSync(resolve(dir, cwd ?? "", path)),
    isSet: (variable: string) => io.env[variable] !== undefined,
  };
}

/** What the lint rules find in the entry of a server in a host configuration. */
export function checkRegistration(registration: Registration, io: Io) {
  const subject = describeRegistration(registration, io);
  return registrationRules.flatMap(({ id, severity, check }) =>
    [...check(subject)].map(({ message, fix }) => ({ rule: id, severity, message, fix })),
  );
}

/** Schema rules whose violation makes a host refuse the tool or its calls. */
const decisive = new Set(["tool-shape", "root-combinator", "required-unknown", "schema-not-valid", "ref-unresolved"]);

/** The faults of the schemas of a tool for which a host refuses the tool or its calls. */
export function listSchemaFaults(tool: Tool): string[] {
  const listed = JSON.parse(JSON.stringify(tool));
  const subject = { server: "", tool: listed, names: new Set<string>(), shownName: tool.name };
  return schemaRules
    .filter(({ id }) => decisive.has(id))
    .flatMap((rule) => [...rule.check(subject)].map(({ at, message }) => `${formatJsonPath(at)}: ${message}`));
}

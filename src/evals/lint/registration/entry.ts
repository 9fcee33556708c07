import { isJsonObject, type JsonObject } from "../../types/json.ts";
import type { Found, RegistrationSubject, Rule } from "../rule.ts";

/** An entry, and where it is known, whether an environment variable is set where the host runs. */
export type RegistrationFacts = RegistrationSubject & { isSet?(variable: string): boolean };

export type EntryRule = Rule<RegistrationFacts>;

/** The protocol's own page on registering a local server. */
export const hosts = "https://modelcontextprotocol.io/docs/develop/connect-local-servers";

/** A rule over entries that are objects: all but the first one. */
export function onEntry(
  rule: Omit<EntryRule, "check">,
  check: (entry: JsonObject, subject: RegistrationFacts) => Iterable<Found>,
): EntryRule {
  return { ...rule, check: (subject) => (isJsonObject(subject.entry) ? check(subject.entry, subject) : []) };
}

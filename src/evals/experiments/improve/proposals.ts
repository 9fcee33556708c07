import { resolve } from "node:path";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { defined } from "../../base/collections.ts";
import { listProperties, listRequired } from "../../base/jsonSchema/keywords.ts";
import { looksRandom } from "../../base/secrets/recognize.ts";
import { holdsSecret } from "../../base/secrets/secrets.ts";
import { usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type Json } from "../../base/types/json.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import type { OfferedTool, Tool } from "../../base/types/tool.ts";
import { readParsed, readText } from "../../input/parsing/read.ts";
import { listChanges } from "../../servers/changes/changes.ts";
import { showTool } from "../../servers/host.ts";
import { applyVariant, checkVariant, type Variant, variantSchema } from "../../servers/overlay.ts";
import { createToolset } from "../../servers/toolList.ts";
import { readVariants } from "../variants/ask.ts";

export type NamedVariant = { name: string; variant: Variant };

const maxBytes = 4 * 1024 * 1024;

/** Whose wordings can be proposed: the tools that the cases are shown, and their only skill. */
type Subjects = { tools: ReadonlySet<string>; skill: string | undefined };

/**
 * Reads proposals: a variants file; a tool list with other wordings; or what another tool wrote: the fixes of toolfit,
 * the patch of mispick's fix, the result of skill-creator's loop. What these measured is left out, since every proposal
 * is tested anew. Throws EvalsError for a file of another form, and so may the returned function, which lists them.
 */
export async function readProposals(file: string, cwd: string): Promise<(subjects: Subjects) => NamedVariant[]> {
  const path = resolve(cwd, file);
  const read = readText(path, maxBytes);
  const patched = "kind" in read ? [] : readPatch(read.text);
  const isPatch = patched.length > 0 || /\.(?:diff|patch)$/.test(file);
  const { value } = isPatch ? { value: null } : await readParsed(path, file, { lenient: true });
  if (isJsonObject(value) && "variants" in value) {
    const variants = [...(await readVariants(file, cwd)).variants].map(([name, variant]) => ({ name, variant }));
    return () => variants;
  }
  const { fixes, history, tools, original_description: original } = isJsonObject(value) ? value : { tools: value };
  return (subjects) => {
    const found = [patched, readFixes(fixes), readHistory(history, original, subjects), readTools(tools)];
    const proposals = found.find((one) => one.length > 0);
    if (proposals) return proposals.map(({ name, variant }) => ({ name, variant: nameAsListed(variant, subjects) }));
    throw usageError(
      `"${file}" has no proposals.`,
      "Give a variants file, a tool list, or the output of toolfit --fix, mispick fix --patch or skill-creator's run_loop.",
      { file },
    );
  };
}

/** mispick names the tools of several servers `server:tool`. */
function nameAsListed(variant: Variant, { tools }: Subjects): Variant {
  const rename = (name: string) =>
    [name, name.replace(":", "__"), name.slice(name.indexOf(":") + 1)].find((one) => tools.has(one)) ?? name;
  return Object.fromEntries(Object.entries(variant).map(([name, change]) => [rename(name), change]));
}

/** mispick: after a heading for each pair, `--- a/<tool>`, `+++ b/<tool>`, and the lines of both descriptions. */
function readPatch(text: string): NamedVariant[] {
  return text.split(/^## /m).flatMap((part, at) => {
    const tools = [...part.matchAll(/^\+\+\+ b\/(.+)\n((?:[+-].*\n?)*)/gm)].map(([, tool = "", lines = ""]) => {
      const added = lines.split("\n").flatMap((line) => (line.startsWith("+") ? [line.slice(1)] : []));
      return [tool.trim(), added.join(" ").trim()];
    });
    return tools.length > 0 ? [{ name: `patch-${at}`, variant: Object.fromEntries(tools) }] : [];
  });
}

const toObjects = (list: Json | undefined) => (Array.isArray(list) ? list.filter(isJsonObject) : []);

const readFixes = (fixes: Json | undefined): NamedVariant[] =>
  toObjects(fixes).flatMap(({ tool, after_description: text }, at) =>
    typeof tool === "string" && typeof text === "string" ? [{ name: `fix-${at + 1}`, variant: { [tool]: text } }] : [],
  );

/** The descriptions of an iteration each, but for the one that the loop began with. */
function readHistory(history: Json | undefined, original: Json | undefined, { skill }: Subjects): NamedVariant[] {
  const texts = toObjects(history).map(({ description }) => description);
  if (texts.length > 0 && skill === undefined)
    throw usageError("These are descriptions of a skill, and the suite has several or none.", "Name it with --skill.");
  return texts.flatMap((text, at) => {
    const isNew = texts.indexOf(text) === at && text !== (original ?? texts[0]);
    const entry = skillEntryName(skill ?? "");
    return typeof text === "string" && isNew ? [{ name: `iteration-${at + 1}`, variant: { [entry]: text } }] : [];
  });
}

/** A list as `tools/list` gives it, one proposal in all. Annotations stay as they are, since they are no wording. */
function readTools(list: Json | undefined): NamedVariant[] {
  const changes = toObjects(list).flatMap(({ name, title, description, inputSchema, outputSchema }) => {
    const texts = defined({ title, description, inputSchema, outputSchema });
    const change = inputSchema === undefined ? description : { tool: texts };
    return typeof name === "string" && change !== undefined ? [[name, change]] : [];
  });
  const variant = variantSchema.safeParse(Object.fromEntries(changes));
  return changes.length > 0 && variant.success ? [{ name: "list", variant: variant.data }] : [];
}

/** What the linter finds in a list of tools. */
export type LintTools = (
  tools: readonly Tool[],
  instructions: string | undefined,
) => readonly { rule: string; tool?: string | undefined; message: string }[];

/** A text may grow to this multiple, or to this many characters: a list is paid for in every request. */
const growth = { factor: 2.5, characters: 300 } as const;

/**
 * Creates the check of proposals: why one must not be asked, or null. It must fit the tools, differ from the wording in
 * use and from earlier proposals, change wording alone, be short, have no secret, or what reads like one and is new,
 * and bring no finding of the linter, which knows of tools that do not exist and of texts that give a model orders, nor
 * say what a schema contradicts.
 */
export function createGate(cases: readonly PlannedCase[], lint: LintTools, io: Pick<Io, "env">) {
  const lists = [...new Map(cases.map(({ toolset }) => [toolset.hash, toolset])).values()];
  const known = new Set(lists.flatMap(({ tools }) => findFindings(tools, lint).map(({ key }) => key)));
  const claimed = new Set(lists.flatMap(({ tools }) => tools.flatMap(findContradictions)));
  const seen = new Map([[lists.map(({ hash }) => hash).join(), "changes nothing"]]);
  return ({ name, variant }: NamedVariant): string | null => {
    const tools = lists.map((list) => list.tools);
    const [problem] = checkVariant(tools, variant);
    if (problem) return problem.message;
    if (holdsSecret(variant, io)) return "It repeats a secret.";
    const changed = lists.map(({ tools }) => createToolset(applyVariant(tools, variant)));
    const hashes = changed.map(({ hash }) => hash).join();
    const same = seen.get(hashes);
    if (same !== undefined) return `It ${same}.`;
    const changes = lists.flatMap(({ tools }, at) =>
      listChanges(tools, changed[at]?.tools.map(({ shownAs: _, ...tool }) => tool) ?? []),
    );
    const other = changes.find((change) => change.class !== "description only");
    if (other) return `It changes more than wording: ${other.label}.`;
    const isNewToken = (word: string, before: string) => looksRandom(word) && !before.includes(word);
    const leak = changes.find(({ before = "", after = "" }) =>
      after.split(/[^\w.+/=-]+/).some((word) => isNewToken(word, before)),
    );
    if (leak) return `${leak.label} has what reads like a secret.`;
    const long = changes.find(
      ({ before = "", after = "" }) => after.length > Math.max(growth.characters, growth.factor * before.length),
    );
    if (long)
      return `${long.label} has ${long.after?.length} characters, over ${growth.characters} and ${growth.factor} times as many as now.`;
    const claim = changed.flatMap(({ tools }) => tools.flatMap(findContradictions)).find((one) => !claimed.has(one));
    if (claim !== undefined) return claim;
    const found = changed.flatMap(({ tools }) => findFindings(tools, lint)).find(({ key }) => !known.has(key));
    if (found) return `${found.rule}: ${found.message}`;
    seen.set(hashes, `equals ${name}`);
    return null;
  };
}

/** What descriptions of parameters say of defaults, values and being optional, and the schema does not. */
function findContradictions({ name: tool, inputSchema }: OfferedTool): string[] {
  const required = listRequired(inputSchema);
  return listProperties(inputSchema).flatMap(([name, property]) => {
    if (!isJsonObject(property) || typeof property.description !== "string") return [];
    const { description: text, default: initial, enum: values } = property;
    const said = /\bdefaults?(?: value)?(?: is| to|:)? *[`"']?([\w.-]*\w)/i.exec(text)?.[1];
    const quoted = Array.isArray(values) ? [...text.matchAll(/[`"']([\w.-]+)[`"']/g)].map(([, one = ""]) => one) : [];
    const unknown = quoted.find((one) => Array.isArray(values) && !values.map(String).includes(one) && one !== name);
    const isOptional = /^\W*optional\b|\(optional\b/i.test(text);
    const what = `${tool}.${name}`;
    return [
      ...(said !== undefined && initial !== undefined && String(initial) !== said
        ? [`${what} says that its default is ${said}, but in its schema it is ${JSON.stringify(initial)}.`]
        : []),
      ...(unknown === undefined ? [] : [`${what} names the value ${unknown}, which its schema does not have.`]),
      ...(isOptional && required.includes(name)
        ? [`${what} says that it is optional, but its schema requires it.`]
        : []),
    ];
  });
}

/** The findings in a list as models see it. The key has the tool's own name: a renamed one keeps its findings. */
function findFindings(tools: readonly OfferedTool[], lint: LintTools) {
  const own = new Map(tools.map((tool) => [showTool(tool).name, tool.name]));
  const shown = tools.filter(({ origin }) => origin !== "instructions" && origin !== "skill").map(showTool);
  const instructions = tools.find(({ origin }) => origin === "instructions")?.description;
  return lint(shown, instructions).map((finding) => ({
    ...finding,
    key: JSON.stringify([finding.rule, own.get(finding.tool ?? "") ?? ""]),
  }));
}

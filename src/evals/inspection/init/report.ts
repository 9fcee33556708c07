import { groupBy } from "../../base/collections.ts";
import { listConfusablePairs } from "../../base/search/similarity.ts";
import type { Finding } from "../../base/types/finding.ts";
import { countListTokens, type Tool } from "../../base/types/tool.ts";
import type { OfferedModel } from "../../experiments/workspace/models.ts";
import { type Block, type Item, list, section, text } from "../../reports/document.ts";
import { worstFirst } from "../../reports/findings.ts";
import { count, integer, money, percent } from "../../reports/format.ts";
import { listHostsWithTool } from "../../servers/host.ts";
import { differInEffect, isDeprecated } from "./draft.ts";

/** What was drafted: where, how many cases, the tokens of a list in a request, and what there is to say of it. */
export type Drafted = { path: string; cases: number; listTokens: number; blocks: Block[] };

/** A tool or a skill, as far as it can be taken for another one. */
type Named = Pick<Tool, "name" | "description"> & Partial<Pick<Tool, "inputSchema" | "title" | "annotations">>;

const contextTokens = 200_000;

/** `14 tools · about 1,997 tokens per request (1% of a 200k context)` */
export function describeSize(tools: readonly Tool[]): string {
  const tokens = countListTokens(tools);
  const share = percent(tokens / contextTokens);
  return `${count(tools.length, "tool")} · about ${integer(tokens)} tokens per request (${share} of a 200k context)`;
}

/** Of a list with fewer tokens in all, none is worth naming. */
const leastTokens = 1000;
const maxLargest = 3;

function describeLargest(tools: readonly Tool[]): string | undefined {
  if (tools.length <= maxLargest || countListTokens(tools) < leastTokens) return undefined;
  const sizes = tools.map((tool) => ({ name: tool.name, tokens: countListTokens([tool]) }));
  const largest = sizes.sort((a, b) => b.tokens - a.tokens).slice(0, maxLargest);
  return `Largest: ${largest.map(({ name, tokens }) => `${name} ${integer(tokens)}`).join(", ")} (\`evals tools\` lists all).`;
}

const maxPairs = 3;

/** The most similar tools or skills, each pair with why one may be taken for the other, and how to list all. */
export function listMixedUp(named: readonly Named[], lintCommand: string): Block[] {
  const byName = new Map(named.map((one) => [one.name, one]));
  const pairs = listConfusablePairs(named).flatMap(({ a, b, similarity, shared }): Item[] => {
    const [one, other] = [byName.get(a), byName.get(b)];
    if (!one || !other || (one.inputSchema && differInEffect(a, b))) return [];
    const why = explainPair(one, other, similarity, shared);
    return why === undefined ? [] : [{ text: [{ code: a }, " / ", { code: b }], items: [why] }];
  });
  const noun = named[0]?.inputSchema ? "tools" : "skills";
  if (pairs.length === 0) return [text(named.length > 1 ? `No two ${noun} are alike.` : undefined)];
  const all: Item[] =
    pairs.length > maxPairs ? [{ text: "All, less likely ones too:", command: `${lintCommand} --confusable` }] : [];
  return section("Look alike, so a model may mix them up", [list("pair", pairs, maxPairs), list("command", all)]);
}

/** A deprecated tool that is less similar to another is not replaced by it. */
const leastReplaced = 0.5;

function explainPair(one: Named, other: Named, similarity: number, shared: readonly string[]): string | undefined {
  const old = [one, other].find(isDeprecated);
  if (old && similarity < leastReplaced) return undefined;
  if (old) return `${old.name} is deprecated, and still fits every request for the other.`;
  const distinguishes = ({ description = "" }: Named, { name, title, annotations }: Named) =>
    [name, title, annotations?.title].some((one) => one && description.includes(one));
  if (distinguishes(one, other) || distinguishes(other, one)) return undefined;
  const words = shared.filter((word) => word.length > 2).slice(0, 4);
  return `${percent(similarity)} of their words are the same (${words.join(", ")}); neither says when to use the other.`;
}

/** Which tools are the largest, which may do harm, and which have names that a host gives to tools of its own. */
export function describeEffects(tools: readonly Tool[]): Block {
  const changing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true);
  const isOne = changing.length === 1;
  return text(
    describeLargest(tools),
    changing.length === 0
      ? "Every tool says that it only reads (readOnlyHint)."
      : changing.length === tools.length
        ? "No tool says that it only reads (readOnlyHint), so no query will execute any."
        : `${changing.length} of ${count(tools.length, "tool")} ${isOne ? "does" : "do"} not say that ${isOne ? "it only reads" : "they only read"} (readOnlyHint); no query will execute ${isOne ? "it" : "them"}.`,
    describeClashes(tools),
  );
}

/** Every host of a profile puts the name of the server in front, so that no two names are the same. */
function describeClashes(tools: readonly Tool[]): string | undefined {
  const hosts = groupBy(tools, ({ name }) => listHostsWithTool(name).join(", "));
  hosts.delete("");
  if (hosts.size === 0) return undefined;
  const clashes = [...hosts].map(([titles, same]) => `${same.map(({ name }) => name).join(", ")} (${titles})`);
  return `Hosts have tools of the same name: ${clashes.join("; ")}. They list both, yours with the server's name in front, and a model may call either.`;
}

const maxRules = 5;
const maxMessage = 150;

/** The errors and warnings of lint by rule, the worst first, with the command that shows all of them. */
export function listFindings(found: readonly Finding[], lintCommand: string): Block[] {
  const findings = worstFirst(found).filter(({ severity }) => severity !== "info");
  const rules = [...groupBy(findings, ({ rule }) => rule)].map(([rule, [first, ...others]]): Item => {
    const { severity = "", message = "", location } = first ?? {};
    const more = others.length === 0 ? "" : ` (and ${integer(others.length)} more)`;
    const where = location?.tool === undefined ? [] : [{ code: location.tool }, ": "];
    return { text: [{ strong: severity }, ` ${rule}${more}: `, ...where, { code: message, max: maxMessage }] };
  });
  const infos = found.length - findings.length;
  const clean = "Lint: no errors, no warnings";
  if (findings.length === 0 && infos === 0) return [text(`${clean}.`)];
  if (findings.length === 0)
    return [list("command", [{ text: `${clean}, ${count(infos, "info")}:`, command: `${lintCommand} --all` }])];
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const title = `Lint: ${count(errors, "error")}, ${count(findings.length - errors, "warning")} (${lintCommand})`;
  return section(title, [list("rule", rules, maxRules)]);
}

/** How to ask a model next: those found here, each with its price, or what the first of the providers needs. */
export function listNext(command: string, found: readonly OfferedModel[], [first]: readonly OfferedModel[]): Block[] {
  const price = ({ costUsd }: OfferedModel) =>
    costUsd === 0 ? "free" : costUsd === "unknown" ? "its price with --dry-run" : `about ${money(costUsd)}`;
  const items = found.map((one): Item => {
    return { text: `${one.reason}: ${price(one)}`, command: `${command} ${one.flags}` };
  });
  const small = "Without a key: a small model, 1.1 GB once, which says little about a large one";
  if (items.length === 0 && first)
    items.push(
      { text: `With ANTHROPIC_API_KEY: ${price(first)}`, command: `${command} ${first.flags}` },
      { text: small, command: `${command} -m local` },
      { text: "OPENAI_API_KEY, Ollama, LM Studio, llama.cpp and vLLM are offered once they are found." },
    );
  return [text("Next: correct the queries, then ask a model."), list("model", items)];
}

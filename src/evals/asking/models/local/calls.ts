import { resolvePointer } from "../../../base/jsonSchema/walk.ts";
import { findClosingBrace } from "../../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import type { Call } from "../../../base/types/trial.ts";
import { readArguments } from "../../protocols/protocol.ts";
import { type CallForm, type ChatTool, escapePattern } from "./template.ts";

// A reply is constrained from the place where a call begins: its grammar (GBNF, of llama.cpp) permits the rest of the
// form, the listed names, and arguments of the schema. Before and after a call, the model writes what it wants.

/** Numbers, texts and values of JSON. Spaces are limited: small models otherwise write them without end. */
const baseRules = String.raw`
ws ::= | " " | "\n" [ \t]{0,20}
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws ( string ws ":" ws value ( "," ws string ws ":" ws value )* )? ws "}"
array ::= "[" ws ( value ( "," ws value )* )? ws "]"
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" ( ["\\bfnrt/] | "u" [0-9a-fA-F]{4} ) )* "\""
integer ::= "-"? ( "0" | [1-9] [0-9]{0,15} )
number ::= integer ( "." [0-9]{1,16} )? ( [eE] [-+]? [0-9]{1,3} )?
boolean ::= "true" | "false"
null ::= "null"`;

const plainTypes = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

const literal = (text: string) => (text === "" ? "" : JSON.stringify(text));
/** The parts of a template's text between which a model may write any space. */
const splitText = (text: string) => text.split(/\s+|(?<=[{}[\]:,])|(?=[{}[\]:,])/).filter(Boolean);
const spaced = (text: string) => splitText(text).map(literal).join(" ws ");

/** The grammar of the calls of a list of tools. */
export class CallGrammar {
  /** Rules by what they permit. */
  readonly #rules = new Map<string, string>();
  /** The rules of schemas that were read; while one is read, any value, because it may contain itself. */
  readonly #known = new Map<Json, string>();
  /** By tool the rule of its arguments. */
  readonly #arguments: readonly string[];

  constructor(private readonly tools: readonly ChatTool[]) {
    this.#arguments = tools.map(({ function: { parameters } }) => this.#toRule(parameters, parameters));
  }

  /** The grammar of one value of a schema. */
  static ofSchema(schema: JsonObject): string {
    const grammar = new CallGrammar([]);
    return grammar.#complete(grammar.#toRule(schema, schema));
  }

  /** The grammar of what follows `written`, the part of a call in this form; undefined if no listed tool can follow. */
  follow(written: string, { open, middle, close }: CallForm): string | undefined {
    const { left, name } = readOpening(written, open) ?? {};
    if (left === undefined || name === undefined) return undefined;
    const end = ` ws ${spaced(/^[\s\]}]*/.exec(close)?.[0].trim() ?? "")}`;
    const calls = this.tools.flatMap(({ function: one }, at) => {
      const rest = one.name.startsWith(name) ? one.name.slice(name.length) : undefined;
      return rest === undefined ? [] : [`${literal(rest)} ${spaced(middle)} ws ${this.#arguments[at]}`];
    });
    if (calls.length === 0) return undefined;
    return this.#complete(`${left && `ws ${spaced(left)} `}( ${calls.join(" | ")} )${end}`);
  }

  #complete(root: string): string {
    const rules = [...this.#rules].map(([body, rule]) => `${rule} ::= ${body}`);
    return `root ::= ${root}\n${rules.join("\n")}${baseRules}`;
  }

  #define(body: string): string {
    const rule = this.#rules.get(body) ?? `r${this.#rules.size}`;
    this.#rules.set(body, rule);
    return rule;
  }

  /** The rule of a schema. Keywords that a grammar cannot express permit any value of the type. */
  #toRule(schema: Json | undefined, root: JsonObject): string {
    if (!isJsonObject(schema)) return "value";
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    this.#known.set(schema, "value");
    const rule = this.#createRule(schema, (inner) => this.#toRule(inner, root), root);
    this.#known.set(schema, rule);
    return rule;
  }

  #createRule(schema: JsonObject, toRule: (inner: Json | undefined) => string, root: JsonObject): string {
    const { type = isJsonObject(schema.properties) ? "object" : undefined, $ref, allOf } = schema;
    if (typeof $ref === "string") return toRule(resolvePointer($ref, root)?.value);
    const constants = "const" in schema ? [schema.const] : schema.enum;
    if (Array.isArray(constants) && constants.length > 0)
      return this.#define(constants.map((one) => literal(JSON.stringify(one))).join(" | "));
    const choices = schema.anyOf ?? schema.oneOf ?? (Array.isArray(allOf) && allOf.length === 1 ? allOf : undefined);
    if (Array.isArray(choices) && choices.length > 0) return this.#define(choices.map(toRule).join(" | "));
    if (Array.isArray(type)) return this.#define(type.map((one) => toRule({ ...schema, type: one })).join(" | "));
    if (type === "object" && isJsonObject(schema.properties)) return this.#toObject(schema, toRule);
    if (type === "array" && isJsonObject(schema.items)) {
      const items = `${toRule(schema.items)} ( ws "," ws ${toRule(schema.items)} )*`;
      return this.#define(`"[" ws ${Number(schema.minItems) > 0 ? items : `( ${items} )?`} ws "]"`);
    }
    return typeof type === "string" && plainTypes.has(type) ? type : "value";
  }

  /** The properties of an object in their order, each at most once, and the required ones always. */
  #toObject({ properties, required }: JsonObject, toRule: (schema: Json | undefined) => string): string {
    const needed = new Set(Array.isArray(required) ? required : []);
    let [first, later] = ["", ""];
    for (const [key, schema] of Object.entries(properties as JsonObject).reverse()) {
      const pair = `${literal(JSON.stringify(key))} ws ":" ws ${toRule(schema)}`;
      const rest = later && ` ${this.#define(later)}`;
      // An empty choice must not be the last one.
      const skip = (other: string) => (needed.has(key) ? "" : `${other && this.#define(other)} | `);
      [first, later] = [`${skip(first)}${pair}${rest}`, `${skip(later)}ws "," ws ${pair}${rest}`];
    }
    return this.#define(first === "" ? `"{" ws "}"` : `"{" ws ( ${first} ) ws "}"`);
  }
}

/** Follows `open` in a text, whatever its spaces: what is left of it, or what is there of the name behind it. */
function readOpening(written: string, open: string): { left: string; name: string } | undefined {
  let at = 0;
  for (let i = 0; i < written.length; i++) {
    if (at === open.length) return { left: "", name: written.slice(i) };
    if (/\s/.test(written[i] ?? "")) continue;
    while (/\s/.test(open[at] ?? "")) at++;
    if (open[at] !== written[i]) return undefined;
    at++;
  }
  return { left: open.slice(at), name: "" };
}

/** Finds a call that has begun in a text and whose tool is not named yet. */
export function findOpening(text: string, forms: readonly CallForm[]): { form: CallForm; written: string } | undefined {
  for (const form of forms) {
    const found = form.begins.exec(text);
    if (!found) continue;
    const written = text.slice(found.index + found[0].length);
    const least = form.least.replace(/\s/g, "").length;
    if (written.replace(/\s/g, "").length >= least) return { form, written };
  }
  return undefined;
}

/** A call in a text, and where the text has it. */
type FoundCall = Pick<Call, "tool" | "arguments" | "argumentsText"> & { start: number; end: number; form: CallForm };

/** Reads the calls that a text has in these forms. A call that is not complete is left in the text. */
export function readCalls(text: string, forms: readonly CallForm[]): { calls: FoundCall[]; text: string } {
  const calls: FoundCall[] = [];
  for (const form of forms) {
    const spacedPattern = (part: string) => splitText(part).map(escapePattern).join("\\s*");
    const middle = spacedPattern(form.middle).replace("arguments", "(?:arguments|parameters)");
    const pattern = new RegExp(`${spacedPattern(form.open)}([^\\s"<>{}[\\]]+)${middle}\\s*(?=\\{)`, "g");
    for (const found of text.matchAll(pattern)) {
      const start = found.index + found[0].length;
      const argumentsEnd = findClosingBrace(text, start);
      const [closing = ""] = /^[\s\]}]*/.exec(form.close) ?? [];
      const close = argumentsEnd && new RegExp(`\\s*${spacedPattern(closing.trim())}`, "y");
      if (!close) continue;
      close.lastIndex = argumentsEnd;
      const end = close.test(text) ? close.lastIndex : undefined;
      if (end === undefined || calls.some((one) => found.index < one.end && end > one.start)) continue;
      const args = readArguments(text.slice(start, argumentsEnd));
      calls.push({ tool: found[1] ?? "", ...args, start: found.index, end, form });
    }
  }
  calls.sort((a, b) => a.start - b.start);
  const between = [...calls, { start: text.length }].map(({ start }, at) => text.slice(calls[at - 1]?.end ?? 0, start));
  const marks = forms.flatMap(({ open, close }) =>
    [...`${open}${close}`.matchAll(/<[^<>]+>|\[[A-Z_]+\]/g)].map(String),
  );
  const plain = marks.reduce((left, mark) => left.replaceAll(mark, ""), between.join("\n"));
  return { calls, text: calls.length === 0 ? text.trim() : plain.replace(/```[\w-]*\s*(?:```|$)/g, "").trim() };
}

import { tsPlugin } from "@sveltejs/acorn-typescript";
import { Parser } from "acorn";
import { messageOf, usageError } from "../../../base/types/errors.ts";

/** A node of the syntax tree (ESTree, with the nodes of TypeScript). */
export type Node = { type: string; loc: { start: { line: number; column: number } }; [key: string]: unknown };

const TypeScriptParser = Parser.extend(tsPlugin());

/** Parses a TypeScript module. `file` is how messages name it. Throws EvalsError with the place of a syntax error. */
export function parseSource(text: string, file: string): Node {
  try {
    const options = { ecmaVersion: "latest", sourceType: "module", locations: true, allowHashBang: true } as const;
    return TypeScriptParser.parse(text, options) as unknown as Node;
  } catch (error) {
    const { line, column } = (error as { loc?: { line: number; column: number } }).loc ?? { line: 1, column: 0 };
    const message = `The source cannot be parsed: ${messageOf(error).replace(/ \(\d+:\d+\)$/, "")}.`;
    throw usageError(message, "Correct the file, or name another with --from.", { file, line, column: column + 1 });
  }
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

/** The node under a key, if there is one. */
export function getNode(node: Node, key: string): Node | undefined {
  const value = node[key];
  return isNode(value) ? value : undefined;
}

/** The nodes of a list under a key, without the holes of an array. */
export function getNodes(node: Node, key: string): Node[] {
  const value = node[key];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** The name of an identifier, or the text of a string. */
export function getName(node: Node | undefined): string | undefined {
  const name = node?.type === "Identifier" ? node.name : node?.value;
  return typeof name === "string" ? name : undefined;
}

/** A node and all nodes below it, in source order. */
export function* walkNodes(node: Node): Generator<Node> {
  yield node;
  for (const [key, value] of Object.entries(node)) {
    if (key === "loc") continue;
    for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) yield* walkNodes(one);
  }
}

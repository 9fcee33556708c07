import { Composer, type CST, type Node, Parser } from "yaml";
import { SyntaxFault } from "../parsing/json.ts";

/**
 * Reads one YAML 1.2 document into its node tree; undefined when the text holds no value.
 * The faults are all syntax errors, at most one a line, in the order of the text; then the tree is not to be trusted.
 */
export function parseYaml(text: string, maxDepth: number): { root: Node | undefined; faults: SyntaxFault[] } {
  const tokens = [...new Parser().parse(text)];
  // Looked for before composing: the composer recurses, and an overflow there can abort the whole process.
  const deep = tooDeep(tokens, maxDepth);
  if (deep) return { root: undefined, faults: [deep] };
  // uniqueKeys is quadratic; equal keys are found when the tree is read.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false, logLevel: "error" });
  const [document, second] = [...composer.compose(tokens, true, text.length)];
  if (second) {
    const hint = 'write one suite a file, without a "---" between';
    return {
      root: undefined,
      faults: [new SyntaxFault(second.range[0], "the file holds several YAML documents", hint)],
    };
  }
  const faults = [...(document?.errors ?? []), ...(document?.warnings ?? [])].map(
    ({ pos, message }) => new SyntaxFault(pos[0], `not valid YAML: ${message}`),
  );
  return { root: document?.contents ?? undefined, faults };
}

function tooDeep(tokens: readonly CST.Token[], maxDepth: number): SyntaxFault | undefined {
  const open: { token: CST.Token; depth: number }[] = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = open.pop(); next; next = open.pop()) {
    const { token, depth } = next;
    if (depth > maxDepth) {
      return new SyntaxFault(
        "offset" in token ? token.offset : 0,
        `nested more than ${maxDepth} levels deep`,
        "flatten it",
      );
    }
    for (const inner of innerTokens(token)) open.push({ token: inner, depth: depth + 1 });
  }
  return undefined;
}

function innerTokens(token: CST.Token): CST.Token[] {
  if (token.type === "document") return token.value ? [token.value] : [];
  if (!("items" in token)) return [];
  return token.items.flatMap(({ key, value }) => [...(key ? [key] : []), ...(value ? [value] : [])]);
}

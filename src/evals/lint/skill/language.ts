import { plainText } from "../language/english.ts";

const limits =
  /\b(?:do not|don't|does not|doesn't|never|cannot|must not|should not|not)\b[^.;]{0,40}?\b(?:use[ds]?|for|when|if|trigger|appl(?:y|ies)|invoke|handles?|covers?|meant|intended|load)\b|\bskip (?:this|it|when|if|for)\b|\b(?:out of scope|exclud(?:es?|ing)|except|other than|instead|rather than|but not)\b|\bonly (?:for|when|if)\b/i;

/** Whether a description says what a skill must not be used for. English only. */
export function saysWhenNotToUse(description: string): boolean {
  return limits.test(plainText(description));
}

const quoted = /"[^"\n]{2,120}"|`[^`\n]{2,120}`|(?<!\w)'[^'\n]{2,120}'(?!\w)/g;
const cue =
  /\b(?:triggers?(?: (?:on|for|include|phrases|words|when))*|mentions?|says?|asks? (?:for|to|about|how)|phrases(?: like| such as)?|such as|keywords?|e\.g\.,?|for example|requests? (?:like|such as|for|to))\b:?/gi;

/** How many phrases a description names that a user would say: in quotes, or in a list after a word that announces one. */
export function triggerPhrases(description: string): number {
  const plain = plainText(description);
  const lists = [...plain.matchAll(cue)].map(({ 0: { length }, index }) => {
    const [sentence = ""] = plain.slice(index + length, index + length + 1_000).split(/[.;!?](?:\s|$)|\n\n/);
    return sentence.split(/,|\bor\b|\band\b/).filter((part) => /\w/.test(part)).length;
  });
  return Math.max(plain.match(quoted)?.length ?? 0, ...lists);
}

const onlyWhen =
  /^\W*(?:(?:always |only |also )?(?:use[ds]?|load|invoke|activate|trigger|apply)s?\b|when(?:ever)?\b|do not|don't|not\b|never)/i;
const toDo = /\b(?:use|used|skill|helps?|guides?)\b[^.]{0,40}?\bto [a-z]{3,}/i;

/** Whether a description says what a skill does, beside when: in a sentence of its own, or as "use this to ...". */
export function saysWhatItDoes(description: string): boolean {
  const plain = plainText(description);
  if (toDo.test(plain.replace(/\buser\b[^.]*?\bto\b/g, "user"))) return true;
  const parts = plain.split(/[.;!?:](?:\s|$)|\n\n| [-–—]+ /);
  return parts.some((part) => !onlyWhen.test(part) && (part.match(/[\p{L}\p{N}]+/gu) ?? []).length > 2);
}

const secretName =
  /(?:^|[_-])(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIAL|AUTH|AUTHORIZATION|PAT|BEARER|JWT|COOKIE)S?(?:$|[_-])/i;

/** Names that are written together: PGPASSWORD, authtoken. */
const joinedName = /(?:password|passwd|passphrase|secret|token|apikey|accesskey|privatekey|credential)s?$|^sshpass$/i;

/** Names of places and kinds that contain names of secrets. `PWD` alone is the working directory of every shell. */
const otherName = /(?:PATH|FILE|DIR|SOCK|_TYPE|_HEADER|_MODE|_METHOD|_SCHEME|_ISSUER|_ALGORITHM)$|^PWD$/i;

/** Whether a variable, a flag or a header of this name holds a secret. */
export function isSecretName(name: string): boolean {
  const separated = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2");
  return (secretName.test(separated) || joinedName.test(name)) && !otherName.test(separated);
}

/** Whether a value that is named like a secret is one: not a word, a number, a path or a reference. */
export const looksSecret = (value: string) =>
  value.length >= 8 &&
  !/^[a-z]{1,19}$/i.test(value) &&
  !/^[\d.:-]+$/.test(value) &&
  !/^(?:[~.]|\w:)?[/\\]|\s/.test(value) &&
  !isReference(value);

/** `${NAME}`, `$NAME`, `<your key>`, `{{key}}`: where a secret goes. */
export const isReference = (value: string) =>
  /^(?:[\w-]+ )?\$\{\w[^}]*\}$|^\$\w+$|^<[\w -]+>$|^\{\{[\w .-]+\}\}$|^(.)\1*$/.test(value);

const tokenStart =
  /^(?:sk[-_]|[pr]k_(?:live|test)_|gh[opsu]_|github_pat_|xox[abeprs]-|glpat-|npm_|hf_|AKIA|ASIA|AIza|lin_api_|ntn_|eyJ[\w-]{10})[\w.+/=-]{8}/;

/** Whether a word is a token of a known service. */
export const isToken = (word: string) => word.length >= 20 && tokenStart.test(word);

const uuid = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/i;

/**
 * Whether a value reads like one that a program drew at random, whatever its name: a token of a known service, a UUID,
 * or a part in which letters, capitals and digits change far more often than in words, versions and dates.
 */
export const looksRandom = (value: string) =>
  tokenStart.test(value) || uuid.test(value) || value.split(/[^\p{L}\p{N}]+/u).some(isMixed);

function isMixed(part: string): boolean {
  const runs = part.match(/\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+|[^\p{Lu}\p{Ll}\p{N}]+/gu) ?? [];
  const [shortest, longestRun] = [8, part.length < 12 ? 2 : part.length < 24 ? 3 : 5];
  return part.length >= shortest && runs.length * longestRun >= part.length;
}

/** The parts of the value of a secret, which are secrets as well. */
export function listParts(value: string): string[] {
  // Some readers of `.env` files keep quotes.
  const quoted = /^(["'])(.+)\1$/s.exec(value)?.[2];
  if (quoted !== undefined) return [quoted];
  const members = readMembers(value);
  if (members) return members.flatMap(({ key, text }) => (isSecretName(key) || looksSecret(text) ? [text] : []));
  const scheme = /^(?:bearer|basic|digest|token|bot|api-?key)\s+(\S+)$/i.exec(value)?.[1];
  if (scheme !== undefined) return [scheme];
  const lines = value.trim().split(/\s*\n\s*/);
  if (lines.length > 1) return lines.filter((line) => line.length >= shortestLine && looksSecret(line));
  const listed = value.split(/[\s,;|]+/);
  if (listed.length > 1) return listed.filter((one) => looksSecret(one) && (looksRandom(one) || listed.length < 9));
  const named = /^[\w-]{1,40}[=:](?!\/\/)(.+)$/.exec(value)?.[1];
  return named !== undefined && looksSecret(named) ? [named] : [];
}

/** Of a secret of several lines. */
const shortestLine = 16;

/** The texts in JSON with the keys that they are under; undefined if the value is not JSON. */
export function readMembers(value: string): { key: string; text: string }[] | undefined {
  if (!/^\s*[{[]/.test(value)) return undefined;
  const members: { key: string; text: string }[] = [];
  try {
    JSON.parse(value, (key, text: unknown) => {
      if (typeof text === "string") members.push({ key, text });
      return text;
    });
  } catch {
    return undefined;
  }
  return members;
}

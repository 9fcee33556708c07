// The form of the names under which a host shows tools, fitted to what it showed: see src/evals/servers/host.ts.
import { nameTool } from "../build/evals/servers/host.js";

/** The printable ASCII characters beside letters and digits. */
const characters = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).filter(
  (one) => !/[a-zA-Z0-9]/.test(one),
);
const [shortest, longest] = [30, 180];
const server = "works";

const number = (i) => String(i).padStart(3, "0");
/** A name of this length in which no part repeats. */
const longName = (i, length) =>
  `q${number(i)}x${Array.from({ length }, (_, at) => (at * 7919 + i).toString(36)).join("")}`.slice(0, length);

/** The tools to be shown: with odd characters, long ones, and those of servers with odd characters. */
export function listProbes() {
  const tools = [...characters, "A"].map((one) => `x${one}y`);
  const named = ["xy", ...tools].map((rest, i) => ({ server, name: `q${number(i)}${rest}` }));
  const long = Array.from({ length: longest - shortest }, (_, i) => ({
    server,
    name: longName(500 + i, shortest + i),
  }));
  const served = [...characters, "A"].map((one, i) => ({
    server: `s${number(i)}x${one}y`,
    name: `q${number(900 + i)}`,
  }));
  return { named, long, served };
}

/** What one part of a name became: which characters are kept, what replaces others, and which are dropped, if any. */
function fitPart(pairs) {
  const kept = pairs.filter(([one, shown]) => shown === one && one !== "A").map(([one]) => one);
  const others = new Set(
    pairs.filter(([one, shown]) => shown !== one && shown !== "" && one !== "A").map(([, it]) => it),
  );
  if (others.size > 1) throw new Error(`characters are replaced by ${[...others].join(" and ")}`);
  const dropped = pairs.filter(([, shown]) => shown === "").map(([one]) => one);
  if (others.size + dropped.length === 0) return "unchanged";
  const isLower = pairs.some(([one, shown]) => one === "A" && shown === "a");
  return {
    kept: kept.join(""),
    other: [...others][0] ?? "",
    ...(dropped.length > 0 && { dropped: dropped.join("") }),
    ...(isLower && { lowerCase: true }),
  };
}

/**
 * The form of the names `shown`, by the number in the name of each probe. Throws when a name does not have the form:
 * it must then be taught to nameTool.
 */
export function fitNameForm({ named, long, served }, shown) {
  const plain = shown.get(named[0].name.slice(0, 4));
  const [, prefix, separator] = /^(.*)works(.*)q000xy$/.exec(plain) ?? [];
  if (separator === undefined) throw new Error(`a plain name is shown as "${plain}"`);
  const between = (text, start) => text.slice(text.indexOf(start) + start.length, -1);
  const pairs = named
    .slice(1)
    .map(({ name }) => [name.slice(5, -1), between(shown.get(name.slice(0, 4)), `${name.slice(0, 4)}x`)]);
  const serverPairs = served.map(({ server: from, name }) => {
    const [head] = (shown.get(name) ?? "").split(`${separator}${name}`);
    return [from.slice(5, -1), between(head, `${from.slice(0, 4)}x`)];
  });
  const form = { prefix, separator, server: fitPart(serverPairs), tool: fitPart(pairs) };
  const lengths = long.map(({ name }) => ({ whole: nameTool(form, server, name), raw: shown.get(name.slice(0, 4)) }));
  const isCut = lengths.some(({ whole, raw }) => raw !== whole);
  const limit = Math.max(...lengths.map(({ raw = "" }) => raw.length));
  const forms = isCut ? ["end", "middle", "hash", "omitted"].map((cut) => ({ ...form, limit, cut })) : [form];
  const probes = [...named, ...long, ...served];
  const explains = (one, probe) => {
    const name = nameTool(one, probe.server, probe.name);
    return shown.get(probe.name.slice(0, 4)) === (one.cut === "omitted" && name.length > limit ? undefined : name);
  };
  const fitting = forms.find((one) => probes.every((probe) => explains(one, probe)));
  if (fitting) return fitting;
  const odd = probes.find((probe) => !explains(forms[0], probe));
  throw new Error(
    `"${odd.name}" of "${odd.server}" is shown as "${shown.get(odd.name.slice(0, 4))}", which no form explains`,
  );
}

import type * as z from "zod";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Maximum number of issues in a message. */
const maxIssues = 5;

/** What messages call the types of schemas. */
export const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
  undefined: "nothing",
};
const nameType = (type: string) => typeNames[type] ?? type;

/** Why a value does not match a schema, on one line: its first five issues, each with its path. */
export function formatIssues(error: { issues: readonly Issue[] }): string {
  const texts = listIssues(error).map(({ path, message }) => `${formatPath(path) || "it"} ${message}`);
  const left = texts.length - maxIssues;
  return [...texts.slice(0, maxIssues), ...(left > 0 ? [`and ${left} more`] : [])].join("; ");
}

/** The issues of a zod error in plain words. A message continues its path: `is missing: expected an object`. */
export function listIssues({ issues }: { issues: readonly Issue[] }): { path: Path; message: string }[] {
  return issues.map((issue) => {
    const chosen = chooseOption(issue);
    return { path: chosen.path, message: describe(chosen) };
  });
}

/** `cases[2].input` */
export function formatPath(path: Path): string {
  return path
    .map((step, at) => (typeof step === "number" ? `[${step}]` : `${at > 0 ? "." : ""}${String(step)}`))
    .join("");
}

function describe(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type": {
      const expected = nameType(issue.expected);
      const received = readReceived(issue);
      if (received === "undefined") return `is missing: expected ${expected}`;
      return `must be ${expected}${received === undefined ? "" : `, got ${nameType(received)}`}`;
    }
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map((value) => JSON.stringify(value) ?? String(value)).join(", ")}`;
    case "unrecognized_keys":
      return `has ${issue.keys.length === 1 ? "an unknown key" : "unknown keys"}: ${issue.keys.slice(0, maxIssues).join(", ")}`;
    case "too_small":
      if (issue.minimum === 1 && units[issue.origin] !== undefined) return "is empty";
      return mustBe(issue.origin, "at least", issue.minimum);
    case "too_big":
      return mustBe(issue.origin, "at most", issue.maximum);
    case "invalid_union":
      return "has an unknown value";
    default:
      return `is invalid: ${issue.message}`;
  }
}

/** The issue of a union as one of its options: the one with the fewest issues, if not all fail alike. */
function chooseOption(issue: Issue): Issue {
  if (issue.code !== "invalid_union") return issue;
  const types = issue.errors.flatMap(([first]) =>
    first?.code === "invalid_type" && first.path.length === 0 ? first : [],
  );
  const [typed] = types;
  if (typed && types.length === issue.errors.length) {
    const expected = [...new Set(types.map((type) => nameType(type.expected)))].join(" or ");
    return { ...typed, path: issue.path, expected: expected as typeof typed.expected };
  }
  const values = issue.errors.map(([first]) =>
    first?.code === "invalid_value" && first.path.length === 0 ? first : undefined,
  );
  const [valued] = values;
  if (valued && values.every((one) => one !== undefined))
    return { ...valued, path: issue.path, values: values.flatMap((one) => one.values) };
  const matching = issue.errors.filter(([first]) => !types.includes(first as (typeof types)[number]));
  const [closest] = matching.toSorted((a, b) => a.length - b.length)[0] ?? [];
  return closest ? chooseOption({ ...closest, path: [...issue.path, ...closest.path] }) : issue;
}

/** Zod names the type of the value in its message alone. */
const readReceived = ({ message }: Issue) => /, received (\w+)$/.exec(message)?.[1];

/** What the length of a value counts. */
const units: Readonly<Record<string, string>> = {
  string: "characters",
  array: "entries",
  map: "entries",
  set: "entries",
};

function mustBe(origin: string, bound: string, value: number | bigint): string {
  const unit = units[origin];
  return unit === undefined ? `must be ${bound} ${value}` : `must have ${bound} ${value} ${unit}`;
}

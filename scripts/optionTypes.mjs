// Writes src/evals/options.ts: the options of the library's functions, from the flags of the commands of the same names.
// Run it after `npm run build`: node scripts/optionTypes.mjs
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The commands that are functions of the library, with the names of their option types. */
const functions = {
  run: "RunOptions",
  compare: "CompareOptions",
  blame: "BlameOptions",
  variants: "VariantsOptions",
  tools: "ToolsOptions",
  lint: "LintOptions",
  search: "SearchOptions",
  probe: "ProbeOptions",
  doctor: "DoctorOptions",
};

/** The types of the options that several functions share, and the flags that they are made from. */
const groups = {
  SuiteOptions: "suiteFlags",
  ExposureOptions: "exposureFlags",
  AskOptions: "askFlags",
  ServerOptions: "serverFlags",
};

/** What has no meaning in a program: the form of the output, and flags that print something else. */
const leftOut = new Set(["json", "format", "dry-run", "rules", "action", "watch"]);

/**
 * The text of src/evals/options.ts, before it is formatted. `singleUse`: flags that `evals.config.*` cannot hold. `shared`: the
 * exports of flags.ts, with the flags that several commands share.
 */
export function renderOptionTypes(commands, singleUse, shared) {
  const families = Object.entries(groups).map(([type, name]) => [type, Object.entries(shared[name])]);
  const base = families.map(([type, group]) => `type ${type} = ${renderMembers(group)};`);
  const types = Object.entries(functions).map(([name, type]) => {
    const { positionals, flags } = commands.find((one) => one.command.split(" ")[0] === name);
    const used = families.filter(([, group]) => group.every(([flag, option]) => flags[flag] === option));
    const inherited = new Set(used.flatMap(([, group]) => group.map(([flag]) => flag)));
    const own = Object.entries({ ...positionals, ...flags }).filter(([flag]) => !inherited.has(flag));
    const parts = [...used.map(([family]) => family), renderMembers(own)];
    return `/** The options of \`${name}\`, as the flags of \`evals ${name}\`. */\nexport type ${type} = ${parts.join(" & ")};`;
  });
  const omitted = ["paths", ...singleUse]
    .filter((flag) => !leftOut.has(flag))
    .map((flag) => JSON.stringify(toKey(flag)));
  const config = `/** The options that \`evals.config.*\` can set for a project. */\nexport type ConfigOptions = Omit<RunOptions, ${omitted.join(" | ")}>;`;
  return `// Written by scripts/optionTypes.mjs from the flags of the commands.\n\n${[...base, ...types, config].join("\n\n")}\n`;
}

const toKey = (flag) => flag.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

function renderMembers(flags) {
  const members = flags.filter(([flag, { hidden }]) => !hidden && !leftOut.has(flag)).map(renderMember);
  return `{\n${members.join("\n")}\n}`;
}

function renderMember([flag, option]) {
  const text = option.describe.replace(/--([a-z-]+)/g, (_, other) => `\`${toKey(other)}\``);
  const fallback =
    option.default === undefined || option.default === false ? "" : `. Default: ${JSON.stringify(option.default)}`;
  return `  /** ${text.replaceAll("*/", "*\\/")}${fallback}. */\n  ${toKey(flag)}${option.demandOption ? "" : "?"}: ${renderType(option)}${option.demandOption ? "" : " | undefined"};`;
}

function renderType({ type, number, choices, array }) {
  const one =
    type === "boolean"
      ? "boolean"
      : number
        ? "number"
        : choices
          ? choices.map((choice) => JSON.stringify(choice)).join(" | ")
          : "string";
  return array ? `${one} | readonly ${choices ? `(${one})` : one}[]` : one;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { commands } = await import("../build/evals/commands/index.js");
  const { singleUse } = await import("../build/evals/commands/projectSchema.js");
  const flags = await import("../build/evals/commands/flags.js");
  const file = fileURLToPath(new URL("../src/evals/options.ts", import.meta.url));
  writeFileSync(file, renderOptionTypes(commands, singleUse, flags));
  execFileSync("npx", ["biome", "check", "--write", file], { stdio: "inherit" });
}

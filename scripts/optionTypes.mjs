// The options of the library's functions as the package declares them: written out, with the description of each flag, and
// without the types of yargs. src/evals/options.ts infers the same types.

/** What has no meaning in a program, as in src/evals/options.ts. */
const leftOut = new Set(["json", "format", "explain", "dry-run", "rules", "action", "watch", "yes"]);

const toKey = (flag) => flag.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
const toTypeName = (command) => `${command[0].toUpperCase()}${command.slice(1)}Options`;

/** The text of options.d.ts. `singleUse`: flags that `evals.config.*` cannot hold. */
export function renderOptionTypes(commands, singleUse) {
  const types = commands.map(({ command, positionals, flags }) => {
    const [name] = command.split(" ");
    const members = Object.entries({ ...positionals, ...flags })
      .filter(([flag, { hidden }]) => !hidden && !leftOut.has(flag))
      .map(renderMember);
    const comment = `/** The options of the library for \`evals ${name}\`, as its flags. */`;
    return `${comment}\nexport type ${toTypeName(name)} = {\n${members.join("\n")}\n};`;
  });
  const omitted = ["paths", ...singleUse].filter((flag) => !leftOut.has(flag)).map((flag) => `"${toKey(flag)}"`);
  const config = `/** The options that \`evals.config.*\` can set for a project. */\nexport type ConfigOptions = Omit<RunOptions, ${omitted.join(" | ")}>;`;
  return `${[...types, config].join("\n\n")}\n`;
}

function renderMember([flag, option]) {
  const text = option.describe.replace(/--([a-z-]+)/g, (_, other) => `\`${toKey(other)}\``);
  const fallback =
    option.default === undefined || option.default === false ? "" : `. Default: ${JSON.stringify(option.default)}`;
  const [mark, or] = option.demandOption ? ["", ""] : ["?", " | undefined"];
  return `  /** ${text.replaceAll("*/", "*\\/")}${fallback}. */\n  ${toKey(flag)}${mark}: ${renderType(option)}${or};`;
}

function renderType({ type, number, choices, array }) {
  const text = choices ? choices.map((choice) => JSON.stringify(choice)).join(" | ") : "string";
  const one = type === "boolean" ? "boolean" : number ? "number" : text;
  return array ? `${one} | readonly (${one})[]` : one;
}

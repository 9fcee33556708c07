// npm start: installs and builds what is missing, then shows what the product is for, on a real server from npm and without a
// network: a suite passes, a description is shortened, a check finds the case that it breaks, and blame names the wording.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build, capture, installPackages, root } from "./setUp.mjs";

await installPackages();
await build();

const dir = join(root, "build/start");
rmSync(dir, { recursive: true, force: true });
mkdirSync(join(dir, "evals"), { recursive: true });

/** Runs a command in the folder of the demonstration, and returns what it printed. Ends the process at another exit code. */
async function evals(args, exitCode = 0) {
  const { code, out } = await capture(process.execPath, [join(root, "dist/evals/cli.js"), ...args], { cwd: dir });
  if (code === exitCode) return out;
  console.error(`evals ${args.join(" ")} exits with ${code}, not ${exitCode}:\n${out}`);
  process.exit(1);
}

/** Prints a command, and the paragraphs of its output that begin with these words, without what is next. Fails without one. */
function show(command, out, ...begins) {
  const paragraphs = out.split("\n\n");
  const shown = begins.map((begin) => {
    const found = paragraphs.find((one) => one.startsWith(begin));
    if (found === undefined) throw new Error(`evals ${command} printed no "${begin}":\n${out}`);
    return found.replace(/\n {2}Next: [\s\S]*$/, "");
  });
  console.log(`\n$ evals ${command}\n${shown.join("\n\n")}`);
}

const name = "@modelcontextprotocol/server-filesystem";
const program = join(root, "node_modules", name, "dist/index.js");
const server = `node "${program}" "${join(root, "evals/sandbox")}"`;
const { tools } = JSON.parse(await evals(["tools", "--server", server, "--json"]));
const writeTools = () => writeFileSync(join(dir, "evals/tools.json"), JSON.stringify(tools));
writeTools();
writeFileSync(
  join(dir, "evals/files.yaml"),
  `name: files
server: { tools: tools.json }
cases:
  - { id: read, input: Read the first 2 lines of the text file todo.md, expect: { tool: read_text_file } }
  - { id: sizes, input: Which files in photos are biggest? List them with sizes, expect: { tool: list_directory_with_sizes } }
  - { id: modified, input: When was todo.md last modified?, expect: { tool: get_file_info } }
  - { id: allowed, input: Which directories are you allowed to access?, expect: { tool: list_allowed_directories } }
  - { id: weather, input: What will the weather be like in Bergen tomorrow?, expect: { tool: none } }
`,
);
console.log(
  `The ${tools.length} tools of ${name}, a suite of five queries, and the built-in keyword search as the model:`,
);
show("run --accept", await evals(["run", "--accept"]), "SMOKE CHECK");

const tool = tools.find((one) => one.name === "get_file_info");
const shorter = "Get details of a file.";
console.log(
  `\nNow the description of ${tool.name} is shortened from ${tool.description.length} characters to "${shorter}"`,
);
tool.description = shorter;
writeTools();
const checked = await evals(["run", "--fail-on", "changed"], 1);
show("run --fail-on changed", checked, "CHANGED", "Confusions that grew");
show("blame", await evals(["blame"]), "BLAMED", "Case ");

const [record] = readdirSync(join(dir, "reports")).filter((one) => checked.includes(one));
console.log(`
The page of that check, to open in a browser: ${relative(process.cwd(), join(dir, "reports", record, "report.html"))}
Your own server: node dist/evals/cli.js init --server "<its command line>". README.md says what follows.`);

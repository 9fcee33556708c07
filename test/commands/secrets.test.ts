import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { evals } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";

// One of each form in one drive. Every command, model, service and file: test/torture/secrets.test.ts, at night.

const server = join(import.meta.dirname, "../fixtures/servers/leaky.mjs");
const secrets = {
  flag: "canary-flag-0013",
  assigned: "canary-assigned-0014",
  positional: "Xk29fLq7Rz51Qm08fTw0015",
  header: "canary-own-header-0016",
  urlPath: "NDk3MTg2MjAtYjE0Mi00ZTBhLTk5ZDE60017",
  connection: "canary.connection.0018",
  list: "Canary&List<0019",
  bearer: "Canary_Bearer_0020",
};
const args = [
  ...["--bearer", secrets.flag, `--api-key=${secrets.assigned}`, secrets.positional],
  ...["--header", `X-Custom:${secrets.header}`, `https://mcp.zapier.com/api/mcp/s/${secrets.urlPath}/mcp`],
  `postgresql://u:${secrets.connection}@h/db`,
];
const env = {
  PATH: process.env.PATH ?? "",
  BOT_TOKENS: `${secrets.list},other-key-0021\n`,
  UPSTREAM_AUTH: `Bearer ${secrets.bearer}`,
};

/** The files that the test writes. */
const sources = new Set(["reporter.mjs", "list.json", "ids.json"]);

it("no secret is in what commands print and write, and records can be read by their user only", async () => {
  const cwd = makeFolder();
  const read = () =>
    readdirSync(cwd, { recursive: true, encoding: "utf8" })
      .filter((name) => !sources.has(name) && statSync(join(cwd, name)).isFile())
      .map((name) => [name, readFileSync(join(cwd, name), "utf8")] as const);
  const left = (texts: readonly (readonly [string, string])[]) =>
    texts.flatMap(([where, text]) =>
      Object.entries(secrets)
        .filter(([, secret]) =>
          [secret, secret.toLowerCase(), secret.toLowerCase().replace(/[^a-z0-9]+/g, "-")].some(
            (form) => text.includes(form) || where.includes(form),
          ),
        )
        .map(([name]) => `${name} in ${where}`),
    );
  const call = async (...words: string[]) => {
    const { code, out, err } = await evals(words, { cwd, env });
    expect(left([["stdout", out], ["stderr", err], ...read()]), words[0] ?? "").toEqual([]);
    return { code, err };
  };
  writeFileSync(
    join(cwd, "reporter.mjs"),
    `import { writeFileSync } from "node:fs";
export default ({ manifest, dir }) => writeFileSync(dir + "/eval_metadata.json", JSON.stringify(manifest.suites));`,
  );
  const line = ["node", server, "lives", ...args].join(" ");
  expect(await call("init", line, "--file", "suite.yaml")).toMatchObject({ code: 0 });
  const suite = readFileSync(join(cwd, "suite.yaml"), "utf8");
  for (const at of [`--bearer, "\${MCP_SECRET}"`, "--api-key=${", "X-Custom:${", "mcp/s/${", "//u:${"])
    expect(suite).toContain(at);
  for (const name of ["probe", "doctor", "lint", "tools"]) await call(name, "--server", line, "--json");
  // The id of this case is made of its words.
  const cases = [{ input: `Act with ${secrets.list} and ${secrets.bearer}`, expect: { tool: "act" } }];
  writeFileSync(join(cwd, "list.json"), JSON.stringify([{ name: "act", inputSchema: { type: "object" } }]));
  writeFileSync(join(cwd, "ids.json"), JSON.stringify({ name: "ids", server: { tools: "list.json" }, cases }));
  await call("run", "ids.json", "-m", "lexical", "--reporter", "custom:reporter.mjs");
  const [run = ""] = readdirSync(join(cwd, "reports"));
  expect(readFileSync(join(cwd, "reports", run, "eval_metadata.json"), "utf8")).toContain("[redacted: BOT_TOKENS]");
  for (const name of ["run.json", "trials.jsonl", "report.html"])
    expect(statSync(join(cwd, "reports", run, name)).mode & 0o777).toBe(0o600);
  await call("run", "ids.json", "--base-url", `htp://u:${secrets.connection}@h`, "-m", "openai:x");
});

import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { listen } from "../fixtures/ports.ts";
import { evals } from "./evals.ts";

// A tool can do what nobody wants, whatever its annotations say: here each sends an e-mail, to an SMTP server of this test
// that counts them. The model calls all of them.

const mailer = join(import.meta.dirname, "../fixtures/servers/mailer.mjs");
const senders = ["send_email", "mail_unannotated", "mail_additive", "mail_writing", "mail_idempotent"];
const dir = makeFolder();
let received: string[] = [];
const sink = createServer((socket) => {
  socket.write("220 sink\r\n");
  let isData = false;
  createInterface({ input: socket }).on("line", (line) => {
    if (line.startsWith("RCPT TO:")) received.push(line.slice("RCPT TO:".length));
    if (line === "DATA") isData = true;
    if (isData && line !== "DATA" && line !== ".") return;
    if (line === ".") isData = false;
    socket.write(line === "DATA" ? "354 go on\r\n" : "250 ok\r\n");
  });
  socket.on("error", () => {});
});

const write = (name: string, content: unknown) => writeIn(dir, name, content);
let command: string[] = [];
let cases: object[] = [];
beforeAll(async () => {
  command = [mailer, String(await listen(sink))];
  cases = [
    { id: "send", input: "Send an e-mail to bob@mail.example", expect: { calls: senders.map((tool) => ({ tool })) } },
    { id: "list", input: "List the drafts of e-mails", expect: { tool: "list_drafts" } },
  ];
  const writeSuite = (server: object) => write("evals/mail.json", { server, trials: 3, maxTurns: 1, cases });
  const server = { command: process.execPath, args: command };
  write(".mcp.json", { mcpServers: { mailer: server } });
  const more = Array.from({ length: 6 }, (_, at) =>
    cases.map((one) => ({ ...one, id: undefined, input: `${at}: send an e-mail to bob` })),
  ).flat();
  write("improve.json", { server, maxTurns: 1, cases: more });
  write("variants.yaml", "variants:\n  terse:\n    send_email: Sends mail.\n");
  const calls = senders.map((tool) => ({ tool, arguments: {} }));
  write("model.mjs", `export default () => ({ calls: ${JSON.stringify(calls)} });`);
  // The baseline is from a time when the tool was annotated as read-only.
  writeSuite({ ...server, args: [...command, "read-only"] });
  await evals(["run", "-m", "custom:model.mjs", "--execute", "never", "--accept"], { cwd: dir });
  writeSuite(server);
});
beforeEach(() => {
  received = [];
});
afterAll(() => sink.close());

const asked = ["-m", "custom:model.mjs", "--seed", "1"];
const server = () => `${process.execPath} ${command.join(" ")}`;

describe("no command sends an e-mail by default:", () => {
  it.each<[string, () => string[], number?]>([
    ["run", () => ["run"]],
    ["run with a model", () => ["run", ...asked]],
    ["run --check", () => ["run", "--check", "always", ...asked]],
    ["run --nightly", () => ["run", "--nightly", ...asked]],
    ["run --changed", () => ["run", "--changed", ...asked]],
    ["variants", () => ["variants", "variants.yaml", ...asked]],
    ["improve", () => ["improve", "improve.json", "--proposals", "variants.yaml", "--max-requests", "60", ...asked], 3],
    ["queries", () => ["queries", "evals/mail.json", "--writer", "custom:model.mjs", "--accept-all", "--yes"]],
    ["baseline verify", () => ["baseline", "verify"], 1],
    ["blame", () => ["blame", "latest", "--case", "send"], 3],
    ["probe of a suite", () => ["probe", "--yes"]],
    ["probe of a server", () => ["probe", "--server", server(), "--yes"]],
    ["doctor", () => ["doctor", "--config", ".mcp.json"]],
    ["tools", () => ["tools", "--config", ".mcp.json"]],
    ["search", () => ["search"]],
    ["lint", () => ["lint"]],
    ["init of a command line", () => ["init", server(), "--file", "evals/other.yaml", "--ci", "github"]],
    ["init", () => ["init", "--config", ".mcp.json", "--file", "evals/drafted.yaml"]],
  ])("%s", async (_, words, exit = 0) => {
    const { code, err } = await evals(words(), { cwd: dir });
    expect({ code, received }, err).toEqual({ code: exit, received: [] });
    expect(err).not.toMatch(/executed: .*(send|mail)_/);
  });
});

describe("what is executed is printed first", () => {
  const list = "Calls of these tools are executed: ";

  it("and e-mails are sent where a tool lies that it only reads", async () => {
    const lying = { command: process.execPath, args: [...command, "read-only"] };
    write("lying.json", { server: lying, trials: 3, maxTurns: 1, cases: cases.slice(0, 1) });
    const { err } = await evals(["run", "lying.json", ...asked], { cwd: dir });
    expect(err).toContain(`${list}${senders.join(", ")}, list_drafts.`);
    expect(received).toHaveLength(3 * senders.length);
  });

  it.each<[string, string[], string, number]>([
    ["by default, read-only tools", [], "list_drafts", 0],
    ["additive", ["--execute", "additive"], "send_email, mail_additive, list_drafts", 12],
    ["a tool by name", ["--execute", "send_email"], "send_email", 6],
  ])("%s", async (_, flags, names, mails) => {
    const { err } = await evals(["run", "evals/mail.json", "--check", "off", ...asked, ...flags], { cwd: dir });
    expect(err).toContain(`${list}${names}.`);
    expect(received).toHaveLength(mails);
  });

  it("and nothing if a keyword search makes the arguments up", async () => {
    const { err } = await evals(["run", "evals/mail.json", "--check", "off", "--execute", "all"], { cwd: dir });
    expect({ err, received }).toEqual({ err: "", received: [] });
  });

  it("and listed by --dry-run", async () => {
    const flags = ["--execute", "additive", "--dry-run"];
    const { out, err } = await evals(["run", "evals/mail.json", "--check", "off", ...asked, ...flags], { cwd: dir });
    expect(out).toContain("execute additive (evals/mail.json)\n  executed: send_email, mail_additive, list_drafts\n");
    expect({ err, received }).toEqual({ err: "", received: [] });
  });

  it("and a misspelled name is an error", async () => {
    const { code, err } = await evals(["run", "evals/mail.json", "--execute", "send_mail"], { cwd: dir });
    expect({ code, err }).toEqual({
      code: 2,
      err: 'evals/mail.json: error: "execute" names "send_mail", which is no listed tool.\n  Did you mean "send_email"?\n',
    });
  });
});

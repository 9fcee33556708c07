import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { evals } from "./evals.ts";

// A tool that is annotated as not destructive can still do what nobody wants: here it sends an e-mail, to an SMTP server of
// this test that counts them.

const mailer = join(import.meta.dirname, "../fixtures/servers/mailer.mjs");
const dir = mkdtempSync(join(tmpdir(), "evals-effects-"));
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

const write = (name: string, text: string) => writeFileSync(join(dir, name), text);
let command: string[] = [];
beforeAll(async () => {
  await new Promise<void>((listening) => sink.listen(0, "127.0.0.1", listening));
  command = [mailer, String((sink.address() as AddressInfo).port)];
  mkdirSync(join(dir, "evals"));
  const cases = [
    { id: "send", input: "Send an e-mail to bob@mail.example", expect: { tool: "send_email" } },
    { id: "list", input: "List the drafts of e-mails", expect: { tool: "list_drafts" } },
  ];
  const writeSuite = (server: object) => write("evals/mail.json", JSON.stringify({ server, trials: 3, cases }));
  const server = { command: process.execPath, args: command };
  write(".mcp.json", JSON.stringify({ mcpServers: { mailer: server } }));
  write("variants.yaml", "variants:\n  terse:\n    send_email: Sends mail.\n");
  write("model.mjs", `export default () => ({ calls: [{ tool: "send_email", arguments: {} }] });`);
  // The baseline is from a time when the tool was annotated as read-only.
  writeSuite({ ...server, args: [...command, "read-only"] });
  await evals(["run", "-m", "custom:model.mjs", "--execute", "never", "--accept"], { cwd: dir });
  writeSuite(server);
});
beforeEach(() => {
  received = [];
});
afterAll(() => {
  sink.close();
  rmSync(dir, { recursive: true, force: true });
});

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
    ["blame", () => ["blame", "latest", "--case", "send"], 3],
    ["probe of a suite", () => ["probe", "--yes"]],
    ["probe of a server", () => ["probe", "--server", server(), "--yes"]],
    ["doctor", () => ["doctor", "--config", ".mcp.json"]],
    ["tools", () => ["tools", "--config", ".mcp.json"]],
    ["search", () => ["search"]],
    ["lint", () => ["lint"]],
    ["init", () => ["init", "--config", ".mcp.json", "--file", "evals/drafted.yaml"]],
  ])("%s", async (_, words, exit = 0) => {
    const { code, err } = await evals(words(), { cwd: dir });
    expect({ code, received }).toEqual({ code: exit, received: [] });
    expect(err).not.toMatch(/executed: .*send_email/);
  });
});

describe("what is executed is printed first", () => {
  const list = "Calls of these tools are executed: ";

  it.each<[string, string[], string, number]>([
    ["by default, read-only tools", [], "list_drafts", 0],
    ["additive", ["--execute", "additive"], "send_email, list_drafts", 6],
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
    expect(out).toContain("execute additive (evals/mail.json)\n  executed: send_email, list_drafts\n");
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

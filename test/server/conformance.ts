import { afterEach, describe, expect, it } from "vitest";
import { version } from "../../src/server/server.ts";
import { clients, type Target } from "./clients.ts";

const echoTool = {
  name: "echo",
  description:
    "Echoes the input text back to the user. Call it when the user asks to echo or repeat a text word for word, " +
    'for example "echo hello" or "say this back to me: good morning".',
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "The text to echo back" } },
    required: ["text"],
  },
  annotations: { readOnlyHint: true },
};

const hint = 'Call echo again with the text to echo back as a string, for example {"text": "hello"}.';

/** What every transport must give to both official clients. `name` is the name that the server was started with. */
export function conforms(name: string, target: () => Target): void {
  describe.each(clients)("with the client $client", ({ connect, unknownTool }) => {
    const open: { close(): Promise<void> }[] = [];
    const connected = async () => {
      const client = await connect(target());
      open.push(client);
      return client;
    };
    afterEach(async () => {
      await Promise.all(open.splice(0).map((client) => client.close()));
    });

    it("identifies itself", async () => {
      const client = await connected();
      expect(client.getServerVersion()).toEqual({ name, version });
      expect(client.getServerCapabilities()).toEqual({ tools: {} });
      expect(client.getInstructions()).toBe("Use echo to give a text back to the user word for word.");
    });

    it("lists exactly the echo tool", async () => {
      const client = await connected();
      expect((await client.listTools()).tools).toEqual([echoTool]);
    });

    it("echoes texts as they are", async () => {
      const client = await connected();
      for (const text of [
        "hello",
        "",
        "  two\nlines\t",
        "Echo: Echo: ",
        '\u{1F980} \u202e \0 "\\ {}',
        "x".repeat(100_000),
      ]) {
        const result = await client.callTool({ name: "echo", arguments: { text } });
        expect(result).toEqual({ content: [{ type: "text", text: `Echo: ${text}` }] });
      }
    });

    it("answers wrong arguments with a structured failure", async () => {
      const client = await connected();
      const failures = [
        { args: undefined, code: "MISSING_ARGUMENT", error: "The argument text is missing." },
        { args: { txt: "hello" }, code: "MISSING_ARGUMENT", error: "The argument text is missing." },
        { args: { text: 5 }, code: "INVALID_ARGUMENT", error: "The argument text is not a string: 5." },
        { args: { text: null }, code: "INVALID_ARGUMENT", error: "The argument text is not a string: null." },
        { args: { text: ["a"] }, code: "INVALID_ARGUMENT", error: 'The argument text is not a string: ["a"].' },
      ];
      for (const { args, code, error } of failures) {
        const result = await client.callTool({ name: "echo", ...(args && { arguments: args }) });
        const outcome = { success: false, error, retry_hint: hint, code };
        expect(result).toEqual({
          isError: true,
          content: [{ type: "text", text: JSON.stringify(outcome) }],
          structuredContent: outcome,
        });
      }
    });

    it("raises an error for an unknown tool", async () => {
      const client = await connected();
      const call = client.callTool({ name: "nope", arguments: { text: "x" } });
      await expect(call).rejects.toMatchObject({ code: -32602, message: unknownTool });
    });

    it("serves several clients at once, each its own answers", async () => {
      const many = await Promise.all(Array.from({ length: 5 }, connected));
      const texts = await Promise.all(
        many.flatMap((client, i) =>
          ["a", "b", "c"].map(async (letter) => {
            const result = await client.callTool({ name: "echo", arguments: { text: `${letter}${i}` } });
            return (result.content as { text: string }[])[0]?.text;
          }),
        ),
      );
      expect(texts).toEqual([0, 1, 2, 3, 4].flatMap((i) => ["a", "b", "c"].map((letter) => `Echo: ${letter}${i}`)));
    });
  });
}

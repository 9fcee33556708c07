// node bench/localModel.mjs FILE.gguf [PROJECT]: what a query costs on a local model beside node-llama-cpp bare, with the
// same tokens, seed and threads, once the tool list is read. PROJECT has node-llama-cpp installed (default: this folder).
// Needs a build. Prints CPU time, which other programs do not change as long as one thread is used, and wall time.
import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [, , weights = "", project = "."] = process.argv;
const file = resolve(weights);
const cwd = resolve(project);

const names = ["read_file", "write_file", "move_file", "list_directory", "search_files", "get_file_info", "edit_file"];
const tools = names.map((name) => ({
  type: "function",
  function: {
    name,
    description: `Does what its name says: ${name.replaceAll("_", " ")}. It works on the files of the project alone, and fails with an error where a path is not permitted or does not exist.`,
    parameters: {
      type: "object",
      properties: { path: { type: "string", description: "the path" } },
      required: ["path"],
    },
  },
}));
const queries = ["notes.txt", "a.md", "b.json"];
const ask = (name, index) => ({
  messages: [{ role: "user", content: `Show me what is in ${name}` }],
  ...{ tools, seed: index + 1, isFree: false, maxTokens: 60, timeoutMs: 600_000 },
});

const cpuMs = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

/** Sends the messages one after the other, and returns the reply to each with its times. */
async function drive(script, args, messages) {
  const child = fork(script, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const replies = [];
  for (const message of messages) {
    const before = { cpu: cpuMs(child.pid), wall: performance.now() };
    child.send(message);
    const reply = await new Promise((done) => {
      child.on("message", (one) => "head" in one || done(one));
    });
    child.removeAllListeners("message");
    replies.push({ reply, cpu: cpuMs(child.pid) - before.cpu, wall: performance.now() - before.wall });
  }
  child.disconnect();
  return replies;
}

/** The process of node-llama-cpp bare: its prefix stays in the sequence, and so many tokens are drawn as the other drew. */
async function runBare() {
  const { getLlama } = await import(pathToFileURL(createRequire(join(cwd, "x.js")).resolve("node-llama-cpp")).href);
  const llama = await getLlama({ build: "never", skipDownload: true, logLevel: "error" });
  const model = await llama.loadModel({ modelPath: file });
  const context = await model.createContext({ contextSize: 8192, threads: 1 });
  const sequence = context.getSequence();
  const prefix = model.tokenize(`<|im_start|>system\n${JSON.stringify(tools)}<|im_end|>\n<|im_start|>user\n`, true);
  await sequence.evaluateWithoutGeneratingNewTokens(prefix);
  process.on("message", async ({ query, outputTokens, seed }) => {
    // The first message only waits until the list is read.
    if (query === undefined) return;
    const { nextTokenIndex: end } = sequence;
    if (end > prefix.length) await sequence.eraseContextTokenRanges([{ start: prefix.length, end }]);
    let tokens = model.tokenize(`${query}<|im_end|>\n<|im_start|>assistant\n`, true);
    let drawn = 0;
    // Where it would end sooner, it goes on.
    for (; drawn < outputTokens; tokens = model.tokenize(" "))
      for await (const _ of sequence.evaluate(tokens, { temperature: 0.7, topP: 0.8, topK: 20, seed }))
        if (++drawn >= outputTokens) break;
    process.send({ drawn });
  });
  process.on("disconnect", () => process.exit());
  process.send({ drawn: 0 });
}

if (process.argv[4] === "bare") await runBare();
else {
  const states = mkdtempSync(join(tmpdir(), "evals-states-"));
  const open = { open: { file, cwd, states, maxStateBytes: 2 ** 31 } };
  const asked = queries.map((name, index) => ({ ask: ask(name, index) }));
  const own = await drive("dist/chunks/modelProcess.js", [], [open, asked[0], ...asked]);
  const [, first, ...warm] = own;
  const counts = warm.map(({ reply }) => reply.answer.usage.outputTokens);
  const bare = await drive(
    process.argv[1],
    [file, cwd, "bare"],
    [{}, ...queries.map((name, i) => ({ query: `Show me what is in ${name}`, outputTokens: counts[i], seed: i + 1 }))],
  );
  const sum = (list, key) => list.reduce((total, one) => total + one[key], 0);
  const drawn = bare.slice(1).reduce((total, { reply }) => total + reply.drawn, 0);
  console.log(`first request, with the list: ${Math.round(first.cpu)} ms CPU, ${Math.round(first.wall)} ms`);
  console.log(
    `tokens drawn: ${sum(
      counts.map((n) => ({ n })),
      "n",
    )} here, ${drawn} bare`,
  );
  for (const key of ["cpu", "wall"]) {
    const [here, there] = [sum(warm, key), sum(bare.slice(1), key)];
    console.log(
      `${key}: ${Math.round(here / warm.length)} ms a query here, ${Math.round(there / warm.length)} ms bare, ${(here / there).toFixed(3)}x`,
    );
  }
  rmSync(states, { recursive: true });
}

// node bench/real/data/oracle/extract.mjs GORILLA RESULTS OSS BIAS: writes items.jsonl.gz and picks.json beside this
// file from git clones of the repositories that README.md names. Of those without a license, only counts are kept.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const readLines = (text) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Large models of the leaderboard of 11 August 2024, by the folders of their results. */
const leaderboard = [
  "claude-3-5-sonnet-20240620-FC",
  "claude-3-opus-20240229-FC",
  "gemini-1.5-pro-preview-0514",
  "gpt-4-0613-FC",
  "gpt-4-turbo-2024-04-09-FC",
  "gpt-4o-2024-05-13-FC",
  "gpt-4o-2024-08-06-FC",
  "mistral-large-2407-FC-Auto",
  "nvidia_nemotron-4-340b-instruct",
];
/** Small models of the same leaderboard: what they tell is computed as a table of counts, because their answers have no license. */
const smallOnLeaderboard = ["Salesforce_xLAM-1b-fc-r", "google_gemma-7b-it", "meta-llama_Meta-Llama-3-8B-Instruct"];
const ossRuns = ["2025-11-12-harmony-fixes", "2025-11-12-harmony-fixes-2", "2025-11-12-main", "v0.10.2", "v0.11.0"];
const ossModel = "openai_gpt-oss-120b";
/** The models of BiasBusters, by the files of their picks. Each was asked three times. */
const biasModels = ["chatgpt_no_func", "chatgpt_4", "claude", "deepseek", "gemini", "qwen-235b"];
const smallBiasModels = ["qwen-1.7b", "qwen-4b", "toolllama", "qwen-8b"];
/** The picks after the swap of two descriptions, with the commit that has them. */
const swappedFiles = {
  gemini: ["d7e6cae", "answer_gemini_desc_swap", "answer_gemini_desc_swap-2", "gemini_desc_swap-3"],
  chatgpt_4: ["2eede66", "chatgpt_desc_swap", "chatgpt_desc_swap-2"],
};
/** The queries of a cluster that are asked of small models: the first of its hundred. */
const queriesPerCluster = 12;

/** The longest tool list that is asked of small models, in characters, so that two cores record enough of them. */
const maxToolText = 3_000;

/** The dialect of the leaderboard as JSON Schema. */
function toSchema(value) {
  if (Array.isArray(value)) return value.map(toSchema);
  if (value === null || typeof value !== "object") return value;
  const types = { dict: "object", float: "number", tuple: "array", any: undefined };
  const entries = Object.entries(value).flatMap(([key, one]) => {
    if (key !== "type" || typeof one !== "string") return [[key, toSchema(one)]];
    const type = one in types ? types[one] : one;
    return type === undefined ? [] : [[key, type]];
  });
  return Object.fromEntries(entries);
}

const toSlug = (text) =>
  text
    .normalize("NFKD")
    .replace(/[^\x20-\x7e]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");

function extract([gorilla, results, oss, bias]) {
  const show = (clone, path, commit = "HEAD") =>
    String(execFileSync("git", ["-C", clone, "show", `${commit}:${path}`], { maxBuffer: 2 ** 28 }));
  const questions = (name) =>
    readLines(show(gorilla, `berkeley-function-call-leaderboard/bfcl_eval/data/${name}.json`));
  const toItem = (set, { id, question, function: tools }, counts) => ({
    ...{ id, set, messages: question[0] },
    tools: tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: toSchema(parameters) })),
    ...counts,
  });
  const shuffle = (items) =>
    items
      .map((item) => ({ item, order: createHash("sha256").update(item.id).digest("hex") }))
      .sort((a, b) => (a.order < b.order ? -1 : 1))
      .map(({ item }) => item);
  /** Items of both kinds in equal number: where most answers of large models err, and where most do not. */
  const balance = (items, each) => {
    const shuffled = shuffle(items.filter(({ tools }) => JSON.stringify(tools).length <= maxToolText));
    const isErring = ({ erring, of }) => erring * 2 > of;
    const erring = shuffled.filter(isErring).slice(0, each);
    const others = shuffled.filter((item) => !isErring(item)).slice(0, erring.length);
    return erring.flatMap((item, at) => [item, others[at]]);
  };

  // The numbers in the scores count from 1.
  const failedBy = (model) =>
    readLines(show(results, `2024-08-11/score/${model}/relevance_score.json`))
      .slice(1)
      .map(({ id }) => id - 1);
  const failed = leaderboard.map(failedBy);
  const irrelevance = questions("BFCL_v4_irrelevance").map((question, at) =>
    toItem("irrelevance", question, { erring: failed.filter((ids) => ids.includes(at)).length, of: failed.length }),
  );

  const ossResults = (category) =>
    ossRuns.map((run) => {
      const lines = readLines(show(oss, `results/${run}/result/${ossModel}/live/BFCL_v4_${category}_result.json`));
      return new Map(lines.map(({ id, result }) => [id, Array.isArray(result) ? result : []]));
    });
  const oldNames = ({ function: tools }, tool) => tools.find(({ name }) => name.replaceAll(".", "_") === tool)?.name;
  const called = ossResults("live_irrelevance");
  const live = questions("BFCL_v4_live_irrelevance").map((question) => {
    const erring = called.filter((run) => run.get(question.id)?.length > 0).length;
    return toItem("live_irrelevance", question, { erring, of: called.length });
  });
  const answers = new Map(
    readLines(
      show(gorilla, "berkeley-function-call-leaderboard/bfcl_eval/data/possible_answer/BFCL_v4_live_multiple.json"),
    ).map(({ id, ground_truth }) => [id, Object.keys(ground_truth[0])[0]]),
  );
  const picked = ossResults("live_multiple");
  const multiple = questions("BFCL_v4_live_multiple").map((question) => {
    const expected = answers.get(question.id);
    const isRight = (run) => oldNames(question, Object.keys(run.get(question.id)?.[0] ?? {})[0]) === expected;
    return toItem("live_multiple", question, {
      expected,
      erring: picked.filter((run) => !isRight(run)).length,
      of: picked.length,
    });
  });

  const commit = "d7e6cae";
  const clusters = JSON.parse(show(bias, "2_generate_clusters_and_refine/duplicate_api_clusters.json", commit));
  const queries = JSON.parse(show(bias, "3_generate_queries_for_clusters/cluster_queries.json", commit));
  const swaps = Object.entries(JSON.parse(show(bias, "5_bias_investigation/experiments/desc_swap_1.json", commit)));
  const counts = (from, files) => {
    const table = clusters.map(() => [0, 0, 0, 0, 0]);
    for (const file of files) {
      const path = `4_gather_and_visualize_data/selection_stats/api_selection_stats_${file}.json`;
      for (const [, cluster, location] of JSON.parse(show(bias, path, from))) table[cluster - 1][location - 1]++;
    }
    return table;
  };
  const toTool = ({ tool, api_name, required_parameters = [] }, { tool_desc, api_desc }) => ({
    name: `${toSlug(api_name)}_for_${toSlug(tool)}`.slice(0, 64),
    description: [tool_desc, api_desc].filter(Boolean).join(" ").slice(0, 500),
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(
        required_parameters.map(({ name, description }) => [
          name,
          { type: "string", ...(description && { description }) },
        ]),
      ),
      required: required_parameters.map(({ name }) => name),
    },
  });
  const near = clusters.flatMap((cluster, c) => {
    const pair = swaps
      .map((names) => names.map((name) => cluster.findIndex(({ tool }) => tool === name)))
      .find(([one, other]) => one >= 0 && other >= 0);
    const texts = [...cluster];
    if (pair) [texts[pair[0]], texts[pair[1]]] = [cluster[pair[1]], cluster[pair[0]]];
    const lists = { near_equal: cluster, ...(pair && { swapped: texts }) };
    return Object.entries(lists).flatMap(([set, wording]) => {
      const tools = cluster.map((api, at) => toTool(api, wording[at]));
      return cluster.flatMap((_, turned) =>
        queries[c].queries.slice(0, queriesPerCluster).map((content, q) => ({
          id: `${set}_${c}_${q}_${turned}`,
          ...{ set, cluster: c, turned, messages: [{ role: "user", content }] },
          ...(q === 0 && turned === 0 ? { tools, ...(set === "swapped" && { pair }) } : {}),
        })),
      );
    });
  });
  const items = [...shuffle(irrelevance), ...balance(live, 110), ...balance(multiple, 60), ...near];
  writeFileSync(
    new URL("items.jsonl.gz", import.meta.url),
    gzipSync(items.map((item) => `${JSON.stringify(item)}\n`).join(""), { level: 9 }),
  );
  const runs = (model) => [model, `${model}-2`, `${model}-3`];
  const countsOf = (models) => Object.fromEntries(models.map((model) => [model, counts(commit, runs(model))]));
  const published = smallOnLeaderboard.map((model) => {
    const wrong = new Set(failedBy(model));
    const table = [false, true].map((isWrong) =>
      Array.from(
        { length: failed.length + 1 },
        (_, count) => irrelevance.filter(({ erring }, at) => wrong.has(at) === isWrong && erring === count).length,
      ),
    );
    return [model, table];
  });
  const swappedCounts = Object.entries(swappedFiles).map(([model, [from, ...files]]) => [model, counts(from, files)]);
  const picks = {
    ...{ large: countsOf(biasModels), small: countsOf(smallBiasModels), swapped: Object.fromEntries(swappedCounts) },
    published: Object.fromEntries(published),
  };
  writeFileSync(new URL("picks.json", import.meta.url), `${JSON.stringify(picks)}\n`);
  for (const set of new Set(items.map((item) => item.set))) {
    const own = items.filter((item) => item.set === set);
    console.log(set, own.length, "erring", own.filter(({ erring, of }) => erring * 2 > of).length);
  }
}

extract(process.argv.slice(2));

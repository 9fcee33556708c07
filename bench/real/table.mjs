// node bench/real/table.mjs [--checks N] [--write FILE]: what recorded answers of real models on real servers say about the
// promises of docs/verdicts.md. Plays the product's own decisions on answers that are drawn from the recorded ones.
// `--write` puts the tables between the marks of a Markdown file. Needs a build.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { blame, check, deriveSeed, maskOfArm, seededRandom, simulate } from "../decisions/product.mjs";
import { wilson } from "../decisions/summary.mjs";
import { againFrom, isPass, ListAnswers, mean, readAnswers } from "./answers.mjs";
import { cases, harmless, readTools, rightTools, servers, today } from "./lists.mjs";
import { orderedTools } from "./orders.mjs";

const { lexical } = await import(new URL("../../build/evals/asking/models/lexical.js", import.meta.url).href);
const { values } = parseArgs({ options: { checks: { type: "string", default: "200" }, write: { type: "string" } } });
const repeat = (play) => Array.from({ length: Number(values.checks) }, (_, r) => play(r));

const idsOf = (server) => Object.keys(cases[server]);
const serverOf = (list) => list.slice(0, list.indexOf("@"));
const wantsTool = ({ list, id }) => cases[serverOf(list)][id].tools.length > 0;
const percent = (share) => `${(100 * share).toFixed(0)}%`;
const points = (drop) => `${drop > 0.0005 ? "-" : drop < -0.0005 ? "+" : ""}${Math.abs(100 * drop).toFixed(1)}`;

/** "12% (8–17)": the share of a list that passes a test, with Wilson's 95 % interval. */
function share(list, test) {
  if (list.length === 0) return "–";
  const hits = list.filter(test).length;
  const [low, high] = wilson(hits, list.length).map((one) => (100 * one).toFixed(0));
  return `${percent(hits / list.length)} (${low}–${high})`;
}

/** Constrained answers to lists as they were published, repeats left out. */
const plainAnswers = ({ answers }) =>
  answers.filter(({ list, free, draw }) => !list.includes("+") && !free && draw < againFrom);
const todaysAnswers = (recording) => plainAnswers(recording).filter(({ list }) => list === today(serverOf(list)));

/** A check on fewer orders would take what one order does for what an edit does. */
const leastOrders = 12;

/** The mean drop of all cases from one list to another in the recorded answers, with its 95 % interval over the cases. */
function measureDrop(base, head, ids, orders) {
  const drops = ids.map((id) => base.rate(id, orders) - head.rate(id, orders));
  const drop = mean(drops);
  const half = 1.96 * Math.sqrt(mean(drops.map((one) => (one - drop) ** 2)) / (ids.length - 1));
  return { drop, text: `${points(drop)} (${points(drop + half)} to ${points(drop - half)})` };
}

/** Checks of one list against another on recorded answers; undefined where they have no order in common. */
function playChecks({ model, answers }, from, to) {
  const ids = idsOf(serverOf(from));
  const arms = { base: new ListAnswers(answers, from), head: new ListAnswers(answers, to) };
  // With one answer for each order, both arms of an unchanged list would draw the same ones.
  const varies = (order) => from !== to || ids.every((id) => arms.base.byCase.get(id).get(order).length > 1);
  const orders = arms.base.ordersWith(arms.head, ids).filter(varies);
  if (orders.length < leastOrders) return undefined;
  const kinds = repeat((r) => {
    const random = seededRandom(deriveSeed(1, model, from, to, r));
    const answer = (id, arm, _, order) => (isPass(arms[arm].draw(id, order, orders, random)) ? "pass" : "fail");
    return simulate(check({ cases: ids, seed: r, withReach: false }), answer).verdict.kind;
  });
  return { from, orders: orders.length, kinds, ...measureDrop(arms.base, arms.head, ids, orders) };
}

const verdicts = ["red", "NO REGRESSION", "INCONCLUSIVE"];
const countVerdicts = (kinds) =>
  ["regressed", "no-regression", "inconclusive"].map((wanted) => share(kinds, (kind) => kind === wanted));

const descriptions = ["culprit", "reworded 1", "reworded 2"];
/** A case has fallen if its pass rate is lower by so much. */
const leastFall = 0.3;

/** Blame of a case that fell, once: `byMask` has the answers by which of the three descriptions are new. */
function playBlame(byMask, id, orders, r) {
  const random = seededRandom(deriveSeed(1, "blame", id, r));
  const passes = (mask, order) => isPass(byMask[mask].draw(id, order, orders, random));
  const count = (mask) => ({
    passed: Array.from({ length: 20 }, (_, t) => passes(mask, t)).filter(Boolean).length,
    trials: 20,
  });
  const setup = { changed: descriptions, cases: [{ case: id, known: { old: count(0), new: count(7) } }], seed: r };
  const toMask = (arm) => maskOfArm(arm).reduce((sum, isNew, at) => sum + (isNew ? 2 ** at : 0), 0);
  const { verdict } = simulate(blame(setup), (_, arm, __, order) => (passes(toMask(arm), order) ? "pass" : "fail"));
  return verdict.cases[0].descriptions.join();
}

/** All pairs of answers to one case of one list. */
const pairUp = (answers) =>
  answers.flatMap((one, at) =>
    answers.slice(at + 1).flatMap((other) => (one.list === other.list && one.id === other.id ? [[one, other]] : [])),
  );

async function searchPicks(server) {
  const tools = readTools(today(server)).map((tool) => ({ ...tool, origin: "server" }));
  const picks = Object.entries(cases[server]).map(async ([id, { query }]) => {
    const cell = { suite: server, case: id, arm: "head", model: "lexical", trial: 1 };
    const request = { cell, turn: 1, messages: [{ role: "user", content: query }], tools, toolset: server };
    const { turn } = await lexical().ask(request, new AbortController().signal);
    return [id, turn.calls[0]?.tool];
  });
  return Object.fromEntries(await Promise.all(picks));
}
const picks = Object.fromEntries(
  await Promise.all(Object.keys(cases).map(async (one) => [one, await searchPicks(one)])),
);

/** The tables: `rows` returns those of one model. */
const tables = [
  {
    title: "The recording",
    head: ["answers", "engine", "weights", "temperature", "first query of a list", "later queries", "tokens of a list"],
    rows({ answers, settings }) {
      const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
      const seconds = (isRead) => {
        const times = answers.filter((one) => one.isRead === isRead).map(({ ms }) => ms / 1000);
        return times.length === 0 ? "–" : `${median(times).toFixed(1)} s`;
      };
      const { engine, sha256, temperature } = settings;
      const tokens = answers.map((one) => one.tokens[0]);
      const facts = [answers.length, engine, sha256.slice(0, 12), temperature];
      return [[...facts, seconds(true), seconds(false), `${Math.min(...tokens)}–${Math.max(...tokens)}`]];
    },
  },
  {
    title: "Today's lists: pass rates, and the built-in keyword search on the same queries",
    head: [
      "server",
      "answers",
      "a tool is right",
      "no tool is right",
      "the search passes",
      "picks what the search picks",
    ],
    rows: (recording) =>
      Object.keys(cases).flatMap((server) => {
        const own = todaysAnswers(recording).filter(({ list }) => serverOf(list) === server);
        if (own.length === 0) return [];
        const list = today(server);
        const searched = idsOf(server).map((id) => ({
          list,
          id,
          calls: picks[server][id] ? [[picks[server][id]]] : [],
        }));
        const rates = [true, false].map((wants) =>
          share(
            own.filter((one) => wantsTool(one) === wants),
            isPass,
          ),
        );
        const agrees = ({ id, calls }) => calls[0]?.[0] === picks[server][id];
        return [
          [server, own.length, ...rates, percent(mean(searched.map((one) => Number(isPass(one))))), share(own, agrees)],
        ];
      }),
  },
  {
    title: "Calls that are free (--free)",
    head: [
      "list",
      "pass rate, constrained",
      "pass rate, free",
      "a call written as text",
      "such calls of invented names",
    ],
    rows: (recording) =>
      [...new Set(recording.answers.filter(({ free }) => free).map(({ list }) => list))].map((list) => {
        const free = recording.answers.filter((one) => one.free && one.list === list);
        const asked = new Set(free.map(({ order, id }) => `${order} ${id}`));
        const own = plainAnswers(recording).filter((one) => one.list === list && asked.has(`${one.order} ${one.id}`));
        const names = new Set(readTools(list).map(({ name }) => name));
        const written = free.flatMap(({ text }) => /"name":\s*"([^"]+)/.exec(text ?? "")?.[1] ?? []);
        return [
          list,
          ...[own, free].map((some) => share(some, isPass)),
          share(free, ({ text }) => /"name":\s*"/.test(text ?? "")),
          share(written, (name) => !names.has(name)),
        ];
      }),
  },
  {
    title: "Checks of lists that did not change, or by an edit without a meaning",
    head: ["edit of all descriptions", "change in the answers, pp", ...verdicts],
    rows: (recording) =>
      ["", ...Object.keys(harmless).map((edit) => `+${edit}`)].flatMap((edit) => {
        const lists = new Set(plainAnswers(recording).map(({ list }) => list));
        const played = [...lists].flatMap((list) => playChecks(recording, list, `${list}${edit}`) ?? []);
        const drops = played.map(({ from, orders, drop }) => `${from} ${points(drop)} (${orders} orders)`);
        const kinds = played.flatMap((one) => one.kinds);
        return played.length === 0 ? [] : [[edit.slice(1) || "none", drops.join(", "), ...countVerdicts(kinds)]];
      }),
  },
  {
    title: "Checks of real edits: a published version against the next that differs",
    head: ["edit", "orders", "change in the answers, pp", ...verdicts],
    rows: (recording) =>
      Object.entries(servers).flatMap(([server, versions]) =>
        versions.slice(1).flatMap(({ version }, at) => {
          const from = versions[at].version;
          const played = playChecks(recording, `${server}@${from}`, `${server}@${version}`);
          return played
            ? [[`${server} ${from} → ${version}`, played.orders, played.text, ...countVerdicts(played.kinds)]]
            : [];
        }),
      ),
  },
  {
    title: "Blame: three descriptions changed, one of which takes queries of other tools",
    head: ["server", "cases that fell", "culprit alone", "culprit and another", "nothing named", "another alone"],
    rows: ({ answers }) =>
      Object.keys(cases).flatMap((server) => {
        const ids = idsOf(server);
        const edits = ["", 1, 2, 3, 4, 5, 6, 7].map((mask) => (mask ? `+mask${mask}` : ""));
        const byMask = edits.map((edit) => new ListAnswers(answers, `${today(server)}${edit}`));
        const orders = byMask[0]
          .ordersWith(byMask[7], ids)
          .filter((order) => byMask.every((one) => ids.every((id) => one.byCase.get(id)?.has(order))));
        if (orders.length < leastOrders) return [];
        const fallen = ids.filter((id) => byMask[0].rate(id, orders) - byMask[7].rate(id, orders) >= leastFall);
        const named = fallen.flatMap((id) => repeat((r) => playBlame(byMask, id, orders, r)));
        const tests = [
          (one) => one === "culprit",
          (one) => one.includes("culprit,"),
          (one) => one === "",
          (one) => one.startsWith("reworded"),
        ];
        return [[server, `${fallen.length} of ${ids.length}`, ...tests.map((test) => share(named, test))]];
      }),
  },
  {
    title: "Two answers to one query: both pass or both fail, and call the same tool first",
    head: [
      "consecutive",
      "same order",
      "another order",
      "same tool, same order",
      "same tool, another order",
      "same request and seed, asked again",
    ],
    rows(recording) {
      const pairs = pairUp(plainAnswers(recording));
      const [same, other] = [true, false].map((isSame) => pairs.filter(([a, b]) => (a.order === b.order) === isSame));
      const agree = ([a, b]) => isPass(a) === isPass(b);
      const sameTool = ([a, b]) => a.calls[0]?.[0] === b.calls[0]?.[0];
      const again = pairUp(recording.answers).filter(
        ([a, b]) => a.order === b.order && a.free === b.free && Math.abs(a.draw - b.draw) === againFrom,
      );
      const isEqual = ([a, b]) => JSON.stringify([a.calls, a.text]) === JSON.stringify([b.calls, b.text]);
      const next = same.filter(([a, b]) => Math.abs(a.draw - b.draw) === 1);
      return [
        [
          ...[next, same, other].map((some) => share(some, agree)),
          ...[same, other].map((some) => share(some, sameTool)),
          share(again, isEqual),
        ],
      ];
    },
  },
  {
    title: "Place in the list: pass rate by the third that has the right tool, and where wrong calls go",
    head: ["right tool in the first third", "middle", "last", "wrong calls: first third", "middle", "last"],
    rows(recording) {
      const own = plainAnswers(recording);
      const findThird = ({ list, order }, isMeant) => {
        const tools = orderedTools(list, order);
        const at = tools.findIndex(({ name }) => isMeant(name));
        return at < 0 ? undefined : Math.floor((3 * at) / tools.length);
      };
      const placed = own.map((one) => ({
        one,
        third: findThird(one, (name) => rightTools(one.list, one.id).includes(name)),
      }));
      const wrong = own
        .filter((one) => one.calls.length > 0 && !isPass(one))
        .map((one) => findThird(one, (name) => name === one.calls[0][0]));
      const passes = [0, 1, 2].map((at) =>
        share(
          placed.filter(({ third }) => third === at),
          ({ one }) => isPass(one),
        ),
      );
      return [[...passes, ...[0, 1, 2].map((at) => share(wrong, (third) => third === at))]];
    },
  },
  {
    title: "Names against descriptions: pass rate where a tool is right",
    head: ["server", "today's list", "names alone", "descriptions alone, with invented names"],
    rows: ({ answers }) =>
      Object.keys(cases).flatMap((server) => {
        const lists = ["", "+undescribed", "+names"].map((edit) => new ListAnswers(answers, `${today(server)}${edit}`));
        const ids = idsOf(server);
        const orders = lists[0]
          .ordersWith(lists[1], ids)
          .filter((order) => ids.every((id) => lists[2].byCase.get(id)?.has(order)));
        const asked = lists.map(({ byCase }) =>
          ids.flatMap((id) => orders.flatMap((order) => byCase.get(id).get(order))).filter(wantsTool),
        );
        return orders.length === 0 ? [] : [[server, ...asked.map((some) => share(some, isPass))]];
      }),
  },
];

const recordings = readAnswers();
const text = tables
  .flatMap(({ title, head, rows }) => {
    const all = recordings.flatMap((one) => rows(one).map((cells) => [one.model, ...cells]));
    const lines = [["model", ...head], ["model", ...head].map(() => "---"), ...all].map(
      (cells) => `| ${cells.join(" | ")} |`,
    );
    return all.length === 0 ? [] : [`### ${title}\n\n${lines.join("\n")}\n`];
  })
  .join("\n");
console.log(text);
if (values.write) {
  const [begin, end] = ["<!-- bench:real -->", "<!-- end of bench:real -->"];
  const page = readFileSync(values.write, "utf8");
  const kept = [page.slice(0, page.indexOf(begin) + begin.length), page.slice(page.indexOf(end))];
  writeFileSync(values.write, kept.join(`\n\n${text}\n`));
}

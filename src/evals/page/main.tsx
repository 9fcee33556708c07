import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { plain } from "../base/text/display.ts";
import type { PageData, ReportPage, RunEntry, RunsPage } from "../experiments/run/report/page.ts";
import { count, integer, money } from "../reports/format.ts";
import { BlockList } from "./blocks.tsx";
import { Explorer } from "./explorer.tsx";
import { Scroll } from "./text.tsx";
import { everything, type Filter, FilterContext } from "./trials.ts";

// The page of a report. Its data is JSON in the element #data.

/** Redraws the report of an unfinished run whenever trials are recorded. The search and open cases stay. */
function LiveReport({ given }: { given: ReportPage }) {
  const [page, setPage] = useState(given);
  useEffect(() => {
    if (given.live === undefined) return;
    const address = given.live;
    const events = new EventSource(address.replace(/data$/, "events"));
    let [isAsking, hasChanged] = [false, false];
    const refresh = async () => {
      hasChanged = true;
      if (isAsking) return;
      isAsking = true;
      while (hasChanged) {
        hasChanged = false;
        const startedAt = performance.now();
        const answer = await fetch(address);
        if (!answer.ok) break;
        const next = (await answer.json()) as ReportPage;
        setPage(next);
        if (next.live === undefined) events.close();
        // The page of a large record takes long to make, so the server spends at most a tenth of its time on this.
        await new Promise((resolve) => setTimeout(resolve, 9 * (performance.now() - startedAt)));
      }
      isAsking = false;
    };
    events.addEventListener("changed", () => void refresh().catch(() => events.close()));
    return () => events.close();
  }, [given]);
  return <Report page={page} />;
}

function Report({ page }: { page: ReportPage }) {
  const { trials } = page;
  const [filter, setFilter] = useState<Filter>(everything);
  const narrow = useMemo(
    () => (part: Partial<Filter>) => {
      setFilter({ ...everything, ...part });
      document.getElementById("trials")?.scrollIntoView({ block: "start" });
    },
    [],
  );
  return (
    <FilterContext.Provider value={narrow}>
      <main>
        {page.home !== undefined && (
          <nav>
            <a href={page.home}>← All runs</a>
          </nav>
        )}
        {page.live !== undefined && (
          <p class="live warn" role="status">
            <span aria-hidden="true">●</span> Not finished: this page updates as trials are recorded.
          </p>
        )}
        <BlockList blocks={page.before} />
        {trials && trials.cases.length > 0 && (
          <Explorer trials={trials} toolsets={page.toolsets} filter={filter} setFilter={setFilter} />
        )}
        <BlockList blocks={page.after} />
      </main>
    </FilterContext.Provider>
  );
}

const data = JSON.parse(document.getElementById("data")?.textContent ?? "null") as PageData;
const root = document.getElementById("page");
if (root) render(data.kind === "runs" ? <Runs page={data} /> : <LiveReport given={data} />, root);
performance.mark("drawn");

/** The start page of `evals view`: the trend of each suite, and the list of records, two of which can be compared. */
export function Runs({ page: { folder, runs, trends } }: { page: RunsPage }) {
  const [text, setText] = useState("");
  const comparable = runs.filter(({ command }) => command === "run");
  const [newest, ...older] = comparable;
  const [head, setHead] = useState(newest?.id);
  // The previous run of the same suites and models if there is one, otherwise the previous run.
  const [base, setBase] = useState((older.find(({ about }) => about === newest?.about) ?? older[0])?.id);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = runs.filter((one) => {
    const searched = `${one.id} ${one.command} ${one.result.text} ${one.about}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
  return (
    <main>
      <h1>Recorded runs</h1>
      <p class="soft">
        {count(runs.length, "record")} in <code>{plain(folder)}</code>
      </p>
      {runs.length === 0 && (
        <p>
          There is no record yet. Make one with <code>evals run</code>, then reload this page.
        </p>
      )}
      <BlockList blocks={trends} />
      {runs.length > 0 && (
        <>
          <h2>All records</h2>
          <search class="toolbar">
            <input
              type="search"
              aria-label="Search records"
              placeholder="Search ids, suites, models, results"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            {base !== undefined && head !== undefined && base !== head && (
              <a class="button" href={`/compare?base=${encodeURIComponent(base)}&head=${encodeURIComponent(head)}`}>
                Compare A with B
              </a>
            )}
          </search>
          <Scroll label="All records">
            <table class="runs">
              <thead>
                <tr>
                  {["A", "B", "Run", "Command", "Result", "Suites and models", "Trials", "Cost"].map((title) => (
                    <th key={title} scope="col" class={title === "Trials" || title === "Cost" ? "n" : undefined}>
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {shown.map((one) => (
                  <tr key={one.id}>
                    <Choice entry={one} name="A" chosen={base} choose={setBase} />
                    <Choice entry={one} name="B" chosen={head} choose={setHead} />
                    <th scope="row">
                      <a href={`/runs/${encodeURIComponent(one.id)}`}>{one.startedAt.slice(0, 16).replace("T", " ")}</a>
                      <div class="meta">{plain(one.id)}</div>
                    </th>
                    <td class="command">{plain(one.command)}</td>
                    <td class={one.result.tone}>{plain(one.result.text)}</td>
                    <td>{plain(one.about)}</td>
                    <td class="n">{one.trials === null ? "-" : integer(one.trials)}</td>
                    <td class="n">{one.costUsd === null ? "-" : money(one.costUsd)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </>
      )}
    </main>
  );
}

type ChoiceProps = { entry: RunEntry; name: string; chosen: string | undefined; choose(id: string): void };

/** A radio button to choose a record for the comparison; only runs can be compared. */
function Choice({ entry: { id, command }, name, chosen, choose }: ChoiceProps) {
  if (command !== "run") return <td />;
  return (
    <td>
      <input
        type="radio"
        name={name}
        aria-label={`${name}: ${id}`}
        checked={chosen === id}
        onChange={() => choose(id)}
      />
    </td>
  );
}

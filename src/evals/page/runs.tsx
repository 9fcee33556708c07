import { useState } from "preact/hooks";
import { plain } from "../base/secrets/visible.ts";
import type { RunEntry, RunsPage } from "../experiments/run/report/page.ts";
import { count, integer, money } from "../reports/format.ts";
import { BlockList } from "./blocks.tsx";
import { Scroll } from "./text.tsx";

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
                      <small class="id">{plain(one.id)}</small>
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

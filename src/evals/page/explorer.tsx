import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { TargetedKeyboardEvent } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { sumOf } from "../base/collections.ts";
import { plain } from "../base/text/display.ts";
import type { PageTrials, ReportPage } from "../experiments/run/report/page.ts";
import { count, integer } from "../reports/format.ts";
import { CaseRow, type Row, rowHeight, TrialRow } from "./rows.tsx";
import { CasePane, TrialPane } from "./transcript.tsx";
import {
  applyFilter,
  choiceLabels,
  everything,
  type Filter,
  indexTrials,
  placeTrials,
  readResult,
  readSelection,
} from "./trials.ts";

type Props = {
  trials: PageTrials;
  toolsets: ReportPage["toolsets"];
  filter: Filter;
  setFilter(filter: Filter): void;
};

/** A searchable list of cases and trials, with the selected one beside it. */
export function Explorer({ trials, toolsets, filter, setFilter }: Props) {
  // Only a search needs the texts, so the page does not build them on load.
  const isSearched = filter.text !== "";
  const locations = useMemo(() => placeTrials(trials), [trials]);
  const texts = useMemo(() => (isSearched ? indexTrials(trials, locations) : []), [trials, locations, isSearched]);
  const shown = useMemo(() => applyFilter(trials, locations, texts, filter), [trials, locations, texts, filter]);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const [selected, setSelected] = useState<string>();
  const [isOpen, setIsOpen] = useState(false);
  const pane = useRef<HTMLElement>(null);
  const rows = useMemo(
    () =>
      shown.flatMap((one): Row[] => [
        { key: `case-${one.at}`, one },
        ...(unfolded.has(one.at)
          ? one.trials.map(
              (trial, at): Row => ({ key: `trial-${one.at}-${trial.cell.arm}-${trial.cell.trial}-${at}`, one, trial }),
            )
          : []),
      ]),
    [shown, unfolded],
  );
  const hasModels = new Set(trials.cases.map(({ model }) => model)).size > 1;
  const isNarrow = useNarrow();
  const { parent, virtual } = useVirtual(rows, (row) => rowHeight(row, isNarrow));
  const found = rows.findIndex(({ key }) => key === selected);
  const active = rows[found] ?? rows[0];
  const matching = sumOf(shown, (one) => one.trials.length);

  const fold = (at: number, folded: boolean) => {
    const next = new Set(unfolded);
    if (folded) next.delete(at);
    else next.add(at);
    setUnfolded(next);
  };
  const select = (index: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (!row) return;
    setSelected(row.key);
    virtual.scrollToIndex(rows.indexOf(row));
  };
  /** Folds or unfolds a case; opens a trial in the pane. */
  const open = (row: Row) => {
    setSelected(row.key);
    if (row.trial === undefined) fold(row.one.at, unfolded.has(row.one.at));
    else setIsOpen(true);
  };
  const close = () => {
    setIsOpen(false);
    parent.current?.focus();
  };
  // Not useEffect, which waits for the next frame: a key pressed before it would still go to the list.
  useLayoutEffect(() => {
    if (isOpen) pane.current?.focus();
  }, [isOpen, selected]);

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLElement>) => {
    if (!active || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = Math.max(0, found);
    const isUnfolded = unfolded.has(active.one.at);
    const actions: Record<string, () => void> = {
      ArrowDown: () => select(found < 0 ? 0 : at + 1),
      ArrowUp: () => select(at - 1),
      PageDown: () => select(at + 10),
      PageUp: () => select(at - 10),
      Home: () => select(0),
      End: () => select(rows.length - 1),
      Enter: () => open(active),
      ArrowRight: () => (active.trial || isUnfolded ? select(at + 1) : fold(active.one.at, false)),
      ArrowLeft: () =>
        active.trial ? select(rows.findIndex(({ key }) => key === `case-${active.one.at}`)) : fold(active.one.at, true),
    };
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  return (
    <section id="trials" aria-labelledby="trials-title">
      <h2 id="trials-title">Cases and trials</h2>
      <Toolbar trials={trials} filter={filter} setFilter={setFilter} leave={() => parent.current?.focus()} />
      <p class="soft" role="status">
        {`${count(shown.length, "case")}, ${integer(matching)} of ${count(trials.trials.length, "trial")}.`}
        {trials.recorded > trials.trials.length &&
          ` ${integer(trials.recorded)} trials were recorded: this page has those that did not pass and the first of the others.`}
      </p>
      <div class="explorer">
        <div
          class="list"
          ref={parent}
          role="treegrid"
          tabIndex={0}
          aria-label="Cases and trials"
          aria-rowcount={rows.length}
          aria-activedescendant={active?.key}
          onKeyDown={onKeyDown}
        >
          <div role="rowgroup" style={{ height: `${virtual.getTotalSize()}px` }}>
            {virtual.getVirtualItems().map(({ index, start, size }) => {
              const row = rows[index];
              if (!row) return null;
              const common = {
                id: row.key,
                style: { transform: `translateY(${start}px)`, height: `${size}px` },
                "aria-rowindex": index + 1,
                "aria-selected": row === active,
                onClick: () => open(row),
              };
              return row.trial ? (
                <TrialRow key={row.key} common={common} trial={row.trial} />
              ) : (
                <CaseRow
                  key={row.key}
                  common={common}
                  one={row.one}
                  isUnfolded={unfolded.has(row.one.at)}
                  model={hasModels ? row.one.case.model : undefined}
                />
              );
            })}
          </div>
          {rows.length === 0 && <p class="soft">No trial matches. Clear the search or a filter.</p>}
        </div>
        <aside
          class={isOpen ? "pane open" : "pane"}
          ref={pane}
          tabIndex={-1}
          aria-label="Transcript"
          onKeyDown={(event) => event.key === "Escape" && close()}
        >
          <button type="button" class="close" onClick={close}>
            ← Back to the list
          </button>
          {active?.trial ? (
            <TrialPane
              one={active.one.case}
              trial={active.trial}
              trials={trials}
              toolset={toolsets[active.trial.toolset] ?? []}
            />
          ) : (
            active && <CasePane one={active.one} />
          )}
        </aside>
      </div>
    </section>
  );
}

/** The search, and the filters that offer a choice. `/` focuses the search, Escape returns to the list. */
function Toolbar({ trials: { cases, trials }, filter, setFilter, leave }: Omit<Props, "toolsets"> & { leave(): void }) {
  const search = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const choices = useMemo(() => {
    const sorted = (values: Iterable<string>) => [...new Set(values)].filter((value) => value !== "").sort();
    return {
      result: sorted(trials.map(readResult)),
      outcome: sorted(trials.map(readSelection)),
      tool: sorted(
        trials.flatMap(({ verdict, turns }) => [
          verdict?.picked ?? "",
          ...turns.flatMap(({ calls }) => calls.map(({ tool }) => tool)),
        ]),
      ),
      expected: sorted(cases.map(({ expected }) => expected)),
      case: sorted(cases.map(({ id }) => id)),
      model: sorted(cases.map(({ model }) => model)),
      suite: sorted(cases.map(({ suite }) => suite)),
      arm: sorted(trials.map(({ cell }) => cell.arm)),
    } satisfies Record<keyof typeof choiceLabels, string[]>;
  }, [cases, trials]);
  const set = (part: Partial<Filter>) => setFilter({ ...filter, ...part });
  const isNarrowed = Object.values(filter).some((value) => value !== "");
  return (
    <search class="toolbar">
      <input
        ref={search}
        type="search"
        aria-label="Search trials"
        aria-keyshortcuts="/"
        placeholder="Search cases, queries, tools, answers"
        value={filter.text}
        onInput={(event) => set({ text: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key !== "Escape" && event.key !== "ArrowDown") return;
          event.preventDefault();
          leave();
        }}
      />
      <div class="filters">
        {(Object.keys(choices) as (keyof typeof choices)[]).map(
          (name) =>
            (choices[name].length > 1 || filter[name] !== "") && (
              <select
                key={name}
                aria-label={choiceLabels[name]}
                class={filter[name] === "" ? "" : "set"}
                value={filter[name]}
                onChange={(event) => set({ [name]: event.currentTarget.value })}
              >
                <option value="">{choiceLabels[name]}: all</option>
                {choices[name].map((value) => (
                  <option key={value} value={value}>
                    {plain(value.slice(0, 100))}
                  </option>
                ))}
              </select>
            ),
        )}
        {isNarrowed && (
          <button type="button" onClick={() => setFilter(everything)}>
            Clear
          </button>
        )}
      </div>
    </search>
  );
}

/** Renders only the visible rows of a long list. `parent` is the scrolling element. */
function useVirtual<T extends { key: string }>(rows: readonly T[], height: (row: T) => number) {
  const parent = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const sizeOf = (index: number) => {
    const row = rows[index];
    return row ? height(row) : 0;
  };
  // A new function for keys makes the virtualizer measure again.
  const getItemKey = useCallback(
    (index: number) => `${sizeOf(index)}-${rows[index]?.key}`,
    [rows, height(rows[0] ?? ({} as T))],
  );
  const options = {
    count: rows.length,
    getScrollElement: () => parent.current,
    estimateSize: sizeOf,
    getItemKey,
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(0),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  return { parent, virtual };
}

const narrow = "(max-width: 50rem)";

/** Whether the window is as narrow as on a phone. */
function useNarrow(): boolean {
  const [isNarrow, setIsNarrow] = useState(() => matchMedia(narrow).matches);
  useEffect(() => {
    const query = matchMedia(narrow);
    const onChange = () => setIsNarrow(query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  return isNarrow;
}

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

/** Renders only the visible rows of a long list. `parent` is the scrolling element. */
export function useVirtual<T extends { key: string }>(rows: readonly T[], height: (row: T) => number) {
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
export function useNarrow(): boolean {
  const [isNarrow, setIsNarrow] = useState(() => matchMedia(narrow).matches);
  useEffect(() => {
    const query = matchMedia(narrow);
    const onChange = () => setIsNarrow(query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  return isNarrow;
}

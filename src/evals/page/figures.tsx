import { scaleLinear, scaleUtc } from "d3-scale";
import { area, line } from "d3-shape";
import { useContext } from "preact/hooks";
import { plain } from "../base/text/display.ts";
import type { Estimate, Figure } from "../reports/document.ts";
import { percent } from "../reports/format.ts";
import { Scroll } from "./text.tsx";
import { FilterContext } from "./trials.ts";

// Charts. Their numbers are also in the text beside them, for screen readers.

export function FigureView({ title, figure }: { title: string; figure: Figure }) {
  return (
    <figure>
      <figcaption>{plain(title)}</figcaption>
      {figure.type === "intervals" && <Intervals {...figure} />}
      {figure.type === "curve" && <Curve {...figure} />}
      {figure.type === "grid" && <Grid {...figure} />}
    </figure>
  );
}

type Of<T extends Figure["type"]> = Extract<Figure, { type: T }>;

/** Series differ in shape as well as in color. */
const seriesStyle = (at: number) => ({ color: `var(--${["focus", "two", "good", "four"][at % 4]})` });

function Legend({ names }: { names: readonly string[] }) {
  if (names.length < 2) return null;
  return (
    <ul class="legend">
      {names.map((name, at) => (
        <li key={name}>
          <svg viewBox="0 0 14 14" width={14} height={14} aria-hidden="true" style={seriesStyle(at)}>
            <Point x={7} y={7} at={at} />
          </svg>
          {plain(name)}
        </li>
      ))}
    </ul>
  );
}

/** A point in the shape of its series. */
function Point({ x, y, at }: { x: number; y: number; at: number }) {
  if (at % 3 === 0) return <circle class="dot" cx={x} cy={y} r={4} />;
  if (at % 3 === 1) return <rect class="dot full" x={x - 4} y={y - 4} width={8} height={8} />;
  return <path class="dot full" d={`M${x} ${y - 5}L${x + 5} ${y + 4}L${x - 5} ${y + 4}Z`} />;
}

/** The estimates of each row: a point for the rate, a line for its interval. */
function Intervals({ axis, names, rows }: Of<"intervals">) {
  const width = 240;
  const x = scaleLinear([0, 1], [18, width - 18]);
  const height = 10 + 12 * names.length;
  return (
    <>
      <Legend names={names} />
      <Scroll label={plain(axis)}>
        <table class="intervals">
          <tbody>
            {rows.map(({ label, estimates, text }) => (
              <tr key={label}>
                <th scope="row">
                  <code>{plain(label)}</code>
                </th>
                <td>
                  <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
                    {intervalTicks.map((tick) => (
                      <line key={tick} class="grid" x1={x(tick)} x2={x(tick)} y1={0} y2={height} />
                    ))}
                    {estimates.map(
                      (one, at) => one && <Interval key={names[at]} one={one} x={x} y={11 + 12 * at} at={at} />,
                    )}
                  </svg>
                </td>
                <td class="n">{text}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <td />
              <td>
                <svg viewBox={`0 0 ${width} 34`} width={width} height={34} aria-hidden="true">
                  {intervalTicks.map((tick) => (
                    <text key={tick} x={x(tick)} y={12} text-anchor="middle">
                      {percent(tick)}
                    </text>
                  ))}
                  <text x={x(0.5)} y={29} text-anchor="middle">
                    {plain(axis)}
                  </text>
                </svg>
              </td>
              <td />
            </tr>
          </tfoot>
        </table>
      </Scroll>
    </>
  );
}

const intervalTicks = [0, 0.5, 1];

function Interval({ one, x, y, at }: { one: Estimate; x: (rate: number) => number; y: number; at: number }) {
  return (
    <g style={seriesStyle(at)}>
      {one.interval && <line class="whisker" x1={x(one.interval[0])} x2={x(one.interval[1])} y1={y} y2={y} />}
      <Point x={x(one.rate)} y={y} at={at} />
    </g>
  );
}

/** Rates over a number or over time, with bands for their intervals. */
function Curve({ x: kind, label, series }: Of<"curve">) {
  const [width, height, left, bottom] = [640, 220, 44, 40];
  const all = series.flatMap(({ points }) => points);
  const xs = all.map((one) => one.x);
  const ends = [Math.min(...xs), Math.max(...xs)] as const;
  const x = kind === "time" ? scaleUtc(ends, [left, width - 16]) : scaleLinear(ends, [left, width - 16]);
  const y = scaleLinear([0, 1], [height - bottom, 10]);
  const at = (value: number) => x(value);
  const ticks: { at: number; text: string }[] =
    kind === "time"
      ? scaleUtc(ends, [left, width - 16])
          .ticks(5)
          .map((tick) => ({ at: tick.getTime(), text: scaleUtc().tickFormat(5, dayFormat(ends))(tick) }))
          // Ticks within the same minute or day have the same text.
          .filter(({ text }, index, made) => text !== made[index - 1]?.text)
      : [...new Set(xs)].map((tick) => ({ at: tick, text: String(tick) }));
  return (
    <>
      <Legend names={series.map(({ name }) => name)} />
      <svg class="curve" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={describeCurve(label, series)}>
        {[0, 0.25, 0.5, 0.75, 1].map((tick) => (
          <g key={tick}>
            <line class="grid" x1={left} x2={width - 16} y1={y(tick)} y2={y(tick)} />
            <text x={left - 8} y={y(tick) + 4} text-anchor="end">
              {percent(tick)}
            </text>
          </g>
        ))}
        {ticks.map((tick) => (
          <text key={tick.at} x={at(tick.at)} y={height - bottom + 18} text-anchor="middle">
            {tick.text}
          </text>
        ))}
        <text x={(left + width) / 2} y={height - 4} text-anchor="middle">
          {plain(label)}
        </text>
        {series.map(({ name, points }, index) => {
          const banded = points.flatMap(({ interval, x: value }) =>
            interval ? [{ value, low: interval[0], high: interval[1] }] : [],
          );
          const band = area<(typeof banded)[number]>(
            (one) => at(one.value),
            (one) => y(one.low),
            (one) => y(one.high),
          );
          const path = line<(typeof points)[number]>(
            (one) => at(one.x),
            (one) => y(one.rate),
          );
          return (
            <g key={name} style={seriesStyle(index)}>
              <path class="area" d={band(banded) ?? ""} />
              <path class="path" d={path(points) ?? ""} />
              {points.map((one) => (
                <g key={one.x}>
                  {one.mark !== undefined && (
                    <line class="changed" x1={at(one.x)} x2={at(one.x)} y1={10} y2={height - bottom} />
                  )}
                  <Point x={at(one.x)} y={y(one.rate)} at={index} />
                  <title>{plain(one.text)}</title>
                </g>
              ))}
            </g>
          );
        })}
      </svg>
      {all.some(({ mark }) => mark !== undefined) && (
        <p class="soft">A dashed line: {plain([...new Set(all.flatMap(({ mark }) => mark ?? []))].join(", "))}.</p>
      )}
    </>
  );
}

/** Times of day for ranges below two days, otherwise dates. */
const dayFormat = ([first, last]: readonly [number, number]) => (last - first < 2 * 86_400_000 ? "%H:%M" : "%b %-d");

function describeCurve(label: string, series: Of<"curve">["series"]): string {
  const ends = series.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    return first && last ? `${name}: from ${percent(first.rate)} to ${percent(last.rate)}` : name;
  });
  return plain(`Pass rate by ${label}. ${ends.join("; ")}`);
}

/** A table with shaded cells. A click on a cell filters the trials. */
function Grid({ of, rows, columns, cells, remark }: Of<"grid">) {
  const filter = useContext(FilterContext);
  const narrow = (row: string, column: string) =>
    filter(
      of === "cases"
        ? { case: row, model: column }
        : { expected: row, ...(column === "right" ? { result: "passed" } : { tool: column }) },
    );
  return (
    <Scroll label={of === "cases" ? "Cases by model" : "Expected and picked tools"}>
      <table class="grid">
        <thead>
          <tr>
            <th scope="col">{of === "cases" ? "Case" : "Expected ↓ picked →"}</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                <code>{plain(column)}</code>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={row}>
              <th scope="row">
                <code>{plain(row)}</code>
              </th>
              {columns.map((column, index) => {
                const one = cells[at]?.[index];
                if (!one) return <td key={column} />;
                return (
                  <td key={column}>
                    <button
                      type="button"
                      class={one.shade === 0 ? `${one.tone} edge` : one.tone}
                      style={{ "--level": one.tone === "good" ? 0.4 : one.shade }}
                      aria-label={`${plain(row)}, ${plain(column)}: ${one.text}. Show these trials`}
                      onClick={() => narrow(row, column)}
                    >
                      {one.tone === "good" ? "✓ " : ""}
                      {one.text}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {remark !== undefined && <p class="soft">{remark}</p>}
    </Scroll>
  );
}

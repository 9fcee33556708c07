import type { ComponentChildren } from "preact";
import { plain } from "../base/text/display.ts";
import {
  type Bar,
  type Block,
  type Blocks,
  type Column,
  hasContent,
  type Inline,
  type Item,
  isItem,
  isName,
  limitList,
  limitRows,
  type Mark,
  type Span,
  spans,
  type Table,
  type TableCell,
  type TableRow,
  type TextChange,
} from "../reports/document.ts";
import { capital, points } from "../reports/format.ts";
import { diffPieces } from "../reports/wordDiff.ts";
import { FigureView } from "./figures.tsx";
import { Facts, Folded, Scroll, Verbatim } from "./text.tsx";

// Renders the blocks of a report, like terminal.ts and markdown.ts do.

const maxItems = 500;
/** Longer queries are collapsed. */
const foldedFrom = 240;

export function BlockList({ blocks }: { blocks: Blocks }) {
  return (
    <>
      {blocks.filter(hasContent).map((block, at) => (
        <BlockView key={at} block={block} />
      ))}
    </>
  );
}

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case "heading": {
      const Tag = `h${block.level}` as const;
      return <Tag class={block.tone}>{line(block.text)}</Tag>;
    }
    case "text":
      return (
        <>
          {block.lines.map((one, at) => (
            <p key={at}>{line(one)}</p>
          ))}
        </>
      );
    case "facts":
      return <Facts facts={block.facts.map(([label, value]) => [capital(label), line(value)])} />;
    case "table":
      return <TableView {...block} />;
    case "list": {
      const { shown, more } = limitList(block.items, maxItems, block.noun);
      return (
        <ul>
          {shown.map((item, at) => (
            <ListItem key={at} item={item} />
          ))}
          <More text={more} />
        </ul>
      );
    }
    case "diff": {
      const { shown, more } = limitList(block.changes, maxItems, "change");
      return (
        <ul class="diff">
          {shown.map((change, at) => (
            <Change key={at} change={change} />
          ))}
          <More text={more} />
        </ul>
      );
    }
    case "scale":
      return <Scale {...block} />;
    case "figure":
      return <FigureView title={block.title} figure={block.figure} />;
    case "verbatim":
      return <Verbatim text={block.text} />;
    case "details":
      return (
        <Folded title={line(block.title)}>
          <BlockList blocks={block.blocks} />
        </Folded>
      );
  }
}

const More = ({ text }: { text: string | undefined }) => (text === undefined ? null : <li class="soft">{text}</li>);

function ListItem({ item }: { item: Inline | Item }) {
  if (!isItem(item)) return <li>{line(item)}</li>;
  const { shown, more } = limitList(item.items ?? [], maxItems, item.noun ?? "line");
  return (
    <li>
      {line(item.text)}
      {shown.length > 0 && (
        <ul>
          {shown.map((one, at) => (
            <li key={at}>{line(one)}</li>
          ))}
          <More text={more} />
        </ul>
      )}
      {item.command !== undefined && <Verbatim text={`$ ${item.command}`} />}
    </li>
  );
}

/** A change of wording, with the cases whose result changed with it. */
function Change({ change }: { change: TextChange }) {
  return (
    <li class={change.beside ? "beside" : undefined}>
      <div>
        <code>{plain(change.label)}</code>
        <Words change={change} />
      </div>
      {change.beside && (
        <div>
          <p class="soft">Cases that moved</p>
          <ul>
            {change.beside.map((text, at) => (
              <li key={at}>{plain(text)}</li>
            ))}
          </ul>
        </div>
      )}
    </li>
  );
}

/** A word diff: removed words are struck through, added ones underlined. */
export function Words({ change }: { change: TextChange }) {
  const pieces = diffPieces(change);
  if (pieces.length === 0) return null;
  return (
    <p class="words" dir="auto">
      {pieces.map(({ kind, text }, at) =>
        kind === "same" ? text : kind === "removed" ? <del key={at}>{text}</del> : <ins key={at}>{text}</ins>,
      )}
    </p>
  );
}

function TableView(table: Table) {
  const { columns } = table;
  const { shown, more } = limitRows(table, maxItems);
  return (
    <>
      <Scroll label={`Table: ${columns.map(({ head }) => head).join(", ")}`}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.head} scope="col" class={figureClass(column)}>
                  {capital(column.head)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, at) => (
              <Row key={at} row={row} columns={columns} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {more !== undefined && <p class="soft">{more}</p>}
    </>
  );
}

function Row({ row, columns }: { row: TableRow; columns: readonly Column[] }) {
  return (
    <tr class={row.tone && `${row.tone}-row`}>
      {row.cells.map((one, at) => (
        <td key={at} class={figureClass(columns[at])}>
          {cell(one, columns[at]?.kind)}
        </td>
      ))}
    </tr>
  );
}

const figureClass = (column: Column | undefined) => (column?.kind === "figure" ? "n" : undefined);

function cell(one: TableCell, kind: Column["kind"] | undefined): ComponentChildren {
  if (typeof one === "object" && "lines" in one) return plain(one.lines.join(", "));
  return typeof one === "string" && isName(kind) ? <code>{plain(one)}</code> : line(one);
}

function line(inline: Inline): ComponentChildren {
  return spans(inline).map(inlineSpan);
}

/** Text with the parts in backticks as code. */
function prose(text: string): ComponentChildren {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 0 ? plain(part) : <code key={at}>{plain(part)}</code>));
}

function inlineSpan(span: Span): ComponentChildren {
  if (typeof span === "string") return prose(span);
  if ("strong" in span) return <strong class={span.tone}>{plain(span.strong)}</strong>;
  if ("mark" in span) return <MarkView mark={span.mark} />;
  if ("bar" in span) return <BarView {...span.bar} />;
  if (span.code.length <= foldedFrom || !span.dim) return <code>{plain(span.code)}</code>;
  return (
    <Folded title={`${plain(span.code.slice(0, foldedFrom))}…`}>
      <Verbatim text={span.code} />
    </Folded>
  );
}

const marks: Readonly<Record<Mark, { sign: string; name: string }>> = {
  good: { sign: "✓", name: "passed" },
  bad: { sign: "✗", name: "failed" },
  warn: { sign: "!", name: "incomplete" },
  open: { sign: "?", name: "not gradable" },
};

export function MarkView({ mark }: { mark: Mark }) {
  const { sign, name } = marks[mark];
  return (
    <span class={`mark ${mark === "open" ? "bad" : mark}`} role="img" aria-label={name}>
      {sign}
    </span>
  );
}

/** A scale from 0 to 1: the interval as a band, the rate as a point, the required rate as a tick. */
function BarView({ rate, interval: [low, high] = [rate, rate], needed }: Bar) {
  return (
    <svg class="bar" viewBox="0 0 160 14" aria-hidden="true">
      <rect class="track" x="0" y="6" width="160" height="2" />
      <rect class="band" x={low * 160} y="3.5" width={(high - low) * 160} height="7" rx="3.5" />
      {needed !== undefined && <rect class="tick" x={needed * 160 - 0.75} y="0" width="1.5" height="14" />}
      <circle class="point" cx={rate * 160} cy="7" r="4" />
    </svg>
  );
}

/** The interval as a band, the margin as a line, and the range beyond the margin shaded. */
function Scale({ change, interval: [low, high], margin, tone }: Extract<Block, { kind: "scale" }>) {
  const reach = 1.2 * Math.max(margin, Math.abs(low), Math.abs(high));
  const x = (rate: number) => 160 + (rate / reach) * 160;
  const edge = margin / reach > 0.75;
  const tick = (name: string, rate: number) => <rect class={name} x={x(rate) - 0.75} y="18" width="1.5" height="24" />;
  return (
    <svg class={`scale ${tone}`} viewBox="0 0 320 60" aria-hidden="true">
      <rect class="beyond" x="0" y="18" width={x(-margin)} height="24" />
      <rect class="track" x="0" y="29" width="320" height="2" />
      {tick("zero", 0)}
      {tick("limit", -margin)}
      <rect class="band" x={x(low)} y="25" width={x(high) - x(low)} height="10" rx="5" />
      <circle class="point" cx={x(change)} cy="30" r="5" />
      <text x="0" y="10">
        worse
      </text>
      <text x="320" y="10" text-anchor="end">
        better
      </text>
      {/* Close to zero and to the edge there is no room for a label around the margin's line. */}
      <text x={edge ? 0 : x(-margin)} y="56" text-anchor={edge ? "start" : margin / reach < 0.3 ? "end" : "middle"}>
        {`margin ${points(-margin)}`}
      </text>
      <text x="160" y="56" text-anchor="middle">
        0
      </text>
    </svg>
  );
}

import { sumOf } from "../base/collections.ts";
import { orderBySeed } from "../base/stats/random.ts";
import { plain } from "../base/text/display.ts";
import type { Call, StopReason, Trial, Turn } from "../base/types/trial.ts";
import { describeListChange, stateMark } from "../experiments/results/text.ts";
import type { PageCase, PageTrials } from "../experiments/run/report/page.ts";
import { duration, integer, money } from "../reports/format.ts";
import { MarkView, Words } from "./blocks.tsx";
import { describeArm } from "./rows.tsx";
import { Facts, Folded, Verbatim } from "./text.tsx";
import {
  readReason,
  readResult,
  readSelection,
  type Shown,
  tokensIn,
  toneOf,
  writeArguments,
  writeCall,
} from "./trials.ts";

/** A case: its query, what it expects, and why its trials failed. */
export function CasePane({ one: { case: one, trials } }: { one: Shown }) {
  return (
    <>
      <h3>{plain(one.id)}</h3>
      <Query texts={one.paraphrases ?? [one.input]} />
      <Facts
        facts={[
          ["Expected", <code key="expected">{plain(one.expected)}</code>],
          ["Result", one.arms.map(describeArm).join("; ") || "no trial"],
          ["Needed", one.passRate === undefined ? undefined : `${Math.round(one.passRate * 100)}%`],
          ["Model", plain(one.model)],
          ["Suite", plain(one.suite)],
          ["Location", one.location === "" ? undefined : plain(one.location)],
        ]}
      />
      {one.reasons.length > 0 && (
        <>
          <h4>Why trials failed</h4>
          <ul class="reasons">
            {one.reasons.map(({ text, n }) => (
              <li key={text}>
                <span class="soft">{integer(n)}×</span> {plain(text)}
              </li>
            ))}
          </ul>
        </>
      )}
      {trials.length > 0 && <p class="soft">Unfold the case (Enter) and open a trial to read its transcript.</p>}
    </>
  );
}

function Query({ texts }: { texts: readonly string[] }) {
  return (
    <section class="message user" aria-label="Query">
      {texts.map((text) => (
        <Verbatim key={text} text={text} prose />
      ))}
    </section>
  );
}

type TrialProps = { one: PageCase; trial: Trial; trials: PageTrials; toolset: readonly string[] };

/** What happened in a trial, in order. */
export function TrialPane({ one, trial, trials, toolset }: TrialProps) {
  const { arm, trial: number } = trial.cell;
  const { expected = "", picked = "", checks = [], unchecked = [], discovery } = trial.verdict ?? {};
  const reason = readReason(trial);
  const asked = one.paraphrases?.[(number - 1) % one.paraphrases.length] ?? one.input;
  const unmet = checks.filter(({ met }) => met !== "yes");
  const model = findPassed(one, trial, trials);
  return (
    <>
      <h3>
        {plain(one.id)} <span class="soft">trial {number}</span>
      </h3>
      <p class={`outcome ${toneOf(trial)}`}>
        <MarkView mark={stateMark[readResult(trial)]} /> {plain(readSelection(trial))}
      </p>
      {reason !== undefined && <Verbatim text={reason} label="Reason" />}
      <Facts
        facts={[
          ["Expected", <code key="expected">{plain(expected || one.expected)}</code>],
          ["Picked", <code key="picked">{plain(picked || "-")}</code>],
          ["Arm", arm === "head" ? undefined : plain(arm)],
          ["Search", discovery?.outcome],
          ["Shown", listShownLevels(trial)],
          ["Tokens", integer(sumOf(trial.turns, ({ usage }) => tokensIn(usage) + usage.outputTokens))],
          ["Cost", money(trial.costUsd)],
          ["Time", duration(trial.ms)],
        ]}
      />
      {unmet.length > 0 && (
        <>
          <h4>Not met</h4>
          <ul class="reasons">
            {unmet.map(({ what, met, why, evidence }) => (
              <li key={what}>
                <MarkView mark={met === "no" ? "bad" : "open"} />{" "}
                {plain(why?.startsWith(what) ? why : `${what}${why ? `: ${why}` : ""}`)}
                {evidence !== undefined && <Verbatim text={evidence} label="Evidence" />}
              </li>
            ))}
          </ul>
        </>
      )}
      {unchecked.map((text) => (
        <p key={text} class="soft">
          Not checked: {plain(text)}
        </p>
      ))}
      <h4>Transcript</h4>
      <Query texts={[asked]} />
      {trial.turns.map((turn, at) => (
        <TurnView key={at} turn={turn} passed={at === 0 ? model : undefined} />
      ))}
      {toolset.length > 0 && (
        <Folded title={`Tools in the order shown (${integer(toolset.length)})`}>
          <ol class="tools">
            {orderBySeed(toolset, trial.orderSeed, (name) => name).map((name) => (
              <li key={name}>
                <code>{plain(name)}</code>
              </li>
            ))}
          </ol>
        </Folded>
      )}
    </>
  );
}

/** A passed trial of the same case, whose call is compared with the first call of a trial that did not pass. */
function findPassed(
  { suite, model, id, expected }: PageCase,
  trial: Trial,
  { trials }: PageTrials,
): { number: number; call: Call } | undefined {
  if (readResult(trial) === "passed") return undefined;
  const passed = trials.find(
    (other) =>
      other.cell.case === id &&
      other.cell.suite === suite &&
      other.cell.model === model &&
      readResult(other) === "passed",
  );
  const call = passed?.turns.flatMap(({ calls }) => calls).find(({ tool }) => expected.split(" | ").includes(tool));
  return passed && call && { number: passed.cell.trial, call };
}

/** How the host showed the tools that a score names. */
function listShownLevels({ shown, verdict }: Trial): string | undefined {
  const names = new Set([...(verdict?.expected.split(" | ") ?? []), verdict?.picked]);
  const levels = Object.entries(shown?.tools ?? {}).flatMap(([level, list]) => {
    const own = list.filter((name) => names.has(name));
    return own.length === 0 ? [] : [`${level}: ${own.join(", ")}`];
  });
  return levels.length === 0 ? undefined : plain(levels.join("; "));
}

const stops: Readonly<Partial<Record<StopReason, string>>> = {
  refused: "The model refused.",
  cut: "The reply was cut off at the token limit.",
};

function TurnView({ turn, passed }: { turn: Turn; passed: ReturnType<typeof findPassed> }) {
  const { text, calls, searches = [], listChange, stop, usage, ms } = turn;
  return (
    <section class="message" aria-label="Reply">
      <p class="meta">
        Model · {integer(tokensIn(usage))} tokens in, {integer(usage.outputTokens)} out · {duration(ms)}
      </p>
      {listChange &&
        describeListChange(listChange).map(([label, names]) => (
          <p key={label}>
            {label}: <code>{plain(names.join(", "))}</code>
          </p>
        ))}
      {text !== "" && <Verbatim text={text} label="Text" prose />}
      {searches.map(({ query, found }, at) => (
        <p key={at}>
          Searched for <code>{plain(query)}</code>: {found.length === 0 ? "nothing found" : plain(found.join(", "))}
        </p>
      ))}
      {calls.map((call, at) => (
        <CallView key={at} call={call} passed={at === 0 ? passed : undefined} />
      ))}
      {stops[stop] !== undefined && <p class="warn">{stops[stop]}</p>}
      {text === "" && calls.length === 0 && stops[stop] === undefined && <p class="soft">No text and no call.</p>}
    </section>
  );
}

function CallView({ call, passed }: { call: Call; passed: ReturnType<typeof findPassed> }) {
  const { tool, role, inner, execution } = call;
  const [before, given] = [passed && writeCall(passed.call), writeCall(call)];
  const innerArguments = writeArguments(inner?.arguments);
  return (
    <div class="call">
      <p>
        Called <code class="tool">{plain(tool)}</code>
        {role !== undefined && <span class="soft"> ({role})</span>}
      </p>
      <Verbatim text={given} label="Arguments" />
      {inner && (
        <>
          <p>
            Inner call <code class="tool">{plain(inner.tool)}</code>
          </p>
          {innerArguments !== "" && <Verbatim text={innerArguments} label="Arguments of the inner call" />}
        </>
      )}
      {passed?.call.tool === tool && before !== given && (
        <>
          <p class="meta">
            Arguments of trial {passed.number}, which passed (struck through), against these (underlined)
          </p>
          <Words change={{ label: "arguments", before, after: given }} />
        </>
      )}
      {execution?.status === "skipped" && <p class="soft">Not executed: {plain(execution.reason)}</p>}
      {execution?.status === "executed" && (
        <>
          <p class={execution.result.isError ? "meta bad" : "meta"}>
            {execution.result.isError ? "Error" : "Result"} · {duration(execution.ms)}
          </p>
          <Verbatim text={execution.result.content.map(({ text }) => text).join("\n")} label="Result" />
        </>
      )}
    </div>
  );
}

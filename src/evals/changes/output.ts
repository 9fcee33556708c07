import { type Change, type ChangeClass, segment } from "./change.ts";
import { type Said, type ToolStates, toolDifferences } from "./parameters.ts";
import type { SchemaDifference } from "./schemas.ts";
import type { Effect } from "./values.ts";

/**
 * A result may hold fewer values than before, but no more: who reads it knows what it was. A new field is compatible even
 * where the old schema took no others, as those that libraries derive do: readers read the fields that they know.
 */
const classOf: Readonly<Record<Effect, ChangeClass>> = {
  narrower: "compatible",
  other: "breaking",
  wider: "breaking",
  "perhaps narrower": "compatible",
  "perhaps wider": "unknown",
  unclear: "unknown",
};

/** What changed in what a tool says of its structured result. */
export function* outputChanges(states: Omit<ToolStates, "successor">): Iterable<Change> {
  const { name, before, after } = states;
  const common = { id: `${segment(name)}:outputSchema`, tool: name };
  const [had, has] = [before.outputSchema !== undefined, after.outputSchema !== undefined];
  if (had !== has) {
    const what = `${segment(name)} ${has ? "now has an" : "no longer has an"} outputSchema.`;
    const said: Said = has
      ? { kind: "output-wider", class: "compatible", what }
      : { kind: "output", class: "breaking", what, fix: "Keep the outputSchema: clients read the result by it." };
    yield { ...common, path: has ? [name, "outputSchema"] : [name], ...said };
  }
  if (!had || !has) return;
  for (const difference of toolDifferences(states, "outputSchema")) {
    yield {
      ...common,
      path: [name, ...difference.at],
      ...saidOf(difference, `${segment(name)} result${difference.name}`),
    };
  }
}

function saidOf(difference: SchemaDifference, subject: string): Said {
  switch (difference.kind) {
    case "removed": {
      const what = `${subject}.${segment(difference.property)} was removed.`;
      return { kind: "output", class: "breaking", what, fix: "Keep giving it, or offer the new result as a new tool." };
    }
    case "added":
      return { kind: "output-wider", class: "compatible", what: `${subject}.${segment(difference.property)} is new.` };
    case "required": {
      const { now, inside, property } = difference;
      const field = inside ? `${subject}: ${segment(property)}` : subject;
      const what = `${field} is ${now ? "now always there" : "no longer always there"}.`;
      if (now) return { kind: "output-wider", class: "compatible", what };
      return { kind: "output", class: "breaking", what, fix: "Keep giving it in every result." };
    }
    case "values": {
      const decided = classOf[difference.effect];
      const what = `${subject}: ${difference.what}.`;
      if (decided === "compatible") return { kind: "output-wider", class: decided, what };
      return { kind: "output", class: decided, what, fix: "Give only values that a reader of the old schema expects." };
    }
    case "default":
      return { kind: "wording", class: "description only", what: `The default of ${subject} changed.` };
    case "wording":
      return {
        kind: "wording",
        class: "description only",
        what: `The ${difference.keyword} of ${subject} was reworded.`,
      };
  }
}

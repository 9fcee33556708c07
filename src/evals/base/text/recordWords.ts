/**
 * The words that records consist of: names of fields, and values that have a meaning. A secret that is one of them, or a part
 * of one, is not redacted, since nothing could read a record without them.
 */
export const recordWords = `
abstained acceptedAt additive always annotations answered arguments argumentsText attempt baseline broken budget
built-in built-in-used builtIn builtIns cacheReadTokens cacheWriteTokens cached call-as-text cancelled changed checks
checksum chosen chosen-without-search command commit compare content correlation costUsd cut-off deferred denial
denied description design destructiveHint deterministic discovery dispatched dispatchers distractor distractors drifted edited
evidence execute executed execution expected expectedCalls expectedTools experiment exposure exposures failOn
failure families figure finishedAt firstRequestBytes format found-not-chosen furtherFaults harness hidden
idempotentHint improve inconclusive inputSchema inputTokens instructions invented isError isolate judging leftOut likely
loaded malformed-arguments margin maxTurns mergedFrom message mimeType missing mockPlaces models neighbour nightly
nights no-call not-found not-gradable not-searched omitted openWorldHint orderSeed origin others outcome ownOrders
outputSchema outputTokens over-triggered ownName parameter parameters paraphrases partial passRate passed picked
queries ranker read-only readOnlyHint reason reasons redacted refused regressed released renamed repliedBy requestId
requests reservedUsd responseId result right-tool screen search searches selection server servers settings
several-calls shownAs skills skipped startedAt static status structuredContent submissions substituted suites surface surfaces
timeout toolErrors toolset toolsets totals trials unchanged unchecked unknown unknown-tool unlisted
unmatched unwanted userTurn variants verdict wanted wordings wrong-arguments wrong-result wrong-tool wrong-type wrong-value
additionalProperties boolean default description format integer maximum minimum number object pattern properties required string
`;

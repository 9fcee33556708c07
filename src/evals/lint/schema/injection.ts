/** Wording by which a tool gives a model orders that are not its to give, and what it does. */
type Pattern = { clause: string; does: string; sees: RegExp };

const secrets =
  "(?:(?:~|\\$HOME|/root|/home/\\w+)/\\.(?:ssh|aws|gnupg|cursor|claude)\\b|\\bid_(?:rsa|ed25519)\\b|/etc/(?:passwd|shadow)\\b" +
  "|\\.cursor/mcp\\.json|claude_desktop_config\\.json|\\.aws/credentials)";

/**
 * After the published write-ups of tool poisoning (Invariant Labs "MCP Security Notification: Tool Poisoning Attacks",
 * CyberArk "Poison Everywhere", OWASP MCP Top 10: MCP03). Narrow on purpose: usage hints such as "IMPORTANT: call
 * list_pages first" or "do not show ids to the user" are no attack. Every repeat is bounded, so matching is linear.
 */
export const injectionPatterns: readonly Pattern[] = [
  {
    clause: "does not override other instructions",
    does: "tells the model to set its other instructions aside",
    sees: /\b(?:ignore|disregard|forget|override)(?: [\w']+){0,3} (?:previous|prior|above|earlier|preceding|your|all|any|other|safety) (?:instructions?|directives?|guidelines|prompts?)\b|\b(?:ignore|disregard|forget) (?:the |all |any )?(?:instructions|directives|prompts) (?:above|before|given|you)\b/i,
  },
  {
    clause: "hides nothing from the user",
    does: "tells the model to keep something from the user",
    sees: /\b(?:do not|don't|never|must not|without)(?: \w+){0,2} (?:tell|telling|inform|informing) the (?:user|human)\b|\b(?:do not|don't|never|must not) (?:mention|reveal|disclose) (?:this|it|that|these|any of this|the above)\b(?: \w+){0,4} to the (?:user|human)\b|\b(?:hide|conceal|keep) (?:this|it|these|that)(?: \w+){0,3} from the (?:user|human)\b/i,
  },
  {
    clause: "reaches for no secrets",
    does: "tells the model to read a place where secrets are kept",
    sees: new RegExp(
      `\\b(?:before|first|also|always|must)\\b.{0,100}?\\b(?:read|open|cat|load|fetch|access|send|include|retrieve|copy|pass)\\b.{0,100}?${secrets}`,
      "i",
    ),
  },
  {
    clause: "wears no tags of a system prompt",
    does: "is dressed up as a part of the system prompt",
    sees: /<\s?\/?(?:important|system[-_ ](?:prompt|message|reminder|instructions?)|secret[-_ ]instructions?|hidden)\s?>|<system>[^<]{0,2000}<\/system>|\[\/?INST\]|<\|im_(?:start|end)\|>|<<\/?SYS>>/i,
  },
  {
    clause: "does not ask for the system prompt",
    does: "asks for what the model was told",
    sees: /\b(?:reveal|output|print|repeat|send|include|pass|copy|append|attach)(?: \w+){0,6} your (?:system|initial|original) prompt\b/i,
  },
];

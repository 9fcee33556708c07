import { createFetch } from "../../base/network/fetch.ts";
import { cut } from "../../base/text/text.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { isJsonObject, type Json } from "../../base/types/json.ts";

/**
 * A `fetch` for the SDKs of services, whose refusals have one form, `{"error": {"type", "message"}}`: the SDKs drop the words of
 * other forms. A 404 names the URL that was asked, since a wrong base URL is its usual cause.
 */
export function createServiceFetch(env: Readonly<Record<string, string | undefined>>): ReturnType<typeof createFetch> {
  const fetch = createFetch(env);
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status < 400) return response;
    const refusal = readRefusal(await response.text());
    const asked = response.status === 404 ? describeUrl(String(url)) : "";
    const error = { ...(refusal.type && { type: refusal.type }), message: `${refusal.message}${asked}` };
    return { ...response, text: async () => JSON.stringify({ type: "error", error }) };
  };
}

function describeUrl(url: string): string {
  const hint = /\/v\d|\/openai\/deployments\//.test(url) ? "" : "; most base URLs end in /v1";
  return ` (asked for ${withoutSecrets(url)}${hint})`;
}

/** Characters of a page that are searched for its words. */
const maxPage = 10_000;

type Refusal = { type?: string; message: string };

/**
 * Reads the words of a refusal, whatever its form: `{"error": {"message"}}`, an error that is a text, a list of errors
 * (Google), `message` (Mistral, Cohere), `detail` with the location of each fault (FastAPI: vLLM, TGI), `errors`, a problem of
 * RFC 9457, the words of a provider behind a router (OpenRouter's `metadata.raw`, or JSON as a text), an HTML page, a text,
 * or nothing.
 */
export function readRefusal(body: string): Refusal {
  let parsed: Json;
  try {
    parsed = JSON.parse(body.replace(/^\uFEFF|^data: /, "")) as Json;
  } catch {
    const words = body
      .slice(0, maxPage)
      .replace(/<(?:style|script)[\s\S]*?<\/(?:style|script)>|<[^>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim();
    return { message: words === "" ? "no body" : cut(words) };
  }
  return findRefusal(parsed) ?? { message: cut(JSON.stringify(parsed)) };
}

/** Members that hold the words, or an object with them, from the most telling one. */
const wordKeys = [
  ...["error", "errors", "detail", "message", "msg", "Message", "error_description", "fault", "faultstring"],
  ...["error_message", "error_msg", "status_msg", "base_resp", "title", "reason", "err"],
];

/** The words of a refusal in JSON; undefined if it has none. */
export function findRefusal(value: Json | undefined): Refusal | undefined {
  if (typeof value === "string") return value.trim() === "" ? undefined : readNested(value);
  if (Array.isArray(value)) {
    const found = value.flatMap((one) => findRefusal(one) ?? []);
    const [first] = found;
    return first && { ...first, message: found.map(({ message }) => message).join("; ") };
  }
  if (!isJsonObject(value)) return undefined;
  const { type, status, code, message, metadata, details, msg, loc } = value;
  const kind = [type, status, code].find(
    (one) => typeof one === "string" && !/^(?:error|\d+|https?:.*|about:blank)$/.test(one),
  );
  if (typeof msg === "string" && Array.isArray(loc)) {
    const location = loc.filter((step) => step !== "body").join(".");
    return { message: location === "" ? msg : `${location}: ${msg}` };
  }
  if (typeof message === "string") {
    const more = [findRefusal(isJsonObject(metadata) ? metadata.raw : undefined)?.message, ...listViolations(details)];
    const nested = readNested(message);
    const all = [nested.message, ...more.filter((one) => one !== undefined)];
    return { ...(typeof kind === "string" && { type: kind }), ...nested, message: all.join(": ") };
  }
  for (const key of wordKeys) {
    const found = findRefusal(value[key]);
    if (found && key === "error" && typeof value.error_description === "string")
      return { type: found.message, message: value.error_description };
    if (found) return found;
  }
  return undefined;
}

/** Gateways pass on the body of a provider as a text. */
function readNested(text: string): Refusal {
  return /^\s*[[{]/.test(text) ? readRefusal(text) : { message: text };
}

/** Which fields a service of Google refuses, in the details of its error. */
function listViolations(details: Json | undefined): string[] {
  const violations = Array.isArray(details)
    ? details.flatMap((one) => (isJsonObject(one) && Array.isArray(one.fieldViolations) ? one.fieldViolations : []))
    : [];
  return violations.filter(isJsonObject).map(({ field, description }) => `${field}: ${description}`);
}

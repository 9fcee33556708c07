import { createFetch, type Fetch } from "../../base/network.ts";
import { cut } from "../../base/text/text.ts";
import { type EndpointOptions, withoutSecrets } from "../../base/types/endpoint.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";

/**
 * A `fetch` for the SDKs of services, whose refusals have one form, `{"error": {"type", "message"}}`: the SDKs drop the
 * words of other forms. A 404 names the URL that was asked, since a wrong base URL is its usual cause, and a 401 where
 * the `credentials` came from. Redirects are refusals: a key must not follow one to another host.
 */
export function createServiceFetch(env: EndpointOptions["env"], credentials?: string): Fetch {
  const fetch = createFetch(env);
  return async (url, init) => {
    const response = await fetch(url, init);
    const { status, headers } = response;
    if (status < 300) return response;
    const asked = String(url);
    const target = status < 400 ? (headers.get("location") ?? "") : undefined;
    const refusal = target === undefined ? readRefusal(await response.text()) : readRedirect(target, asked);
    const isLost = status === 404 || status === 405;
    const source = status === 401 && credentials ? `; check ${credentials}` : "";
    const more = isLost ? ` (asked for ${withoutSecrets(asked)}${hintVersion(asked)})` : source;
    const error = { ...refusal, message: refusal.message + more };
    return { ...response, text: async () => JSON.stringify({ type: "error", error }) };
  };
}

function readRedirect(location: string, url: string): Refusal {
  const target = location !== "" && URL.canParse(location, url) ? ` to ${withoutSecrets(new URL(location, url))}` : "";
  return { message: `redirects${target}; requests do not follow, so change the base URL` };
}

/** A hint on a URL that lacks the version of an API, or has it twice. */
export function hintVersion(url: string): string {
  if (/(\/v\d)\1\//.test(url)) return "; it has the version twice";
  if (!/\/v\d|\/openai\/deployments\//.test(url)) return "; most base URLs end in /v1";
  return /\/openai\/deployments\/(?!.*\bapi-version=)/i.test(url) ? "; Azure's base URLs end in ?api-version=..." : "";
}

/** Characters of a page that are searched for its words. */
const maxPage = 10_000;

type Refusal = { type?: string; message: string; retryAfterMs?: number };

/**
 * Reads the words of a refusal, whatever its form: `{"error": {"message"}}`, an error that is a text, a list of errors
 * (Google), `message` (Mistral, Cohere), `detail` with the location of each fault (FastAPI: vLLM, TGI), issues of zod
 * with their paths (OpenRouter), `errors`, a problem of RFC 9457, the words of a provider behind a router (OpenRouter's
 * `metadata.raw`, or JSON as a text), an HTML page, a text, or nothing.
 */
export function readRefusal(body: string): Refusal {
  let parsed: Json;
  try {
    parsed = JSON.parse(body.replace(/^\uFEFF|^(?:event: .*\n)?data: /, "")) as Json;
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
  const { type, status, code, message, metadata, param, msg = message, loc = value.path } = value;
  const details = Array.isArray(value.details) ? value.details.filter(isJsonObject) : [];
  // RetryInfo of Google, in seconds.
  const [seconds] = details.flatMap(({ retryDelay }) => /^([\d.]+)s$/.exec(String(retryDelay))?.[1] ?? []);
  const { retryAfterMs = Number(seconds) * 1000 } = value;
  const isTelling = (one?: Json) =>
    typeof one === "string" && !/^(?:error|none|\d+|https?:.*|about:blank|)$/i.test(one);
  const kind = [type, status, code].find(isTelling);
  if (typeof msg === "string" && Array.isArray(loc)) {
    const location = loc.filter((step) => step !== "body").join(".");
    return { message: location === "" ? msg : `${location}: ${msg}` };
  }
  if (typeof message === "string" && message.trim() !== "") {
    const more = [findRefusal(isJsonObject(metadata) ? metadata.raw : undefined)?.message, ...listViolations(details)];
    const nested = readNested(message);
    if (typeof param === "string" && /\d/.test(param)) more.push(param);
    const all = [nested.message, ...more.filter((one) => one !== undefined && !nested.message.includes(one))];
    const wait = Number(retryAfterMs) > 0 && { retryAfterMs: Number(retryAfterMs) };
    return { ...(typeof kind === "string" && { type: kind }), ...wait, ...nested, message: all.join(": ") };
  }
  for (const key of wordKeys) {
    const found = findRefusal(value[key]);
    if (found && key === "error" && typeof value.error_description === "string")
      return { type: found.message, message: value.error_description };
    if (found) return found;
  }
  return message === "" && typeof kind === "string" ? { message: kind } : undefined;
}

/** Gateways pass on the body of a provider as a text. */
const readNested = (text: string) => (/^\s*[[{]/.test(text) ? readRefusal(text) : { message: text });

/** Which fields a service of Google refuses, in the details of its error. */
function listViolations(details: readonly JsonObject[]): string[] {
  const violations = details.flatMap((one) => (Array.isArray(one.fieldViolations) ? one.fieldViolations : []));
  return violations.filter(isJsonObject).map(({ field, description }) => `${field}: ${description}`);
}

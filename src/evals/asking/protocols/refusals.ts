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
 * (Google), `message` (Mistral, Cohere), `detail` (FastAPI: vLLM, TGI), `errors`, the words of a provider behind a router
 * (OpenRouter's `metadata.raw`), an HTML page, a text, or nothing.
 */
export function readRefusal(body: string): Refusal {
  let parsed: Json;
  try {
    parsed = JSON.parse(body) as Json;
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

/** The words of a refusal in JSON; undefined if it has none. */
export function findRefusal(value: Json | undefined): Refusal | undefined {
  if (typeof value === "string") return value.trim() === "" ? undefined : { message: value };
  if (Array.isArray(value)) return value.map(findRefusal).find((one) => one !== undefined);
  if (!isJsonObject(value)) return undefined;
  const { type, status, code, message, metadata } = value;
  const kind = [type, status, code].find((one) => typeof one === "string" && one !== "error" && !/^\d+$/.test(one));
  if (typeof message === "string") {
    const raw = isJsonObject(metadata) && typeof metadata.raw === "string" ? readRefusal(metadata.raw).message : "";
    return {
      ...(typeof kind === "string" && { type: kind }),
      message: raw === "" ? message : `${message}: ${raw}`,
    };
  }
  for (const key of ["error", "errors", "detail", "message", "msg", "error_description", "fault", "faultstring"]) {
    const found = findRefusal(value[key]);
    if (found) return found;
  }
  return undefined;
}

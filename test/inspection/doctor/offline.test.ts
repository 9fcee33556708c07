import { expect, it } from "vitest";
import { findProtocol } from "../../../src/evals/asking/hosts/passThrough.ts";
import { startOfflineProvider } from "../../../src/evals/inspection/doctor/doctor.ts";

it("answers a request of every API with a complete reply, and keeps the request", async () => {
  const provider = await startOfflineProvider();
  const paths = ["/v1/messages", "/v1/responses", "/v1/chat/completions"];
  for (const path of paths) {
    const response = await fetch(provider.url + path, { method: "POST", body: `{"path":"${path}"}` });
    expect(findProtocol(path)?.readReply(await response.text())).toMatchObject({
      text: "Done.",
      calls: [],
      stop: "done",
    });
  }
  expect(provider.bodies.map((body) => JSON.parse(body).path)).toEqual(paths);
  expect((await fetch(`${provider.url}/v1/models`)).status).toBe(404);
  await provider.close();
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serve } from "./server.ts";

test("GET /api/executors tells what is registered and what could not be; one by its name; none by a wrong one", async () => {
  const { call, context } = await serve();
  const folder = context.home.paths.executorsFolder;
  await writeFile(join(folder, "check.sh"), "#!/bin/sh\n# nightshift: timeout=5\n# param host string\n");
  await writeFile(join(folder, "bad.sh"), "#!/bin/sh\n# nightshift: tiemout=5\n");

  const all = await call("GET", "/api/executors");
  const one = await call("GET", "/api/executors/check");
  const none = await call("GET", "/api/executors/chekc");

  expect(all.json.executors.map(({ name }: { name: string }) => name)).toEqual([
    "check",
    "email_notify",
    "http",
    "script",
    "shell_exec",
  ]);
  expect(all.json.problems).toEqual([
    { source: "executors/bad.sh:2", error: 'unknown key "tiemout"; did you mean "timeout"?' },
  ]);
  expect(one.json).toMatchObject([
    { name: "check", kind: "script", timeoutMs: 5_000, input: { required: ["host"] } },
  ]);
  expect(none).toMatchObject({ status: 422, json: { error: { code: "executor.unknown" } } });
});

test("a rollout over HTTP: begun, looked at, given more, ended, taken away; a bad share is refused", async () => {
  const { call, context } = await serve();
  const folder = context.home.paths.executorsFolder;
  await writeFile(join(folder, "one.sh"), "#!/bin/sh\n# nightshift: name=sorting version=v1\n");
  await writeFile(join(folder, "two.sh"), "#!/bin/sh\n# nightshift: name=sorting version=v2\n");
  const path = "/api/executors/sorting/rollout";

  const begun = await call("PUT", path, { body: { version: "v2", traffic: 20, bounds: { minSamples: 5 } } });
  expect(begun).toMatchObject({
    status: 200,
    json: {
      ...{ executor: "sorting", state: "running", version: "v2", baseline: "v1", traffic: 20, reason: null },
      bounds: { minSamples: 5, maxMoreFailures: 10, maxSlowdown: 1.5 },
      attempts: [{ version: "v2", attempts: 0, medianMs: null }, { version: "v1" }],
    },
  });
  expect((await call("PUT", path, { body: { version: "v2", traffic: 101 } })).status).toBe(400);
  expect((await call("PUT", path, { body: { version: "v2", traffic: 50 } })).json.bounds.minSamples).toBe(5);
  expect((await call("GET", "/api/rollouts")).json).toMatchObject([{ executor: "sorting", traffic: 50 }]);
  expect((await call("POST", `${path}/finish`)).json).toMatchObject({ state: "finished" });
  expect((await call("POST", `${path}/stop`)).json).toMatchObject({ state: "stopped" });
  expect((await call("DELETE", path)).json).toMatchObject({ state: "stopped" });
  expect((await call("GET", path)).status).toBe(404);
});

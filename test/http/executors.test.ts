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

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tickOnce } from "../../src/app/node.ts";
import { serve } from "./server.ts";

const GREET = `
params: {who: {type: string}}
tasks:
  - {id: say, shell: "printf 'hello %s' {params.who}", effects: idempotent}
  - {id: again, shell: "printf '%s!' {say.result.stdout}", dependsOn: [say], effects: idempotent}
outputs: {message: "{{ again.result.stdout }}"}
`;

test("workflows: listed with their mistakes, drawn, run, and drawn as they went; a path is refused", async () => {
  const { call, context } = await serve();
  const folder = context.home.paths.workflowsFolder;
  await writeFile(join(folder, "greet.yaml"), GREET);
  await writeFile(join(folder, "broken.yaml"), "tasks: [{id: a, executor: nothing}]\n");

  expect((await call("GET", "/api/workflows")).json).toEqual([
    {
      name: "broken",
      description: null,
      tasks: 0,
      params: [],
      error: expect.stringContaining('1:27: unknown executor "nothing"'),
    },
    { name: "greet", description: null, tasks: 2, params: ["who"], error: null },
  ]);
  const missing = await call("POST", "/api/workflows/greet/runs", { body: {} });
  expect([missing.status, missing.json.error.message]).toEqual([400, 'greet: the param "who" is missing']);

  const queued = await call("POST", "/api/workflows/greet/runs", { body: { params: { who: "Ada; id" } } });
  expect([queued.status, queued.headers.get("location")]).toEqual([202, `/api/runs/${queued.json.id}`]);
  await tickOnce({ context });
  const run = (await call("GET", `/api/runs/${queued.json.id}`)).json;
  expect(run).toMatchObject({ state: "succeeded", kind: "workflow", outcome: { output: "hello Ada; id!" } });

  const graph = await call("GET", `/api/workflows/greet/graph?run=${run.id}`);
  expect(graph.json.graph).toContain("say (shell): succeeded");
  expect((await call("GET", "/api/workflows/greet/graph?format=svg")).json.graph).toMatch(/^<svg /);
  expect((await call("GET", "/api/workflows/greet/graph?format=gif")).status).toBe(400);
  expect((await call("GET", "/api/workflows/..%2Fgreet/graph")).status).toBe(404);
});

test("a task is queued for an executor, and a failed workflow is run again from a task", async () => {
  const { call, context } = await serve();
  await writeFile(
    join(context.home.paths.workflowsFolder, "flaky.yaml"),
    `tasks:
  - {id: a, shell: "echo '{\\"n\\": 1}'", effects: idempotent}
  - {id: b, shell: "test -e ${context.home.paths.root}/mended && echo '{\\"n\\": 2}'", dependsOn: [a], retry: 0}
outputs: {n: "{{ a.result.n + b.result.n }}"}
`,
  );
  const task = await call("POST", "/api/executors/shell_exec/tasks", {
    body: { params: { command: "echo hi" } },
  });
  const flaky = await call("POST", "/api/workflows/flaky/runs");
  await tickOnce({ context });

  expect((await call("GET", `/api/runs/${task.json.id}`)).json).toMatchObject({
    state: "succeeded",
    queue: "default",
  });
  expect((await call("GET", `/api/runs/${flaky.json.id}`)).json).toMatchObject({ state: "failed" });
  await writeFile(join(context.home.paths.root, "mended"), "");
  const retry = await call("POST", `/api/runs/${flaky.json.id}/retry`, { body: { from: "b" } });
  await tickOnce({ context });
  const run = (await call("GET", `/api/runs/${retry.json.id}`)).json;
  expect(run).toMatchObject({ state: "succeeded", outcome: { result: { n: 3 } } });
  const tree = (await call("GET", `/api/runs/${retry.json.id}/tree`)).json;
  expect(tree.children.map((child: { unit: string }) => child.unit)).toEqual(["b"]);
  const unknown = await call("POST", "/api/executors/nothing/tasks", { body: {} });
  expect([unknown.status, unknown.json.error.code]).toEqual([404, "input.not-found"]);
});

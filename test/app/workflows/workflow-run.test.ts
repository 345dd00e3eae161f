import { describe, expect, test } from "vitest";
import { WorkflowBench } from "./bench.ts";

const CHAIN = `
name: chain
params: {line: {type: string, default: A}}
tasks:
  - {id: a, executor: echo, params: {line: "{params.line}", n: 1}}
  - {id: b, executor: echo, params: {before: "{{ a.result }}"}, dependsOn: [a]}
  - {id: c, executor: echo, params: {n: "{{ b.result.before.n + 1 }}"}, dependsOn: [b]}
outputs: {n: "{{ c.result.n }}", line: "{{ b.result.before.line }}"}
`;

describe("a workflow", () => {
  test("runs its tasks in order, hands values on with their types, and each is a run of its tree", async () => {
    const bench = await WorkflowBench.open();
    await bench.node();

    const { id } = await bench.submit(CHAIN, { line: "B" });
    const run = await bench.ended(id);

    expect(run).toMatchObject({ state: "succeeded", kind: "workflow" });
    expect(run.outcome).toMatchObject({ result: { n: 2, line: "B" }, output: "n: 2\nline: B" });
    expect(await bench.tasks(id)).toEqual({ a: "succeeded", b: "succeeded", c: "succeeded" });
  });
});

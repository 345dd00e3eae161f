import { describe, expect, test } from "vitest";
import { isFault } from "../../src/kernel/errors.ts";
import { checkWorkflow, requireSound } from "../../src/orchestrate/check/check-workflow.ts";
import { giveParams } from "../../src/orchestrate/check/param-issues.ts";
import type { CheckTables, ExecutorContract } from "../../src/orchestrate/check/tables.ts";
import { renderMermaid, renderTextGraph } from "../../src/orchestrate/graph/render-graph.ts";
import type { Resources } from "../../src/records/workflow.ts";
import { parseWorkflowDocument } from "../../src/records/workflow-document.ts";
import { planOf } from "./runs.ts";

const machine = (over: Partial<Resources>): Resources => ({
  cpu: 4,
  memoryMb: 8_000,
  gpu: 0,
  gpuMemoryMb: 0,
  labels: [],
  ...over,
});
const contracts: ExecutorContract[] = [
  {
    name: "cv",
    input: {
      type: "object",
      additionalProperties: false,
      required: ["path"],
      properties: {
        path: { type: "string" },
        limit: { type: "integer", minimum: 1 },
        mode: { enum: ["fast", "fine"] },
      },
    },
    output: {
      type: "object",
      additionalProperties: false,
      properties: { score: { type: "number" }, name: { type: "string" } },
    },
  },
  { name: "cv_cpu" },
  { name: "shell_exec" },
];
const tables: CheckTables = {
  executors: new Map(contracts.map((contract) => [contract.name, contract])),
  queues: ["high", "low"],
  machines: [machine({}), machine({ gpu: 1, gpuMemoryMb: 4_096, labels: ["line-a"] })],
};

/** The issues as a person reads them. */
function issuesOf(yaml: string, given: CheckTables = tables): string[] {
  const { source } = parseWorkflowDocument(yaml, { file: "w.yaml" });
  try {
    requireSound(planOf(yaml), source, given);
  } catch (error) {
    if (isFault(error)) return error.message.split("\n");
    throw error;
  }
  return [];
}

describe("W2: what is wrong with a workflow is said before it runs", () => {
  test("all at once, each with line and column", () => {
    expect(
      issuesOf(`tasks:
  - id: a
    executor: cvv
    queue: hihg
  - id: a
    shell: ls
  - id: run
    shell: ls
    dependsOn: [b]
  - id: c
    executor: cv
    params: {pathh: x, limit: "3", mode: fin}
    onSuccess: [a]
`),
    ).toEqual([
      'w.yaml:3:15: unknown executor "cvv"; did you mean "cv"?',
      'w.yaml:4:12: unknown queue "hihg"; did you mean "high"?',
      'w.yaml:5:9: two tasks are called "a"; rename one of them',
      'w.yaml:7:9: a task cannot be called "run"; the name means something in templates; write run_task',
      'w.yaml:9:17: no task is called "b"; did you mean "a"?',
      "w.yaml:12:13: params.path is missing; add it",
      'w.yaml:12:14: unknown parameter "pathh"; did you mean "path"?',
      'w.yaml:12:31: params.limit must be integer, not string; write 3, not "3"',
      'w.yaml:12:42: params.mode must be one of "fast", "fine"; did you mean "fine"?',
    ]);
  });

  test("a circle over both kinds of edge is named with its path", () => {
    const [issue, ...others] = issuesOf(`tasks:
  - {id: a, shell: x, onSuccess: [b]}
  - {id: b, shell: x}
  - {id: c, shell: x, dependsOn: [b], onFailure: [a]}`);

    expect(issue).toContain("tasks wait for each other: a → b → c → a; remove one of its edges");
    expect(others).toEqual([]);
  });

  test("a long chain is no circle and overflows nothing", () => {
    const tasks = Array.from(
      { length: 3_000 },
      (_, at) => `  - {id: t${at}, shell: x, dependsOn: [${at === 0 ? "" : `t${at - 1}`}]}`,
    );

    expect(issuesOf(`tasks:\n${tasks.join("\n")}`)).toEqual([]);
  });

  test.each([
    ['params: {path: "{b.result.name}"}', '"b" is not upstream of "c" (at character 2)'],
    ['params: {path: "{{ nobody.x }}"}', 'nothing is called "nobody"'],
    ['params: {path: "{{ a.reslt }}"}', 'there is no a.reslt (at character 4); did you mean "result"?'],
    ['params: {path: "{{ a.result.gone }}"}', 'the result of "a" has no gone'],
    [
      'params: {path: "{{ params.lines }}"}',
      'there is no params.lines (at character 4); did you mean "line"?',
    ],
    ['params: {path: "{{ error.message }}"}', '"error" exists only in a task that a failure starts'],
    ['params: {path: "{{ item }}"}', '"item" exists only in a foreach'],
    ['params: {path: "{{ a.result.score }}"}', "params.path must be string, not number"],
    ['params: {path: x, limit: "{{ a.result.name }}"}', "params.limit must be integer, not string"],
    ["params: {path: x}, when: a.result.score >", "not an expression"],
    ["params: {path: x}, when: b.result.score > 1", '"b" is not upstream of "c"'],
    ['params: {path: x}, outputs: {s: "score"}', '"score" is no path into a result'],
    [
      "params: {path: x}, resources: {gpuMemoryMb: 8192}",
      'task "c" needs 8192 MB of GPU memory, no machine has more than 4096',
    ],
    ["params: {path: x}, resources: {labels: [line-b]}", 'needs the label "line-b", no machine has it'],
    [
      "params: {path: x}, resources: {cpu: 4, labels: [line-a], gpu: 1, memoryMb: 8001}",
      "needs 8001 MB of memory",
    ],
  ])("%s", (more, expected) => {
    const issues = issuesOf(`params: {line: {type: string}}
tasks:
  - {id: a, executor: cv, params: {path: "{params.line}"}}
  - {id: b, executor: cv, params: {path: x}}
  - {id: c, executor: cv, dependsOn: [a], ${more}}`);

    expect(issues).toHaveLength(1);
    expect(issues[0]).toContain(expected);
    expect(issues[0]).toMatch(/^w\.yaml:5:\d+: /);
  });

  test("a reference in a shell command is checked like any other", () => {
    expect(issuesOf('tasks: [{id: a, shell: "echo {{ nobody }}"}]')[0]).toContain(
      'nothing is called "nobody"',
    );
    expect(
      issuesOf('tasks: [{id: a, executor: shell_exec, params: {command: "echo `{uuid}`"}}]')[0],
    ).toContain("cannot stand inside backquotes");
  });

  test("a working folder may hold templates, checked like any other", () => {
    expect(issuesOf('params: {repo: {}}\ntasks: [{id: a, shell: pwd, workdir: "{params.repo}"}]')).toEqual(
      [],
    );
    expect(issuesOf('tasks: [{id: a, shell: pwd, workdir: "{{ nobody }}"}]')[0]).toContain(
      'nothing is called "nobody"',
    );
  });

  test("W5: an impossible request with a fallback is accepted as degraded, and said", () => {
    const { issues, warnings } = checkWorkflow(
      planOf("tasks: [{id: a, executor: cv, params: {path: x}, resources: {gpu: 2}, fallback: [cv_cpu]}]"),
      tables,
    );

    expect(issues).toEqual([]);
    expect(warnings).toEqual([
      'Task "a" needs 2 GPUs, no machine has more than 1: it will run degraded, as cv_cpu.',
    ]);
  });

  test("an edge between the graph and finally is refused; a look-alike of a template is doubted", () => {
    expect(issuesOf("finally: z\ntasks: [{id: a, shell: x, onSuccess: z}, {id: z, shell: x}]")[0]).toContain(
      'an edge joins "a" (the graph) and "z" (finally)',
    );
    expect(
      checkWorkflow(planOf('tasks: [{id: a, executor: x, params: {v: "{b.result.x}"}}]')).warnings,
    ).toEqual(['Task "a": {b.result.x} names no task and stays as it is.']);
  });

  test("a run's params are completed and judged", () => {
    const { workflow } = planOf(
      "params: {line: {type: string, enum: [A, B], default: A}, n: {type: integer}}\ntasks: [{id: a, shell: x}]",
    );

    expect(giveParams(workflow, { n: 1 })).toEqual({ ok: true, params: { line: "A", n: 1 } });
    expect(giveParams(workflow, { line: "C", m: 1 })).toMatchObject({
      ok: false,
      issues: [
        { what: "n is missing" },
        { what: 'line must be one of "A", "B"' },
        { what: 'unknown parameter "m"' },
      ],
    });
  });
});

describe("a graph for people", () => {
  const plan = planOf(`name: line
finally: z
tasks:
  - {id: a, executor: plc, onSuccess: [b, c], onFailure: [c]}
  - {id: b, shell: x, foreach: {items: [1]}}
  - {id: c, shell: x, dependsOn: [b]}
  - {id: z, shell: x}`);

  test("as a tree of text", () => {
    expect(renderTextGraph(plan)).toBe(`line
├─ a (plc)
│  ├─ [on success] b (shell, for each)
│  │  └─ c (shell)
│  ├─ [on success] c (shell) ↑
│  └─ [on failure] c (shell) ↑
└─ z (shell, finally)
`);
  });

  test("as Mermaid", () => {
    expect(renderMermaid(plan)).toBe(`flowchart TD
  t_a["a (plc)"]
  t_b["b (shell, for each)"]
  t_c["c (shell)"]
  subgraph finally_box["finally"]
    t_z["z (shell, finally)"]
  end
  t_a -->|on success| t_b
  t_a -->|on success| t_c
  t_a -->|on failure| t_c
  t_b --> t_c
`);
  });
});

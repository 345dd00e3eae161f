import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Fault, isFault } from "../../src/kernel/errors.ts";
import { formatWorkflowDocument, parseWorkflowDocument } from "../../src/records/workflow-document.ts";
import { resolveWorkflow } from "../../src/records/workflow-resolve.ts";

const read = (text: string) => parseWorkflowDocument(text, { file: "workflows/line-a.yaml" });

function faultOf(text: string): Fault {
  try {
    read(text);
  } catch (error) {
    if (isFault(error)) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

const seed = () =>
  readFile(join(import.meta.dirname, "../orchestrate/fixtures/inspection_workflow.yaml"), "utf8");

describe("a workflow document", () => {
  test("W2: the seed's inspection line is read as it is written there, in our spelling", async () => {
    const { document, warnings } = read(await seed());

    expect(warnings).toEqual([]);
    expect(document.name).toBe("auto_inspection_v2");
    expect(document.tasks.map((task) => task.id)).toHaveLength(7);
    expect(document.tasks[3]).toEqual({
      id: "t4_audio_analyze",
      executor: "audio_analyze",
      params: { audio_device: "hw:1,0" },
      timeout: "15s",
      onSuccess: ["t6_decision"],
      onFailure: ["t6_decision"],
    });
  });

  test("W3: the seed's defaults fill what a task leaves out", async () => {
    const [task] = resolveWorkflow(read(await seed()).document).tasks;

    expect(task).toMatchObject({
      timeoutMs: 8_000,
      retry: { max: 3, delayMs: 1_000, backoff: 2 },
      effects: "external",
      join: "any",
    });
    expect(resolveWorkflow(read("tasks: [{id: a, shell: ls}]").document).tasks[0]?.timeoutMs).toBe(30_000);
  });

  test("what it prints it reads back unchanged", async () => {
    const { document } = read(await seed());

    expect(read(formatWorkflowDocument(document)).document).toEqual(document);
  });

  test("W3: bare numbers are seconds, `gpu: true` is one card, one id stands for a list", () => {
    const { document } = read(
      `
defaults: {timeout: 1.5, retry: 2}
timeout: 600
tasks:
  - id: a
    shell: ls
    resources: {gpu: true, memory_mb: 512, labels: line-a}
    retry: {max_retries: 3, backoff_factor: 2, delay: 1, jitter: true}
    wait_less: 1
`
        .replace("    wait_less: 1\n", "")
        .concat("    depends_on: b\n  - {id: b, wait: 30, queue_timeout: 5}\n"),
    );

    expect(document).toEqual({
      name: "line-a",
      defaults: { timeout: "1s500ms", retry: { max: 2 } },
      timeout: "10m",
      tasks: [
        {
          id: "a",
          shell: "ls",
          dependsOn: ["b"],
          resources: { gpu: 1, memoryMb: 512, labels: ["line-a"] },
          retry: { max: 3, backoff: 2, delay: "1s", jitter: true },
        },
        { id: "b", wait: { for: "30s" }, queueTimeout: "5s" },
      ],
    });
  });

  test("W1: other tools' spellings are read: steps, a map of tasks, needs, command, run", () => {
    const { document } = read("steps:\n  build: {run: make}\n  check: {needs: build, command: make test}\n");

    expect(document.tasks).toEqual([
      { id: "build", shell: "make" },
      { id: "check", shell: "make test", dependsOn: ["build"] },
    ]);
  });

  test("keys inside params keep their spelling", () => {
    const { document } = read(
      "tasks: [{id: a, executor: x, params: {on_success: 1, dependsOn: {max_delay: 2}}}]",
    );

    expect(document.tasks[0]?.params).toEqual({ on_success: 1, dependsOn: { max_delay: 2 } });
  });

  test("every mistake is named at once, with line and column and what to write", () => {
    const fault = faultOf(`name: line
tasks:
  - id: a
    shell: ls
    timeout: "30"
    on_sucess: [b]
  - id: b
    retry: "3"
  - id: c
    shell: ls
    script: x.sh
  - {id: "9x", shell: ls}
`);

    expect(fault.code).toBe("workflow.invalid");
    expect(fault.message.split("\n")).toEqual([
      'workflows/line-a.yaml:5:14: tasks.0.timeout is a number in quotes; write 30, not "30"',
      'workflows/line-a.yaml:6:5: unknown key "on_sucess"; did you mean "onSuccess"?',
      'workflows/line-a.yaml:7:5: task "b" names no work; write one of executor, shell, script, agent, http, workflow, wait, approval',
      'workflows/line-a.yaml:8:12: tasks.1.retry is a number in quotes; write 3, not "3"',
      'workflows/line-a.yaml:11:5: task "c" names shell and script; keep exactly one',
      "workflows/line-a.yaml:12:10: tasks.3.id is no task id; use letters, digits and _, beginning with a letter, at most 64",
    ]);
  });

  test("places are those of the text where it uses other spellings", () => {
    const fault = faultOf("steps:\n  build:\n    run: make\n    needs: [1]\n");

    expect(fault.message).toMatch(/^workflows\/line-a\.yaml:4:13: /);
  });

  test.each([
    ["params: {body: {error}}", '1:45: YAML reads this template as a map; quote the template: "{error}"'],
    [
      "params: {v: {a.result.x}}",
      '1:42: YAML reads this template as a map; quote the template: "{a.result.x}"',
    ],
    [
      "params: {v: [{a.result ?? 1}]}",
      '1:43: YAML reads this template as a map; quote the template: "{a.result ?? 1}"',
    ],
  ])("W2: an unquoted template is refused: %s", (params, expected) => {
    expect(faultOf(`tasks: [{id: a, executor: x, ${params}}]`).message).toContain(expected);
  });

  test("W2: a map that a person wrote with a colon is data, and so is an unknown name in braces", () => {
    const { document } = read(
      "tasks: [{id: a, executor: x, params: {p: {error: null}, q: {error: }, r: {set}}}]",
    );

    expect(document.tasks[0]?.params).toEqual({ p: { error: null }, q: { error: null }, r: { set: null } });
  });

  test("W2: an unquoted cron gets the hint to quote it, a quoted one the hint where it belongs", () => {
    expect(faultOf("schedule: @daily\ntasks: [{id: a, shell: ls}]").hint).toBe(
      'Quote the schedule: "@daily".',
    );
    expect(faultOf('schedule: "@daily"\ntasks: [{id: a, shell: ls}]').message).toContain(
      "a workflow has no schedule",
    );
  });

  test("an empty file and one without tasks are refused with what to write", () => {
    expect(faultOf("").message).toContain("the file is empty; write a workflow, at least `tasks:`");
    expect(faultOf("tasks: []").message).toContain("tasks is empty; write at least one task");
  });
});

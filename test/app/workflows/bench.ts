// A home with workflows and executors of the test's own, and a node that runs them.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Context } from "../../../src/app/context.ts";
import type { RunDocument } from "../../../src/app/documents.ts";
import { startNode } from "../../../src/app/node.ts";
import type { NightshiftNode, NodeOptions } from "../../../src/app/node-options.ts";
import type { OpenOptions } from "../../../src/app/open-context.ts";
import { type RunTreeDocument, runTree, showRun } from "../../../src/app/runs.ts";
import { waitForChange } from "../../../src/app/wait-for-change.ts";
import { submitWorkflow } from "../../../src/app/workflows/submit.ts";
import { planChecked, readWorkflow } from "../../../src/app/workflows/workflow-source.ts";
import { type DefinedExecutor, defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { executorOfDefinition } from "../../../src/orchestrate/executors/from-definition.ts";
import type { ExecutorRegistry } from "../../../src/records/executor.ts";
import { testContext } from "../../support/home.ts";
import { tempFolder } from "../../support/temp.ts";

export async function registryOf(...definitions: DefinedExecutor[]): Promise<ExecutorRegistry> {
  const executors = await Promise.all(
    definitions.map((definition) => executorOfDefinition(definition, { source: "test", notes: [] })),
  );
  return {
    list: async () => executors,
    named: async (name) => executors.filter((one) => one.name === name),
    problems: async () => [],
    close: async () => {},
  };
}

/** The home's own executors, and the test's. */
function beside(own: ExecutorRegistry, added: ExecutorRegistry): ExecutorRegistry {
  return {
    list: async () => [...(await own.list()), ...(await added.list())],
    named: async (name) => [...(await added.named(name)), ...(await own.named(name))],
    problems: () => own.problems(),
    close: async () => {},
  };
}

/** Gives back its params; `fail: text` fails. */
export const echo = defineExecutor({
  name: "echo",
  effects: "none",
  run(params) {
    if (typeof params.fail === "string") throw new Error(params.fail);
    return params;
  },
});

/** Begins when it is called and ends when the test says so. */
export function gated(name: string, effects: "none" | "idempotent" | "external") {
  const calls: { attempt: number; key: string; end(result: unknown): void; fail(message: string): void }[] =
    [];
  let called = () => {};
  const executor = defineExecutor({
    name,
    effects,
    run: (_params, { attempt, idempotencyKey, signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("told to stop")), { once: true });
        calls.push({
          attempt,
          key: idempotencyKey,
          end: resolve,
          fail: (message) => reject(new Error(message)),
        });
        called();
      }),
  });
  const whenCalled = async (count: number) => {
    while (calls.length < count)
      await new Promise<void>((resolve) => {
        called = resolve;
      });
    const call = calls[count - 1];
    if (!call) throw new Error("not called");
    return call;
  };
  return { executor, calls, whenCalled };
}

export class WorkflowBench {
  readonly context: Context;
  readonly executors: ExecutorRegistry;
  constructor(context: Context, executors: ExecutorRegistry) {
    this.context = context;
    this.executors = executors;
  }

  static async open(
    definitions: readonly DefinedExecutor[] = [],
    { config, ...options }: Partial<OpenOptions> & { config?: string } = {},
  ): Promise<WorkflowBench> {
    const path = options.path ?? join(await tempFolder(), "home");
    if (config !== undefined) {
      await mkdir(path, { recursive: true, mode: 0o700 });
      await writeFile(join(path, "config.yaml"), config, { mode: 0o600 });
    }
    const context = await testContext({ ...options, path });
    return new WorkflowBench(context, beside(context.executors, await registryOf(echo, ...definitions)));
  }

  async node(options: Partial<NodeOptions> = {}): Promise<NightshiftNode> {
    const node = await startNode({ context: this.context, executors: this.executors, ...options });
    onTestFinished(() => node.stop({ graceMs: 0 }));
    return node;
  }

  async write(name: string, yaml: string): Promise<void> {
    const folder = this.context.home.paths.workflowsFolder;
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${name}.yaml`), yaml);
  }

  /** Checks and queues a workflow written as YAML. */
  async submit(yaml: string, params: Record<string, unknown> = {}): Promise<RunDocument> {
    await this.write("w", yaml);
    const deps = { context: this.context, executors: this.executors };
    const planned = await planChecked(deps, await readWorkflow(this.context, { file: "w" }));
    return submitWorkflow(deps, planned, { params });
  }

  async until(runId: string, isDone: (run: RunDocument) => boolean): Promise<RunDocument> {
    const signal = AbortSignal.timeout(15_000);
    for (;;) {
      const run = await showRun(this.context, runId);
      if (isDone(run)) return run;
      signal.throwIfAborted();
      await waitForChange(this.context, { atMostMs: 50, signal });
    }
  }

  ended(runId: string): Promise<RunDocument> {
    return this.until(runId, (run) => run.finishedAt !== null);
  }

  /** Each task's rows by unit: `state` or `state: reason`, attempts joined by a comma. */
  async tasks(runId: string): Promise<Record<string, string>> {
    const tree = await runTree(this.context, runId);
    const rows = [...tree.children].sort((a, b) => a.attempt - b.attempt);
    const words: Record<string, string> = {};
    for (const row of rows) {
      const unit = unitOf(row);
      const word = row.reason === null || row.reason === "silent" ? row.state : `${row.state}: ${row.reason}`;
      words[unit] = words[unit] === undefined ? word : `${words[unit]}, ${word}`;
    }
    return words;
  }
}

export const unitOf = (row: RunTreeDocument) => row.dedupeKey.split("/").slice(2).join("/");

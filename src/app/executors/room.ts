// What executors run with. A context has one set of registrations; the node that runs in this process says how its
// commands, agents and workflows are run.

import type { ScriptDeps } from "../../execute/run-script.ts";
import type { Turns } from "../../orchestrate/executors/serial-executor.ts";
import type { ExecutorCall } from "../../records/executor.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { Context } from "../context.ts";
import type { AgentOptions } from "../node-options.ts";
import type { PythonWorkers } from "./python-workers.ts";
import type { ScanAnswer, ScanRequest } from "./scan-python.ts";

/** Runs a workflow inside the run of a task: given by who runs workflows. */
export type RunWorkflow = (
  work: { workflow: string; params: Readonly<Record<string, unknown>> },
  call: ExecutorCall,
) => Promise<Outcome>;

/** Given by the node. */
export interface Serving {
  commands: ScriptDeps;
  agent: AgentOptions;
  /** Undefined = workflow executors are refused. */
  workflow?: RunWorkflow | undefined;
}

export interface Room {
  context: Context;
  python: PythonWorkers;
  /** Reads Python files, by whichever Python is here. */
  scan(request: ScanRequest): Promise<ScanAnswer | string>;
  turns: Turns;
  /** Of the node in this process; without one, what a command alone needs. */
  serving(): Serving;
}

/** What a registration does for one call. Never rejects. */
export type Attempt = (call: ExecutorCall) => Promise<Outcome>;

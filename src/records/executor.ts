// An executor: a named unit that can do a task (DESIGN §12), registered once and called for each of its tasks.
//
// A name may have several registrations: versions side by side (rollout), or the same work with other resources (GPU and
// CPU). Who makes them: orchestrate/executors; who calls them: app/, for the node.

import type { Clock } from "../kernel/time.ts";
import type { Effects, RetryDocument } from "./job.ts";
import type { Outcome } from "./outcome.ts";
import type { RunContext } from "./run-context.ts";
import type { Resources } from "./workflow.ts";

export const EXECUTOR_KINDS = [
  "function",
  "script",
  "python",
  "shell",
  "http",
  "model",
  "agent",
  "workflow",
  "mqtt",
  "serial",
  "deliver",
  "remote",
] as const;

export type ExecutorKind = (typeof EXECUTOR_KINDS)[number];

/** A JSON Schema, as far as orchestrate/value-schema.ts knows it; what it does not know is not judged. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a registration promises and asks for. Absent = it does not say: the task's or the orchestrator's default holds. */
export interface ExecutorContract {
  input: JsonSchema | undefined;
  output: JsonSchema | undefined;
  /** Per attempt; 0 = no limit. */
  timeoutMs: number | undefined;
  retry: RetryDocument | undefined;
  resources: Resources;
  /** What a repetition means: decides what a crash means (L6). Default `external`. */
  effects: Effects;
  /** Params whose text a shell runs: values inside them travel as variables, never as text (DESIGN §12). */
  shellParams: readonly string[];
}

export interface Executor {
  name: string;
  /** Default `1`. Together with `name` and `resources` it tells registrations apart. */
  version: string;
  kind: ExecutorKind;
  description: string | undefined;
  /** Where it was defined, for people: `executors/check.py`, `config.yaml`, `built in`, `this program`. */
  source: string;
  contract: ExecutorContract;
  /**
   * Runs in this process and has nothing to prepare: where its effects are `none`, a workflow may run it at once, without
   * a row of its own before it has ended.
   */
  isInProcess: boolean;
  /**
   * Does one attempt. Calls `ctx.begin` before its first side effect (L3), heeds `ctx.signal`, leaves nothing running, and
   * never rejects: what failed is an outcome. Params are checked against `contract.input` before, `outcome.result` against
   * `contract.output` after it, by its caller.
   */
  run(call: ExecutorCall): Promise<Outcome>;
}

export interface ExecutorCall {
  params: Readonly<Record<string, unknown>>;
  /** The task's own variables, for what starts a program. */
  env: Readonly<Record<string, string>>;
  workdir: string | undefined;
  /** As written in the task or job; undefined = the default. */
  environment: string | Record<string, unknown> | undefined;
  timezone: string;
  /** Of one attempt; 0 = no limit. The watch ends the run then; this is for whoever must tell a far end. */
  timeoutMs: number;
  clock: Clock;
  ctx: RunContext;
}

/** All that is registered at this moment. A change of a file or of the config shows without a restart. */
export interface ExecutorRegistry {
  /** By name, then newest version first. */
  list(): Promise<readonly Executor[]>;
  /** Every registration of a name, in the order in which they are preferred. */
  named(name: string): Promise<readonly Executor[]>;
  /** What could not be registered, one sentence each; the others go on. */
  problems(): Promise<readonly ExecutorProblem[]>;
  /** Ends what it keeps warm (Python workers). Idempotent. */
  close(): Promise<void>;
}

/** A registry that says at once what it knows, for decisions inside of transactions, which cannot wait. */
export interface KnownExecutors extends ExecutorRegistry {
  /** Whether a name was registered when this was last looked at; undefined = nobody has looked yet. */
  knows(name: string): boolean | undefined;
  /** Whether a name is certainly a function of this process. */
  isInProcess(name: string): boolean;
}

export interface ExecutorProblem {
  source: string;
  /** With line and column where there is one. */
  error: string;
}

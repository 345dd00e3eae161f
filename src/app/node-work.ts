// What a node can do, and which queued tasks it takes: kinds of work, workflows, admission.

import { callExecutor } from "../orchestrate/executors/call-executor.ts";
import type { AdmitSettings } from "../orchestrate/queues/admit.ts";
import type { ExecutorRegistry } from "../records/executor.ts";
import type { PassRequest } from "../records/ledger/slots.ts";
import type { AgentDeps } from "./agent/agent-deps.ts";
import { agentWork } from "./agent-work.ts";
import type { Context } from "./context.ts";
import { homeExecutorsOf } from "./executors/lazy-executors.ts";
import { workflowInTask } from "./executors/workflow-in-task.ts";
import { redactOutcome } from "./redact-outcome.ts";
import { scriptWork } from "./script-work.ts";
import { type TaskChoices, taskChoices } from "./task-choices.ts";
import { taskWork } from "./task-work.ts";
import type { WorkTable } from "./work.ts";
import { type WorkflowsOfNode, workflowsOfNode } from "./workflow-work.ts";
import { makeAdmitTasks } from "./workflows/admit-tasks.ts";

export interface NodeWorkDeps {
  context: Context;
  nodeId: string;
  commands: AgentDeps["commands"];
  agent: Omit<AgentDeps, "context" | "commands">;
  /** Default: the context's. */
  executors?: ExecutorRegistry;
  /** Aborts when waiting for the store must end. */
  giveUp(): AbortSignal;
  /** How many tasks of queues run here. */
  taskCount(): number;
  /** A pass may find more to start. */
  nudge(): void;
}

export interface NodeWork {
  work: WorkTable;
  workflows: WorkflowsOfNode;
  tasks: NonNullable<PassRequest["tasks"]>;
  choices: TaskChoices;
}

export function nodeWork(deps: NodeWorkDeps): NodeWork {
  const { context, commands, agent, executors = context.executors, giveUp, nodeId, nudge } = deps;
  const choices = taskChoices({ context, nodeId, executors, nudge, onHealth: () => workflows.nudge() });
  const { orchestrator, queues } = context.config;
  const settings = (): AdmitSettings => ({ queues, maxConcurrent: orchestrator.maxConcurrentTasks });
  const taskCapacity = () => orchestrator.maxConcurrentTasks - deps.taskCount();
  const workflows = workflowsOfNode({
    ...{ context, executors, giveUp, settings, taskCapacity },
    offlineExecutors: choices.offlineExecutors,
    rollouts: choices.rollouts,
    call: async (executor, { params, env, task }, ctx) => {
      const outcome = await callExecutor(executor, {
        ...{ params, env, workdir: task.workdir, environment: task.environment },
        ...{ timezone: context.zone, timeoutMs: task.timeoutMs, clock: context.clock, ctx },
      });
      return redactOutcome(context.redact, outcome);
    },
  });
  homeExecutorsOf(context).serve({ commands, agent, workflow: workflowInTask(context, workflows.work) });
  return {
    work: {
      script: scriptWork(context, commands),
      agent: agentWork({ context, commands, ...agent }),
      workflow: workflows.work,
      task: taskWork(context, executors),
      ...context.work,
    },
    workflows,
    choices,
    tasks: {
      admit: choices.keeper.admitWith(
        makeAdmitTasks({ settings, capacity: taskCapacity, lacks: choices.lacks }),
      ),
      rated: queues.filter(({ rate }) => rate).map(({ name }) => name),
    },
  };
}

// A run's door to its models: the port with its budget, watched by the relay, counted for the metrics.
//
// I1. Off by config, the relay is not there and the port is called as it is (S4).

import { makeModelPort } from "../../agent/models/model-port.ts";
import { projectCall } from "../../agent/relay/project-call.ts";
import { makeRelay } from "../../agent/relay/relay.ts";
import { messageOf } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import type { Redact } from "../../kernel/redact.ts";
import type { AgentWork } from "../../records/agent-work.ts";
import type { ModelCallSum } from "../../records/ledger/model-calls.ts";
import type { CallModel, ModelCallRecord } from "../../records/model.ts";
import { mergeModelCalls } from "../../records/model-call-sums.ts";
import type { RunContext } from "../../records/run-context.ts";
import { microUsdOf } from "../../records/usage.ts";
import type { Context } from "../context.ts";
import type { AgentModels } from "./agent-models.ts";
import { recordCalls, type Tape } from "./record-calls.ts";

export interface Calls {
  callModel: CallModel;
  /** Undefined = nothing is recorded. */
  tape: Tape | undefined;
  /** Hands over what is not counted yet. Never rejects. */
  close(): Promise<void>;
}

export interface CallsOf {
  models: AgentModels;
  agent: AgentWork;
  ctx: RunContext;
  redact: Redact;
  /** Told of each logical call that ended. */
  onRecord(record: ModelCallRecord): void;
}

/** So many calls are counted in one write. */
const COUNTED_TOGETHER = 50;

export async function openCalls(context: Context, of: CallsOf): Promise<Calls> {
  const { models, ctx } = of;
  const port = makeModelPort({
    ...models,
    fetch,
    clock: context.clock,
    random: context.random,
    log: context.log,
    budget: await openBudget(context, of),
  });
  if (!context.config.models.relay) return { callModel: port, tape: undefined, close: async () => {} };
  const tape = recordCalls(context, port, { runId: ctx.run.id, redact: of.redact });
  const counted = countCalls(context);
  const relay = makeRelay(tape?.call ?? port, {
    runId: ctx.run.id,
    rootId: ctx.lineage.rootId,
    clock: context.clock,
    newId: () => makeId(context.clock.now(), context.random),
    sink: (record) => {
      of.onRecord(record);
      return counted.add(record);
    },
    report: (error) => context.log.warn("relay-detached", { runId: ctx.run.id, error: messageOf(error) }),
  });
  const close = async () => {
    await Promise.all([relay.settled(), tape?.settled()]);
    await counted.flush().catch((error) => context.log.warn("calls-uncounted", { error: messageOf(error) }));
  };
  return { callModel: relay.call, tape, close };
}

/** The root's row, where anything limits it (S3). */
async function openBudget({ ledger }: Context, { agent, ctx }: CallsOf) {
  const { tokens, usd } = agent.budget;
  if (tokens === undefined && usd === undefined) return undefined;
  const { rootId } = ctx.lineage;
  await ledger.openBudget(rootId, {
    maxTokens: tokens,
    maxMicroUsd: usd === undefined ? undefined : microUsdOf(usd),
  });
  return { rootId, ledger, hasMoneyLimit: usd !== undefined };
}

/** Sums wait in memory: what a crash loses here is a count, not an account (the log and the budget have each call). */
function countCalls({ ledger, config }: Context) {
  let waiting: ModelCallSum[] = [];
  const flush = async () => {
    if (waiting.length === 0) return;
    const taken = waiting;
    waiting = [];
    await ledger.countModelCalls(mergeModelCalls(taken));
  };
  const names = Object.keys(config.models.named);
  return {
    flush,
    add(record: ModelCallRecord): Promise<void> | undefined {
      waiting.push(projectCall(record, names));
      return waiting.length < COUNTED_TOGETHER ? undefined : flush();
    },
  };
}

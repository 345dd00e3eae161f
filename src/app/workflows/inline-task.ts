// A task that runs in this process at once, without a row before its end: only where its executor is a function of this
// process and its effects are `none`, so that a crash may repeat it (law 4).

import { linkAbort } from "../../kernel/abort.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Clock, Instant } from "../../kernel/time.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { Run } from "../../records/run.ts";
import type { AbortReason, RunContext } from "../../records/run-context.ts";

export interface InlineTask {
  ctx: RunContext;
  startedAt: Instant;
  /** Set when it has ended. */
  outcome: Outcome | undefined;
  finishedAt: Instant | undefined;
  ended: Promise<void>;
  stop(reason: AbortReason): void;
}

export interface InlineCall {
  /** Called once, after this has returned. */
  call(): Promise<Outcome>;
  clock: Clock;
  /** The workflow's own. */
  parent: RunContext;
  run: Run;
  /** 0 = no limit. */
  timeoutMs: number;
  unit: string;
}

/** Starts it; never throws. Its end shows in the returned object. */
export function startInline({ call, clock, parent, run, timeoutMs, unit }: InlineCall): InlineTask {
  // A cancel of the workflow is the graph's to carry out: handlers and `finally` run because of it.
  const link = linkAbort();
  const timer = linkAbort();
  const startedAt = clock.now();
  let reason: AbortReason | undefined;
  const stop = (why: AbortReason) => {
    reason ??= why;
    link.abort(why);
  };
  const ctx: RunContext = {
    ...{ run, signal: link.signal, log: parent.log },
    lineage: { rootId: run.rootId, parentId: run.parentId, depth: parent.lineage.depth + 1 },
    abortReason: () => reason,
    begin: async () => !link.signal.aborted,
    addProcess: async () => false,
    touch: (activity) => parent.touch(activity),
    emit: (kind, data) => parent.emit(kind, { ...data, unit }),
  };
  const task: InlineTask = {
    ctx,
    startedAt,
    outcome: undefined,
    finishedAt: undefined,
    ended: Promise.resolve(),
    stop,
  };
  const outOfTime = {
    kind: "totalTimeout",
    limitMs: timeoutMs,
    lastActivity: "started",
    lastActivityAt: startedAt,
  } as const;
  if (timeoutMs > 0)
    clock.sleep(timeoutMs, timer.signal).then(
      () => stop(outOfTime),
      () => {},
    );
  task.ended = Promise.resolve()
    .then(call)
    .catch((error): Outcome => ({ state: "failed", error: { code: "internal", message: messageOf(error) } }))
    .then((outcome) => {
      task.outcome = outcome;
      task.finishedAt = clock.now();
      timer.abort("ended");
      link.release();
    });
  return task;
}

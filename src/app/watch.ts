// The node's side of the watch: a worker thread started with the first live run (L5), or the same loop inline.

import { Worker } from "node:worker_threads";
import { messageOf } from "../kernel/errors.ts";
import type { Job } from "../records/job.ts";
import { WatchLoop, type WatchLoopDeps } from "./watch-loop.ts";
import { makeMailbox } from "./watch-mailbox.ts";
import type { WatchCommand, WatchedRun, WatchReport, WatchWorkerData } from "./watch-protocol.ts";

/** Heartbeats and limits for live runs. All calls return at once; reports come back through the callback. */
export interface Watch {
  add(runs: readonly WatchedRun[]): void;
  /** The job's limits, once its document has been read; again when its executor has its own. */
  limits(runId: string, job: Pick<Job, "idleTimeoutMs" | "totalTimeoutMs">): void;
  began(runId: string, processGroup: number | undefined): void;
  touch(runId: string): void;
  remove(runIds: readonly string[]): void;
  beat(): void;
  stop(): Promise<void>;
}

type Send = (command: WatchCommand) => void;

function sending(send: Send): Pick<Watch, "add" | "limits" | "began" | "touch" | "remove" | "beat"> {
  return {
    add: (runs) => {
      if (runs.length > 0) send({ kind: "add", runs });
    },
    limits: (runId, { idleTimeoutMs, totalTimeoutMs }) =>
      send({ kind: "limits", runId, idleTimeoutMs, totalTimeoutMs }),
    began: (runId, processGroup) => send({ kind: "began", runId, processGroup }),
    touch: (runId) => send({ kind: "touch", runId }),
    remove: (runIds) => send({ kind: "remove", runIds }),
    beat: () => send({ kind: "beat" }),
  };
}

/** On a worker thread where the program has one, else inline. */
export function makeWatch(worker: URL | undefined, deps: WatchLoopDeps & WatchWorkerData): Watch {
  if (!worker) return inlineWatch(deps);
  const { storeUrl, host, nodeId, leaseMs, beatMs, report } = deps;
  return workerWatch(worker, { storeUrl, host, nodeId, leaseMs, beatMs }, report);
}

/** The loop on this thread, with the caller's clock and ledger. */
export function inlineWatch(deps: WatchLoopDeps): Watch {
  const loop = new WatchLoop(deps);
  const ended = loop.run();
  return {
    ...sending((command) => loop.handle(command)),
    async stop() {
      loop.handle({ kind: "stop" });
      await ended;
    },
  };
}

/** The loop on a worker thread with its own connection, started with the first live run so that an idle node stays light. */
export function workerWatch(url: URL, data: WatchWorkerData, report: (report: WatchReport) => void): Watch {
  const watched = new Map<string, WatchCommand[]>();
  let worker: Worker | undefined;
  let isStopped = false;

  const start = () => {
    const started = new Worker(url, { workerData: data });
    started.on("message", (reports: WatchReport[]) => reports.forEach(report));
    started.on("error", (error) => {
      if (worker !== started || isStopped) return;
      report({ kind: "failed", error: `the watch thread ended: ${messageOf(error)}` });
      // A dead watch means lost leases soon: a new one is told at once of every run that still lives.
      worker = watched.size > 0 ? start() : undefined;
      worker?.postMessage([...watched.values()].flat());
    });
    return started;
  };
  const mailbox = makeMailbox((commands) => {
    if (isStopped) return;
    worker ??= start();
    worker.postMessage(commands);
  });
  const send = (command: WatchCommand) => {
    remember(watched, command);
    // Without a thread nothing is watched: a beat then has nothing to renew.
    if (!isStopped && (command.kind !== "beat" || worker !== undefined)) mailbox.put(command);
  };
  return {
    ...sending(send),
    async stop() {
      isStopped = true;
      mailbox.clear();
      await worker?.terminate();
    },
  };
}

/** What a new watch thread would have to be told about the runs that live now. */
function remember(watched: Map<string, WatchCommand[]>, command: WatchCommand): void {
  if (command.kind === "add") {
    for (const run of command.runs) watched.set(run.claim.runId, [{ kind: "add", runs: [run] }]);
  } else if (command.kind === "remove") {
    for (const runId of command.runIds) watched.delete(runId);
  } else if (command.kind === "limits" || command.kind === "began") {
    watched.get(command.runId)?.push(command);
  }
}

// Background processes that live through an environment's own connection: in a container, on another machine, at a terminal.
//
// I1. The ledger knows them as it knows all others, and their output lies where others' does; only this process of ours
//     can write to them and end them. When it dies they are `lost`: their environment is ended with its owner.
// I2. A request to end one, made elsewhere, is seen in the ledger.

import { mkdirSync } from "node:fs";
import { makeProcesses } from "../../execute/background/processes.ts";
import { messageOf } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import type { Redact } from "../../kernel/redact.ts";
import type { BackgroundProcess, Processes, StartBackground } from "../../records/background.ts";
import type { Environment } from "../../records/environment.ts";
import type { Context } from "../context.ts";
import { logFileOf } from "./observe.ts";
import { folderOf } from "./places.ts";
import { commit, heldBy, type Owner, resolveNotify, UNENDED } from "./start.ts";

export interface AttachedOptions {
  context: Context;
  owner: Owner;
  environment: Environment;
  redact: Redact;
}

/** Closed by `dispose`. */
export function attachedProcesses({ context, owner, environment, redact }: AttachedOptions): Processes {
  const { clock, log, ledger, random } = context;
  const processes = makeProcesses({
    ...{ clock, log, redact, environment },
    newId: () => makeId(clock.now(), random),
    ownerRunId: owner.runId,
    logFileOf(id) {
      mkdirSync(folderOf(context, id), { recursive: true, mode: 0o700 });
      return logFileOf(context, id);
    },
    onStart: (process, options) => writeDown(context, owner, { process, options }),
    async onEnd({ id, state, exitCode, endedAt, outputBytes }) {
      if (state === "running") return;
      const ending = { id, state, exitCode, endedAt: endedAt ?? clock.now(), outputBytes };
      await ledger
        .endBackground(ending)
        .catch((error) => log.warn("process-end-not-written", { id, error: messageOf(error) }));
    },
  });
  const unsubscribe = ledger.onChange(() => {
    endAsked(context, processes).catch((error) =>
      log.warn("process-kill-not-read", { error: messageOf(error) }),
    );
  });
  return {
    ...forwarded(processes),
    async dispose() {
      unsubscribe();
      return processes.dispose();
    },
  };
}

function forwarded(processes: Processes): Omit<Processes, "dispose"> {
  return {
    start: (options, signal) => processes.start(options, signal),
    list: () => processes.list(),
    poll: (id, options) => processes.poll(id, options),
    log: (id, options) => processes.log(id, options),
    wait: (id, options) => processes.wait(id, options),
    write: (id, data) => processes.write(id, data),
    closeStdin: (id) => processes.closeStdin(id),
    kill: (id) => processes.kill(id),
    handOff: (id) => processes.handOff(id),
  };
}

async function writeDown(
  context: Context,
  owner: Owner,
  { process, options }: { process: BackgroundProcess; options: StartBackground },
): Promise<void> {
  await commit(context, {
    ...process,
    ...heldBy(context, owner),
    ...UNENDED,
    startTime: undefined,
    processGroup: undefined,
    isSupervised: false,
    // It cannot outlive its environment, which ends with its owner.
    persist: false,
    logFile: logFileOf(context, process.id),
    notify: resolveNotify(context, owner, options.notify),
  });
}

/** I2. */
async function endAsked({ ledger }: Context, processes: Processes): Promise<void> {
  for (const { id, state } of await processes.list()) {
    if (state !== "running") continue;
    const row = await ledger.background(id);
    if (row && !("ambiguous" in row) && row.killRequestedAt !== undefined) await processes.kill(id);
  }
}

// Entry of the watch thread: its own connection to the ledger and the same loop as inline.

import { parentPort, workerData } from "node:worker_threads";
import { groupCpuMs } from "../execute/host.ts";
import { messageOf } from "../kernel/errors.ts";
import { openLedger } from "../store/sql/open-ledger.ts";
import { systemClock, systemRandom } from "./system.ts";
import { WatchLoop } from "./watch-loop.ts";
import type { WatchCommand, WatchReport, WatchWorkerData } from "./watch-protocol.ts";

async function main(port: NonNullable<typeof parentPort>, data: WatchWorkerData): Promise<void> {
  // Commands that come before the connection stands wait here, in order.
  const early: WatchCommand[][] = [];
  let take = (commands: WatchCommand[]) => void early.push(commands);
  port.on("message", (commands: WatchCommand[]) => take(commands));

  const report = (one: WatchReport) => port.postMessage([one]);
  const ledger = await openLedger({
    url: data.storeUrl,
    clock: systemClock,
    random: systemRandom,
    host: data.host,
  });
  const loop = new WatchLoop({ ...data, ledger, clock: systemClock, groupCpuMs, report });
  take = (commands) => {
    for (const command of commands) loop.handle(command);
  };
  early.forEach(take);
  await loop.run();
  await ledger.close();
  port.close();
}

if (parentPort) {
  const port = parentPort;
  main(port, workerData as WatchWorkerData).catch((error) => {
    port.postMessage([{ kind: "failed", error: messageOf(error) } satisfies WatchReport]);
    throw error;
  });
}

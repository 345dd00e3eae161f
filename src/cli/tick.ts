// `tick`: for people who own a timer already (cron, systemd): one pass, its runs, their deliveries, exit.

import { tickOnce } from "../app/node.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";

export const tick: RunCommand = async ({ io, open }) => {
  const result = await tickOnce({ context: await open() });
  const document = {
    started: result.claimed.map(({ run }) => run.id),
    closedSlots: result.closedSlots.reduce((sum, { slots }) => sum + slots.count, 0),
  };
  print(
    io,
    document,
    () => `Started ${document.started.length} runs; ${document.closedSlots} slots did not run.`,
  );
  return EXIT.ok;
};

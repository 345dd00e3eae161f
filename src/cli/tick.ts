// `tick`: for people who own a timer already (cron, systemd): what is due, its runs, their deliveries, exit.

import { tickOnce } from "../app/node.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";

export const tick: RunCommand = async ({ io, open }) => {
  const done = await tickOnce({ context: await open() });
  print(io, done, () => `Started ${done.started.length} runs; ${done.closedSlots} slots did not run.`);
  return EXIT.ok;
};

// `plan`: the downtime simulator.

import { type PlanEntry, parseOutages, planSlots } from "../app/downtime-plan.ts";
import { DAY, formatDuration } from "../kernel/time.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print, table } from "./io.ts";
import { instantOption, numberOption, textOption } from "./options.ts";

export const plan: RunCommand = async ({ options, io, open }) => {
  const days = numberOption(options, "days", { min: 1, max: 3_660 }) ?? 1;
  const context = await open();
  const now = context.clock.now();
  const from = instantOption(options, "from", now) ?? now;
  const until = from + days * DAY;
  const name = textOption(options, "job");
  const job = name === undefined ? undefined : (await context.findJob(name)).definition;
  // "02:00" is the one job's two o'clock, else the home's.
  const zone = job?.zone ?? context.zone;
  const down = Array.isArray(options.down) ? options.down : [];
  const planned = await planSlots(context, {
    from,
    until,
    down: down.flatMap((text) => parseOutages(text, { from, until, zone })),
    ...(job && { jobId: job.jobId }),
  });
  print(io, planned, () =>
    [
      ...planned.down.map((outage) => `no node is up from ${outage.from} to ${outage.to}`),
      planned.slots.length === 0 ? "No slot is due in that time." : table(HEADER, planned.slots.map(row)),
    ].join("\n"),
  );
  return EXIT.ok;
};

const HEADER = ["SLOT", "JOB", "FATE", "STARTS", "LATE"];

function row(entry: PlanEntry): string[] {
  const slot = entry.count === 1 ? entry.first : `${entry.first} … ${entry.last} (${entry.count} slots)`;
  const fate = entry.reason ? `${entry.fate}: ${entry.reason}` : entry.fate;
  const late = entry.lateMs ? formatDuration(entry.lateMs) : "";
  return [slot, entry.jobId, fate, entry.startsAt ?? "–", late];
}

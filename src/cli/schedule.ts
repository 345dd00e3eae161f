// `schedule TEXT`: no job, no ledger.

import { previewSchedule } from "../app/preview.ts";
import { previewZone } from "../app/preview-zone.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";
import { instantOption, numberOption, textOption } from "./options.ts";

export const schedule: RunCommand = async ({ args, options, io, home }) => {
  // People forget the quotes: `schedule every 5m`.
  const text = args.join(" ");
  const count = numberOption(options, "count", { min: 1, max: 10_000 }) ?? 5;
  const { zone, now } = await previewZone(home.path, textOption(options, "timezone"), io.env);
  const from = instantOption(options, "from", now) ?? now;
  const preview = previewSchedule(text, { zone, from, count });
  print(io, preview, () => [preview.display, ...preview.next.map((slot) => `  ${slot}`)].join("\n"));
  return EXIT.ok;
};

// What a first start seeds, so that a new user sees something fire within a minute.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "./context.ts";
import { addJob } from "./jobs.ts";

const DISK_WATCH = `#!/bin/sh
# Speaks only when a disk is nearly full. Empty output is silence: nothing is delivered then.
limit=\${DISK_WATCH_LIMIT:-90}
df -P -k 2>/dev/null | awk -v limit="$limit" '
  NR > 1 && $1 ~ /^\\// {
    used = $5; sub(/%/, "", used)
    if (used + 0 >= limit + 0) printf "%s is %s%% full (%s)\\n", $6, used, $1
  }'
`;

const HELLO = `#!/bin/sh
# Whatever a script prints is its message.
echo "Hello from Nightshift: run $NIGHTSHIFT_RUN_ID, slot $NIGHTSHIFT_SLOT."
`;

/** A disk watchdog every 30 seconds and a once-job ten seconds from now. Returns their ids; none if the home has jobs. */
export async function seedSamples(context: Context): Promise<string[]> {
  if ((await context.ledger.jobs({ includeRemoved: true, limit: 1 })).length > 0) return [];
  if ((await context.source.list()).entries.length > 0) return [];
  const { scriptsFolder } = context.home.paths;
  await writeScript(join(scriptsFolder, "disk-watch.sh"), DISK_WATCH);
  await writeScript(join(scriptsFolder, "hello.sh"), HELLO);
  await addJob(context, {
    id: "disk-watch",
    name: "Disk watchdog",
    description: "Sample. Says something only when a disk is 90 % full.",
    schedule: "every 30s",
    run: { script: "disk-watch.sh" },
    effects: "none",
  });
  await addJob(context, {
    id: "hello",
    name: "Hello",
    description: "Sample. Runs once, ten seconds after the first start.",
    schedule: "in 10s",
    run: { script: "hello.sh" },
    effects: "none",
  });
  return ["disk-watch", "hello"];
}

/** A person's script of that name is not overwritten. */
async function writeScript(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: 0o700, flag: "wx" });
    await chmod(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

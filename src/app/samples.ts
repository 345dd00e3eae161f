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

const HOUSE_CALL = `# Sample: looks at this machine in two ways at once, then says it in one line.
name: house-call
description: Disk and load of this machine.
tasks:
  - id: disk
    shell: printf '%s used' "$(df -P / | awk 'NR == 2 {print $5}')"
    effects: none
  - id: load
    shell: |
      printf 'load %s' "$(uptime | sed 's/.*load average[s]*: //; s/,.*//')"
    effects: none
  - id: say
    shell: printf '%s, %s' {disk.result.stdout} {load.result.stdout}
    dependsOn: [disk, load]
    effects: none
outputs: {message: "This machine: {say.result.stdout}."}
`;

/**
 * A disk watchdog every 30 seconds, a once-job ten seconds from now and a workflow five seconds later. Returns their ids;
 * none if the home has jobs.
 */
export async function seedSamples(context: Context): Promise<string[]> {
  if ((await context.ledger.jobs({ includeRemoved: true, limit: 1 })).length > 0) return [];
  if ((await context.source.list()).entries.length > 0) return [];
  const { scriptsFolder } = context.home.paths;
  await writeNew(join(scriptsFolder, "disk-watch.sh"), DISK_WATCH, 0o700);
  await writeNew(join(scriptsFolder, "hello.sh"), HELLO, 0o700);
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
  await writeNew(join(context.home.paths.workflowsFolder, "house-call.yaml"), HOUSE_CALL, 0o600);
  await addJob(context, {
    id: "house-call",
    name: "House call",
    description: "Sample. A workflow of three tasks, once, fifteen seconds after the first start.",
    schedule: "in 15s",
    run: { workflow: { file: "house-call" } },
  });
  return ["disk-watch", "hello", "house-call"];
}

/** A person's file of that name is not overwritten. */
async function writeNew(path: string, text: string, mode: number): Promise<void> {
  try {
    await writeFile(path, text, { mode, flag: "wx" });
    await chmod(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

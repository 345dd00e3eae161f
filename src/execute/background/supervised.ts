// A local background process under its shim: started held, written to, ended, and recognised again by anybody.
//
// I1. Nothing of the command runs before `release`: its row is committed by then (L10). A starter that dies before ends it.
// I2. Everything but the start works from a folder and an identity, so it works in another process and after a restart.
// I3. A pid is signalled only while its start time is the known one (terminate.ts).

import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import type { Clock } from "../../kernel/time.ts";
import type { ProcessIdentity } from "../../records/process.ts";
import { hasVariable, readProcess } from "../process-table.ts";
import { spawnHeld } from "../spawn-held.ts";
import { endRun, signalProcess } from "../terminate.ts";
import { FIRST_PIECE_BYTES, LATER_PIECE_BYTES, SUPERVISOR } from "./shim.ts";
import { spooledExit, stdinKeeper, stdinPath } from "./spool.ts";

/** Longest command in bytes; it travels as one argument. @source execve(2), MAX_ARG_STRLEN */
const LONGEST_COMMAND = 100_000;
/** How long a write waits for a command that does not read. */
const WRITE_MS = 10_000;
const WRITE_PAUSE_MS = 20;
/** How long a command that has just been started may take to open its standard input. */
const OPEN_MS = 2_000;

export interface SupervisedStart {
  command: string;
  /** Absolute path of bash or sh. */
  shell: string;
  cwd: string;
  /** Whole; NIGHTSHIFT_RUN_ID in it is the process's own id, its mark. */
  env: Readonly<Record<string, string>>;
  /** Made here, 0700. */
  folder: string;
  /** Words in front of the command (bubblewrap's). */
  prefix: readonly string[];
  maxFileBytes?: number;
}

export interface HeldSupervised {
  identity: ProcessIdentity;
  /** Lets it begin; from then on it needs nobody. */
  release(): Promise<void>;
  /** Ends it without it ever having begun. */
  abandon(): Promise<void>;
}

/** Starts it held. Throws `input.invalid`, `environment.unusable`. */
export async function startSupervised(start: SupervisedStart): Promise<HeldSupervised> {
  const { command, shell, cwd, env, folder, prefix } = start;
  if (Buffer.byteLength(command) > LONGEST_COMMAND)
    throw new Fault("input.invalid", `the command is longer than ${LONGEST_COMMAND} bytes`, {
      hint: "Write it to a script and start that.",
    });
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  await mkdir(folder, { mode: 0o700 });
  const limits = [String(start.maxFileBytes ?? FIRST_PIECE_BYTES), String(LATER_PIECE_BYTES)];
  const held = await spawnHeld({
    command: "/bin/sh",
    args: ["-c", SUPERVISOR, "nightshift-process", folder, ...limits, ...prefix, shell, "-c", command],
    cwd,
    env,
  });
  if (held.kind === "refused")
    throw new Fault("environment.unusable", `the process cannot be started: ${held.message}`, {
      hint: "Correct its directory or its command.",
    });
  return {
    identity: held.identity,
    abandon: () => held.abandon(),
    async release() {
      held.release();
      await held.handedOver;
      held.stdout.destroy();
      held.stderr.destroy();
      held.child.unref();
    },
  };
}

/** Writes to its stdin. Throws `input.conflict` when that is closed, or when the command has not read for 10 s. */
export async function writeSupervised(deps: { clock: Clock }, folder: string, data: string): Promise<void> {
  const file = await openStdin(deps.clock, folder);
  try {
    await writeAll(deps.clock, file, Buffer.from(data));
  } finally {
    await file.close();
  }
}

/** A command that has just been started may not have opened its end yet: that is waited for, unless it has ended. */
async function openStdin(clock: Clock, folder: string): Promise<FileHandle> {
  const until = clock.monotonicMs() + OPEN_MS;
  for (;;) {
    try {
      // Without a reader this fails instead of waiting for one.
      return await open(stdinPath(folder), constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (cause) {
      if (clock.monotonicMs() >= until || (await spooledExit(folder)) !== undefined)
        throw new Fault("input.conflict", "the process reads no standard input any more", {
          hint: "Start the command again to write to it.",
          cause,
        });
      await clock.sleep(WRITE_PAUSE_MS, new AbortController().signal);
    }
  }
}

async function writeAll(clock: Clock, file: FileHandle, data: Buffer): Promise<void> {
  const until = clock.monotonicMs() + WRITE_MS;
  const never = new AbortController().signal;
  let rest = data;
  while (rest.length > 0) {
    const written = await file.write(rest).then(
      ({ bytesWritten }) => bytesWritten,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "EAGAIN") return 0;
        throw new Fault("input.conflict", "the process has closed its standard input", {
          hint: "Start the command again to write to it.",
          cause: error,
        });
      },
    );
    rest = rest.subarray(written);
    if (rest.length === 0) return;
    if (clock.monotonicMs() >= until)
      throw new Fault("input.conflict", `the process has not read for ${WRITE_MS / 1_000} s`, {
        hint: `${data.length - rest.length} of ${data.length} bytes were written; write the rest later.`,
        retry: "later",
      });
    await clock.sleep(WRITE_PAUSE_MS, never);
  }
}

/** Ends its stdin: whoever holds it open for writers to come is ended, if it is the one that carries this mark. */
export async function closeSupervisedStdin(folder: string, id: string): Promise<void> {
  const pid = await stdinKeeper(folder);
  const keeper = pid === undefined ? undefined : readProcess(pid);
  if (keeper && hasVariable(keeper.pid, `NIGHTSHIFT_RUN_ID=${id}`)) signalProcess(keeper, "SIGKILL");
}

/** Ends the whole tree, and what carries its mark elsewhere. Also one whose command has ended: what it left is its own. */
export async function endSupervised(
  deps: { clock: Clock },
  process: { id: string; identity: ProcessIdentity | undefined; graceMs?: number },
): Promise<{ survivors: number }> {
  const { id, identity, graceMs } = process;
  const { survivors } = await endRun(deps, {
    runId: id,
    known: identity ? [identity] : [],
    ...(graceMs !== undefined && { graceMs }),
  });
  return { survivors: survivors.length };
}

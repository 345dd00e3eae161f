// A place that died is made anew, once for each call, where repeating a command was declared safe (law 4).
//
// I1. Only `environment.broken` leads to it; a command's own failure never does.
// I2. Calls that meet the loss together share the new place. Its session begins anew: the result says `wasRecreated`.

import { isFault } from "../../kernel/errors.ts";
import type { CommandResult, Environment, ExecOptions } from "../../records/environment.ts";
import { type EnvironmentDeps, RETURN_WAITS_MS } from "./place.ts";

/** Opens a place in a lost one's stead: refusals that say `later` are waited out for a minute, unless the signal aborts. */
export async function openAnew(
  { clock, signal = new AbortController().signal }: Pick<EnvironmentDeps, "clock" | "signal">,
  open: () => Promise<Environment>,
): Promise<Environment> {
  for (const ms of RETURN_WAITS_MS) {
    try {
      return await open();
    } catch (error) {
      if (!isFault(error) || error.retry !== "later") throw error;
      await clock.sleep(ms, signal);
    }
  }
  return open();
}

/** Wraps what `open` gives; `open` is called again when it is lost. */
export async function openRecreating(
  deps: Pick<EnvironmentDeps, "clock" | "signal">,
  open: () => Promise<Environment>,
): Promise<Environment> {
  let current = await open();
  let renewing: Promise<void> | undefined;
  let isDisposed = false;

  async function renew(lost: Environment): Promise<void> {
    if (current !== lost) return;
    renewing ??= (async () => {
      await lost.dispose();
      current = await openAnew(deps, open);
    })().finally(() => {
      renewing = undefined;
    });
    await renewing;
  }

  async function exec(command: string, options: ExecOptions): Promise<CommandResult> {
    const used = current;
    try {
      return await used.exec(command, options);
    } catch (error) {
      const isLost = isFault(error) && error.code === "environment.broken";
      if (!isLost || isDisposed || options.signal.aborted) throw error;
      await renew(used);
      return { ...(await current.exec(command, options)), wasRecreated: true };
    }
  }

  const { backend, label, cwd } = current;
  return {
    backend,
    label,
    cwd,
    get ownFolder() {
      return current.ownFolder;
    },
    exec,
    spawn: (command, options) => current.spawn(command, options),
    readFile: (path, options) => current.readFile(path, options),
    writeFile: (path, data, options) => current.writeFile(path, data, options),
    async dispose() {
      isDisposed = true;
      await renewing?.catch(() => {});
      return current.dispose();
    },
  };
}

// Where the background commands of an MCP session run: opened with the first one, ended with the session.
//
// I1. A session sees and touches what it started, nothing else.
// I2. `close` ends everything in it and removes what it made; nothing starts after that.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { commandEnv } from "../../execute/command-env.ts";
import { makeWallsProbe } from "../../execute/environments/bubblewrap.ts";
import { openEnvironment } from "../../execute/environments/index.ts";
import { closeWorkspace, openWorkspace } from "../../execute/workspace.ts";
import { Fault } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import type { Processes } from "../../records/background.ts";
import { parseEnvironmentSpec } from "../../records/environment-spec.ts";
import { environmentProcesses } from "../background/environment-processes.ts";
import type { Context } from "../context.ts";

export interface SessionPlaceOptions {
  context: Context;
  sessionId: string;
  /** Where commands begin; undefined = a folder of its own that goes with the session. */
  cwd: string | undefined;
}

export interface SessionPlace {
  processes: Processes;
  /** Says how many would not go. Idempotent. */
  close(): Promise<{ survivors: number }>;
}

interface Opened {
  processes: Processes;
  close(): Promise<{ survivors: number }>;
}

/** Nothing is opened before something is started. */
export function makeSessionPlace(options: SessionPlaceOptions): SessionPlace {
  let opening: Promise<Opened> | undefined;
  let closing: Promise<{ survivors: number }> | undefined;
  const open = (): Promise<Opened> => {
    if (closing)
      throw new Fault("environment.unusable", "This session has ended.", { hint: "Open another." });
    opening ??= openPlace(options);
    // One that failed to open is tried again at the next start.
    opening.catch(() => {
      opening = undefined;
    });
    return opening;
  };
  const close = async () => {
    const opened = await opening?.catch(() => undefined);
    return opened ? opened.close() : { survivors: 0 };
  };
  return {
    processes: whenOpened(() => opening, open),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Only a start opens the place: before it there is nothing to look at. */
function whenOpened(opened: () => Promise<Opened> | undefined, open: () => Promise<Opened>): Processes {
  const of = async (id: string) => {
    const place = await opened();
    if (place) return place.processes;
    throw new Fault("process.unknown", `There is no process "${id}" in this session.`, {
      hint: "Start one with action start.",
    });
  };
  return {
    start: async (options, signal) => (await open()).processes.start(options, signal),
    list: async () => (await opened())?.processes.list() ?? [],
    poll: async (id, options) => (await of(id)).poll(id, options),
    log: async (id, options) => (await of(id)).log(id, options),
    wait: async (id, options) => (await of(id)).wait(id, options),
    write: async (id, data) => (await of(id)).write(id, data),
    closeStdin: async (id) => (await of(id)).closeStdin(id),
    kill: async (id) => (await of(id)).kill(id),
    handOff: async (id) => (await of(id)).handOff(id),
    dispose: async () => (await opened())?.processes.dispose() ?? { ended: 0, survivors: 0 },
  };
}

async function openPlace({ context, sessionId, cwd }: SessionPlaceOptions): Promise<Opened> {
  const { home, config, clock, log, random, redact } = context;
  const workspace =
    cwd === undefined ? await openWorkspace(home.paths.workspacesFolder, sessionId) : undefined;
  const tempFolder = join(home.paths.runFolder, "sessions", sessionId);
  await mkdir(tempFolder, { recursive: true, mode: 0o700 });
  const leave = async () => {
    await rm(tempFolder, { recursive: true, force: true });
    if (workspace !== undefined) await closeWorkspace(workspace, false);
  };
  try {
    const probeWalls = makeWallsProbe();
    const deps = {
      ...{ probeWalls, clock, log, tempFolder, jobEnvNames: [], nodeEnv: context.env },
      newId: () => makeId(clock.now(), random),
      env: environmentOf(context, sessionId),
      workdir: cwd ?? workspace ?? home.paths.workspacesFolder,
    };
    const hide = { folders: [home.paths.root], except: workspace === undefined ? [] : [workspace] };
    const spec = parseEnvironmentSpec("local", config.environments);
    const environment = await openEnvironment(deps, spec, { hide });
    const processes = environmentProcesses({
      ...{ context, environment, spec, hide, redact },
      owner: { runId: undefined, session: `mcp:${sessionId}` },
      ...{ jobEnv: {}, timezone: context.zone, jobId: undefined, depth: 0 },
      ...{ mayTellTargets: true, probeWalls },
    });
    return {
      processes,
      async close() {
        const ended = await processes.dispose();
        const { survivors } = await environment.dispose();
        await leave();
        return { survivors: ended.survivors + survivors };
      },
    };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** S2: the allow-list, with the session's id as the mark by which its processes are found again (L10). */
function environmentOf(context: Context, sessionId: string): Record<string, string> {
  return commandEnv({
    nodeEnv: context.env,
    jobEnv: {},
    timezone: context.zone,
    run: {
      ...{ id: sessionId, jobId: undefined, slot: undefined, attempt: 1 },
      ...{ idempotencyKey: sessionId, parentId: undefined },
    },
    lineage: { depth: 0 },
  });
}

// What the watch thread is told, and when: a message for each step of a short run would cost more than the run does.
//
// I1. A run is added, and a beat asked for, at once: a busy event loop later must not keep its claim from being renewed.
// I2. The rest waits a moment. What a run has said when it ends within it is dropped, and endings go out together.
// I3. A run that is added again is not removed by an ending from before.

import type { WatchCommand } from "./watch-protocol.ts";

/** Limits and leases are counted in seconds. */
const LATER_MS = 100;

export interface Mailbox {
  put(command: WatchCommand): void;
  /** Drops what waits. */
  clear(): void;
}

/** `post` is never called with an empty list. */
export function makeMailbox(post: (commands: WatchCommand[]) => void): Mailbox {
  let urgent: WatchCommand[] = [];
  const said = new Map<string, WatchCommand[]>();
  const removed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const postUrgent = () => {
    const commands = urgent;
    urgent = [];
    if (commands.length > 0) post(commands);
  };
  const postLater = () => {
    timer = undefined;
    const commands = [...said.values()].flat();
    if (removed.size > 0) commands.push({ kind: "remove", runIds: [...removed] });
    said.clear();
    removed.clear();
    if (commands.length > 0) post(commands);
  };
  const now = (command: WatchCommand) => {
    urgent.push(command);
    if (urgent.length === 1) queueMicrotask(postUrgent);
  };
  const later = () => {
    timer ??= setTimeout(postLater, LATER_MS).unref();
  };

  return {
    put(command) {
      switch (command.kind) {
        case "remove":
          for (const runId of command.runIds) {
            said.delete(runId);
            removed.add(runId);
          }
          return later();
        case "limits":
        case "began":
        case "touch":
          said.set(command.runId, [...(said.get(command.runId) ?? []), command]);
          return later();
        case "add":
          for (const { claim } of command.runs) {
            said.delete(claim.runId);
            removed.delete(claim.runId);
          }
          return now(command);
        case "beat":
        case "stop":
          return now(command);
      }
    },
    clear() {
      clearTimeout(timer);
      urgent = [];
      said.clear();
      removed.clear();
    },
  };
}

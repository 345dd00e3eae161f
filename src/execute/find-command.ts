// Finds the program behind a name, so that "not there" and "not executable" are known before anything is spawned.

import { accessSync, constants, statSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";

export type FoundCommand =
  | { kind: "found"; path: string }
  | { kind: "missing" | "notExecutable"; message: string };

/** Looks a command up as a shell would: a path is taken as it is, a bare name is searched along `searchPath`. */
export async function findCommand(command: string, searchPath: string): Promise<FoundCommand> {
  if (isAbsolute(command)) return judge(command, lookNow(command));
  if (command === "" || command.includes("/"))
    return { kind: "missing", message: `command ${JSON.stringify(command)} is neither a name nor absolute` };
  let denied: string | undefined;
  for (const folder of searchPath.split(delimiter)) {
    // An empty or relative entry would mean the run's own folder: nothing in there may replace a command.
    if (!isAbsolute(folder)) continue;
    const path = join(folder, command);
    const state = await look(path);
    if (state === "executable") return { kind: "found", path };
    if (state === "plain") denied ??= path;
  }
  if (denied) return judge(denied, "plain");
  return { kind: "missing", message: `command ${command} is not on the PATH` };
}

async function look(path: string): Promise<"executable" | "plain" | "absent"> {
  try {
    if (!(await stat(path)).isFile()) return "absent";
  } catch {
    return "absent";
  }
  return access(path, constants.X_OK).then(
    () => "executable",
    () => "plain",
  );
}

/** A path that was resolved before is looked at again right before spawning: a hop through the thread pool would cost ten times the call. */
function lookNow(path: string): "executable" | "plain" | "absent" {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return "absent";
  try {
    accessSync(path, constants.X_OK);
    return "executable";
  } catch {
    return "plain";
  }
}

function judge(path: string, state: "executable" | "plain" | "absent"): FoundCommand {
  if (state === "executable") return { kind: "found", path };
  if (state === "plain") return { kind: "notExecutable", message: `${path} is not executable` };
  return { kind: "missing", message: `${path} does not exist` };
}

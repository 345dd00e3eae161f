// A function of a Python module as an executor, called in a warm worker.

import type { PythonModule } from "../../orchestrate/executors/python-protocol.ts";
import type { Executor } from "../../records/executor.ts";
import { stateOfTree } from "./folder-files.ts";
import { type Described, makeExecutor } from "./make-executor.ts";
import type { Room } from "./room.ts";
import { runPython } from "./run-python.ts";

/** A Python function as an executor: of a file in executors/, or of `module:` in config.yaml. */
export function pythonExecutor(
  room: Room,
  described: Omit<Described, "kind"> & { target: PythonModule; function: string },
): Executor {
  const { target, function: name, ...rest } = described;
  return makeExecutor({ ...rest, kind: "python" }, (call) => {
    const { commands } = room.serving();
    const { executorsFolder } = room.context.home.paths;
    // Whatever Python code of the home changes, a warm worker may have it loaded.
    const state = stateOfTree(executorsFolder, /\.py$/);
    return runPython({ workers: room.python, commands }, { module: target, function: name, state }, call);
  });
}

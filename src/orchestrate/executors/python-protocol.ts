// The words between a node and its Python workers (python-worker.py): JSON, one object a line.
//
// I1. A line that is none of these is an error of the far end, never ignored: after it nobody knows what was meant.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface PythonRequest {
  id: number;
  module: string;
  function: string;
  params: Readonly<Record<string, unknown>>;
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** What `nightshift.call()` says. */
  call: Readonly<Record<string, unknown>>;
}

export type PythonMessage =
  | { kind: "stream"; stream: "stdout" | "stderr"; text: string }
  | { kind: "touch"; activity: string }
  | { kind: "emit"; event: string; data: Record<string, unknown> }
  | { kind: "result"; id: number; result: unknown }
  | { kind: "error"; id: number; code: string; message: string; traceback: string };

/** What a worker serves. */
export interface PythonModule {
  module: string;
  /** Its file; undefined = found as an import is. */
  path: string | undefined;
  /** In front of Python's own search path. */
  folders: readonly string[];
}

/** A result beyond it is refused: everything of it would stand in memory and in the ledger. */
const MAX_LINE_BYTES = 16_000_000;

/** Cuts bytes into messages. `onBroken` is called once, and nothing after it. */
export function readMessages(on: {
  message(message: PythonMessage): void;
  broken(why: string): void;
}): (chunk: Uint8Array) => void {
  let parts: Uint8Array[] = [];
  let size = 0;
  let isBroken = false;
  const fail = (why: string) => {
    isBroken = true;
    on.broken(why);
  };
  return (chunk) => {
    let rest = chunk;
    for (let end = rest.indexOf(10); !isBroken && end >= 0; end = rest.indexOf(10)) {
      const message = parseMessage(Buffer.concat([...parts, rest.subarray(0, end)]).toString("utf8"));
      parts = [];
      size = 0;
      rest = rest.subarray(end + 1);
      if (message) on.message(message);
      else fail("it answered something that is no message");
    }
    if (isBroken) return;
    parts.push(rest);
    size += rest.length;
    if (size > MAX_LINE_BYTES) fail(`its answer is longer than ${MAX_LINE_BYTES} bytes`);
  };
}

function parseMessage(line: string): PythonMessage | undefined {
  let said: Record<string, unknown>;
  try {
    said = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const id = Number(said.id);
  if (typeof said.stream === "string")
    return {
      kind: "stream",
      stream: said.stream === "stderr" ? "stderr" : "stdout",
      text: String(said.text),
    };
  if (typeof said.touch === "string") return { kind: "touch", activity: said.touch };
  if (typeof said.emit === "string")
    return { kind: "emit", event: said.emit, data: (said.data ?? {}) as Record<string, unknown> };
  if (typeof said.error === "object" && said.error !== null) {
    const { code, message, traceback } = said.error as Record<string, unknown>;
    return {
      kind: "error",
      id,
      code: String(code),
      message: String(message),
      traceback: String(traceback ?? ""),
    };
  }
  return "result" in said ? { kind: "result", id, result: said.result } : undefined;
}

/** Where python-worker.py lies: beside this file in the sources, beside the bundle (or above its chunks) in dist/. */
export function pythonWorkerFile(): string {
  const places = ["./python-worker.py", "../python-worker.py"].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  );
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`python-worker.py is missing beside ${places[0]}`);
  return found;
}

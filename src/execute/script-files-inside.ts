// What is brought into an environment for a script, and what is fetched from it.

import type { Environment } from "../records/environment.ts";
import { EVENT_FILE, EVENT_VARIABLE, MAX_RESULT_BYTES } from "./prepare-script.ts";

/** Puts an event into the folder that ends with the environment; the variable that tells of it. */
export async function bringEvent(
  environment: Environment,
  event: string | undefined,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  if (event === undefined) return {};
  const path = `${environment.ownFolder}/${EVENT_FILE}`;
  await environment.writeFile(path, Buffer.from(event), { signal, mode: 0o600 });
  return { [EVENT_VARIABLE]: path };
}

/** Undefined where there is none. */
export async function fileInside(
  environment: Environment,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  try {
    return await environment.readFile(path, { signal, maxBytes: MAX_RESULT_BYTES });
  } catch {
    return undefined;
  }
}

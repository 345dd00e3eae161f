// Who may use a shared environment now (W6): one run at a time for a `job` or a NAME, in the order they came.
//
// I1. Within one node. Nodes that share a database each have their own places, but for what lives outside of both.

import { createHash } from "node:crypto";
import { whenAborted } from "../../kernel/abort.ts";
import type { EnvironmentSpec } from "../../records/environment-spec.ts";

/**
 * What tells one shared environment from another: profile (a home's folder), backend, digest of the spec, scope.
 * Undefined = it is the run's own. @source SEMANTICS W6
 */
export function scopeKey(of: {
  home: string;
  spec: EnvironmentSpec;
  jobId: string | undefined;
}): string | undefined {
  const { home, spec, jobId } = of;
  const { scope = "run" } = spec;
  if (scope === "run" || (scope === "job" && jobId === undefined)) return undefined;
  const owner = scope === "job" ? `job/${jobId}` : `name/${scope}`;
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  const sorted = Object.entries(spec).sort(([one], [other]) => (one < other ? -1 : 1));
  return [digest(home).slice(0, 12), spec.backend, digest(JSON.stringify(sorted)).slice(0, 12), owner].join(
    "/",
  );
}

export interface ScopeLocks {
  /** Resolves with the release when it is this one's turn; at once without a key. Rejects with the signal's reason. */
  take(key: string | undefined, signal: AbortSignal): Promise<() => void>;
}

/** One per node. */
export function makeScopeLocks(): ScopeLocks {
  /** The last in line for each key; settled = free. */
  const tails = new Map<string, Promise<void>>();
  return {
    async take(key, signal) {
      signal.throwIfAborted();
      if (key === undefined) return () => {};
      const before = tails.get(key) ?? Promise.resolve();
      let free = () => {};
      const mine = new Promise<void>((resolve) => {
        free = resolve;
      });
      // Whoever gives up still passes the turn on: those behind wait for the one before as well.
      const tail = before.then(() => mine);
      tails.set(key, tail);
      const release = () => {
        free();
        if (tails.get(key) === tail)
          void tail.then(() => void (tails.get(key) === tail && tails.delete(key)));
      };
      const abort = whenAborted(signal);
      try {
        await Promise.race([before, abort.promise]);
        signal.throwIfAborted();
        return release;
      } catch (error) {
        release();
        throw error;
      } finally {
        abort.release();
      }
    },
  };
}

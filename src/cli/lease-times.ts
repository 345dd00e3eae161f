// NIGHTSHIFT_LEASE and NIGHTSHIFT_BEAT: how long a claim holds without a sign of life, and how often one is given (L4).
//
// I1. All nodes of a store should agree: a node whose beat is longer than the others' lease loses its runs to them.

import { BEAT_MS, LEASE_MS } from "../app/node.ts";
import type { NodeOptions } from "../app/node-options.ts";
import { Fault } from "../kernel/errors.ts";
import { formatDuration, parseDuration } from "../kernel/time.ts";

/** Below this a busy machine loses leases for nothing. */
const SHORTEST_MS = 100;

/** The variables as node options; absent ones keep the defaults (60 s and 15 s). Throws `input.usage`. */
export function leaseTimes(
  env: Readonly<Record<string, string | undefined>>,
): Pick<NodeOptions, "leaseMs" | "beatMs"> {
  const leaseMs = durationOf(env, "NIGHTSHIFT_LEASE");
  const beatMs = durationOf(env, "NIGHTSHIFT_BEAT") ?? (leaseMs && Math.round(leaseMs / 4));
  const lease = leaseMs ?? LEASE_MS;
  if ((beatMs ?? BEAT_MS) * 2 > lease)
    throw new Fault(
      "input.usage",
      `NIGHTSHIFT_BEAT ${formatDuration(beatMs ?? BEAT_MS)} is too long for a lease of ${formatDuration(lease)}.`,
      { hint: "Make it at most half of NIGHTSHIFT_LEASE." },
    );
  return { ...(leaseMs !== undefined && { leaseMs }), ...(beatMs !== undefined && { beatMs }) };
}

function durationOf(
  env: Readonly<Record<string, string | undefined>>,
  name: "NIGHTSHIFT_LEASE" | "NIGHTSHIFT_BEAT",
): number | undefined {
  const text = env[name];
  if (!text) return undefined;
  const value = parseDuration(text);
  if (value !== undefined && value >= SHORTEST_MS) return value;
  throw new Fault("input.usage", `${name} "${text}" is not a duration of at least 100ms.`, {
    hint: "Write a duration such as 60s, or remove the variable.",
  });
}

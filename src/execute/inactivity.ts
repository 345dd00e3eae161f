// When a run's silence, or its length, has reached the limit (law 6, L14). Pure; the worker thread asks it.
//
// I1. All times are monotonic ms of one clock: a suspended laptop or a stepped wall clock never makes a run idle.

/** What is known of one run. `cpuMs` is the last sample of its group. */
export interface Activity {
  readonly idleMs: number;
  readonly totalMs: number;
  readonly startedAt: number;
  readonly lastActivityAt: number;
  /** `start`, `stdout`, `stderr`, `cpu`, … */
  readonly lastActivity: string;
  readonly cpuMs: number;
}

/** A run that starts now. Limits in ms, 0 = off. */
export function startActivity(limits: { idleMs: number; totalMs: number }, at: number): Activity {
  return { ...limits, startedAt: at, lastActivityAt: at, lastActivity: "start", cpuMs: 0 };
}

/** Output, or anything else that counts. */
export function noteActivity(activity: Activity, what: string, at: number): Activity {
  return { ...activity, lastActivity: what, lastActivityAt: Math.max(at, activity.lastActivityAt) };
}

/** A sample of the group's CPU time. Any change counts: it grows by work and falls when a member ends. */
export function noteCpu(activity: Activity, cpuMs: number, at: number): Activity {
  return cpuMs === activity.cpuMs ? activity : { ...noteActivity(activity, "cpu", at), cpuMs };
}

export interface ReachedLimit {
  kind: "idleTimeout" | "totalTimeout";
  limitMs: number;
  lastActivity: string;
  lastActivityAt: number;
}

/** The limit that is reached at `now`, or undefined. The total limit is named first: it says more. */
export function reachedLimit(activity: Activity, now: number): ReachedLimit | undefined {
  const { idleMs, totalMs, startedAt, lastActivity, lastActivityAt } = activity;
  const last = { lastActivity, lastActivityAt };
  if (totalMs > 0 && now - startedAt >= totalMs) return { kind: "totalTimeout", limitMs: totalMs, ...last };
  if (idleMs > 0 && now - lastActivityAt >= idleMs) return { kind: "idleTimeout", limitMs: idleMs, ...last };
  return undefined;
}

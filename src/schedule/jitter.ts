// Jitter: when a slot starts, as a stable function of job and slot (T5). It never changes which slot it is.
//
// I1. The same job and slot give the same shift on every node, for ever: no state, no randomness.

import { Fault } from "../kernel/errors.ts";
import { formatDuration, type Instant } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { Schedule } from "../records/schedule.ts";
import { smallestGap } from "./next-slot.ts";

/** A whole number of ms, 0 ≤ j ≤ `jitterMs`. */
export function jitterOf(jobId: string, slot: Instant, jitterMs: number): number {
  return jitterMs <= 0 ? 0 : hash(`${jobId}/${slot}`) % (Math.floor(jitterMs) + 1);
}

/** When the slot may start: its instant plus its jitter. */
export function jitteredInstant(job: Pick<Job, "id" | "jitterMs">, slot: Instant): Instant {
  return slot + jitterOf(job.id, slot, job.jitterMs);
}

/** Throws `job.invalid` where jitter could reach half way to the next slot or beyond (T5). A once-job may have any. */
export function checkJitter(schedule: Schedule | undefined, jitterMs: number): void {
  const gap = schedule && smallestGap(schedule);
  if (gap === undefined || jitterMs <= gap / 2) return;
  throw new Fault("job.invalid", `jitter ${formatDuration(jitterMs)} is more than half the smallest gap`, {
    hint: `Slots are as close as ${formatDuration(gap)}: use at most ${formatDuration(Math.floor(gap / 2))}.`,
    details: { jitterMs, limitMs: Math.floor(gap / 2) },
  });
}

/** 53 bits of two mixed 32-bit lanes: even over milliseconds, the same on every engine. @source murmur3's finaliser */
function hash(text: string): number {
  let a = 0x9e3779b9;
  let b = 0x85ebca6b;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
    b ^= a >>> 13;
  }
  a = mixed(a ^ text.length);
  b = mixed(b ^ a);
  return (b >>> 11) * 2 ** 32 + (a >>> 0);
}

function mixed(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

// Growing delays between tries, with jitter so that many failures do not come back in step.

export interface BackoffPolicy {
  delayMs: number;
  /** Factor per further try; 1 = constant. */
  factor: number;
  maxDelayMs: number;
}

/** Delay before try `attempt + 1`, where `attempt` counts from 1. `random` in [0,1) spreads it over ±10 %. */
export function backoffMs(attempt: number, policy: BackoffPolicy, random: number): number {
  const plain = policy.delayMs * policy.factor ** Math.max(0, attempt - 1);
  return Math.round(Math.min(plain, policy.maxDelayMs) * (0.9 + 0.2 * random));
}

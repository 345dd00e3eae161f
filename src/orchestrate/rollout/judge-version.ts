// Whether a version does worse than the one before it, beyond what its rollout allows (DESIGN §12). Pure.

import type { Rollout, VersionAttempt } from "../../records/rollout.ts";

/** Attempts of one version that have ended. */
export interface VersionSums {
  version: string;
  attempts: number;
  failures: number;
  /** In percent of the attempts; 0 without any. */
  failureRate: number;
  /** Of those that succeeded; undefined without any. */
  medianMs: number | undefined;
}

/** Below so many attempts of the baseline it is too little known to be compared with: the version is judged as against a baseline without failures, and by no duration. */
const LEAST_OF_BASELINE = 5;
/** Medians that lie closer than this are the same, whatever their ratio: a task of 2 ms may take 4. */
const LEAST_SLOWDOWN_MS = 50;

/** The sums of the version and of its baseline. */
export function sumVersions(
  { version, baseline }: Pick<Rollout, "version" | "baseline">,
  attempts: readonly VersionAttempt[],
): { version: VersionSums; baseline: VersionSums } {
  return { version: sumsOf(version, attempts), baseline: sumsOf(baseline, attempts) };
}

function sumsOf(version: string, attempts: readonly VersionAttempt[]): VersionSums {
  const own = attempts.filter((one) => one.version === version);
  const failures = own.filter(({ hasFailed }) => hasFailed).length;
  const durations = own.flatMap((one) => (one.hasFailed ? [] : (one.durationMs ?? [])));
  return {
    version,
    attempts: own.length,
    failures,
    failureRate: own.length === 0 ? 0 : (100 * failures) / own.length,
    medianMs: medianOf(durations),
  };
}

/** Why everything must go back to the baseline, as a sentence; undefined = the version may go on. */
export function whyRollBack(
  { state, bounds }: Pick<Rollout, "state" | "bounds">,
  { version, baseline }: { version: VersionSums; baseline: VersionSums },
): string | undefined {
  if (state !== "running" || version.attempts < bounds.minSamples) return undefined;
  const isKnown = baseline.attempts >= LEAST_OF_BASELINE;
  const usualRate = isKnown ? baseline.failureRate : 0;
  if (version.failureRate - usualRate > bounds.maxMoreFailures) {
    const besides = isKnown
      ? `${baseline.failures} of ${baseline.attempts} of ${baseline.version}`
      : `too few of ${baseline.version} to compare`;
    return `${version.failures} of ${version.attempts} attempts of ${version.version} failed (${besides}): more than ${bounds.maxMoreFailures} percentage points above`;
  }
  const [own, usual] = [version.medianMs, baseline.medianMs];
  if (!isKnown || own === undefined || usual === undefined) return undefined;
  if (own <= usual * bounds.maxSlowdown || own - usual <= LEAST_SLOWDOWN_MS) return undefined;
  return `${version.version} takes ${own} ms in the middle, ${baseline.version} ${usual} ms: more than ${bounds.maxSlowdown} times as long`;
}

function medianOf(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}

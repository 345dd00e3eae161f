// What every benchmark shares: repeats with their spread, the disk's own speed, and the form of a result.

import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One line of the table. `ok` undefined = no goal, shown for insight. */
export interface Result {
  what: string;
  value: string;
  goal?: string;
  ok?: boolean;
  /** Durability, spread, what was compared. */
  note?: string;
}

/** A benchmark by name. */
export interface Benchmark {
  name: string;
  run(setup: Setup): Promise<Result[]>;
}

export interface Setup {
  repeats: number;
  /** Says what is under way, on stderr. */
  say(text: string): void;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** `12.3 (11.0 … 14.2)`: the median and the extremes of the repeats. */
export function spread(values: readonly number[], digits = 1): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)} … ${high.toFixed(digits)})`;
}

/** How often a second this folder's disk takes a 4 kB append and an fsync, measured for half a second. */
export function fsyncsPerSecond(folder: string): number {
  const file = openSync(join(folder, "fsync.probe"), "w", 0o600);
  const page = Buffer.alloc(4_096, 1);
  try {
    const began = performance.now();
    let count = 0;
    while (performance.now() - began < 500) {
      writeSync(file, page);
      fsyncSync(file);
      count += 1;
    }
    return count / ((performance.now() - began) / 1_000);
  } finally {
    closeSync(file);
    rmSync(join(folder, "fsync.probe"));
  }
}

/** Runs `work` with a folder that is removed afterwards. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits until `isTrue`, looking every millisecond; fails after `limitMs`. */
export async function until(
  what: string,
  isTrue: () => Promise<boolean> | boolean,
  limitMs = 120_000,
): Promise<void> {
  const began = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - began > limitMs) throw new Error(`${what} took more than ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

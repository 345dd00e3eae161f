import { describe, expect, onTestFinished, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import type { ProgramExecutors } from "../../src/app/executors/registry.ts";
import { addJob } from "../../src/app/jobs.ts";
import { startNode } from "../../src/app/node.ts";
import { formatInstant } from "../../src/kernel/time.ts";
import { testContext } from "../support/home.ts";

const JOBS = 60;

async function addJobsDueAt(context: Context, at: number): Promise<void> {
  for (let number = 0; number < JOBS; number++) {
    const schedule = { kind: "at" as const, at: formatInstant(at) };
    const run = { task: { executor: "note" } };
    await addJob(context, { id: `job-${number}`, schedule, run, effects: "none", deliver: [] });
  }
}

/** Starts a node; resolves with the passes it made until every job has run. */
async function passesUntilAllRan(context: Context): Promise<number[]> {
  const decided: number[] = [];
  let left = JOBS;
  const allEnded = new Promise<void>((resolve, reject) => {
    startNode({
      context,
      maxParallelRuns: JOBS,
      onPass: ({ decidedJobs }) => decidedJobs > 0 && decided.push(decidedJobs),
      onRunEnded: () => {
        left -= 1;
        if (left === 0) resolve();
      },
    }).then((node) => onTestFinished(() => node.stop({ graceMs: 0 })), reject);
  });
  await allEnded;
  return decided;
}

describe("many jobs due in one second", () => {
  test("T8: on time, the first pass takes a few, so that the first job does not wait for the last; each runs once", async () => {
    const ran: string[] = [];
    const executors: ProgramExecutors = { note: ({ ctx }) => void ran.push(ctx.run.jobId ?? "") };
    const context = await testContext({ executors });
    await addJobsDueAt(context, Math.ceil(Date.now() / 1_000) * 1_000 + 6_000);

    const decided = await passesUntilAllRan(context);

    expect(decided).toEqual([16, JOBS - 16]);
    expect(new Set(ran).size).toBe(JOBS);
    expect(ran).toHaveLength(JOBS);
  });

  test("O1: late, one pass takes all of them, so that what was missed is told at once", async () => {
    const executors: ProgramExecutors = { note: () => {} };
    const context = await testContext({ executors });
    const at = Math.ceil(Date.now() / 1_000) * 1_000 + 6_000;
    await addJobsDueAt(context, at);
    await context.clock.sleep(Math.max(0, at + 200 - context.clock.now()), AbortSignal.timeout(10_000));

    expect(await passesUntilAllRan(context)).toEqual([JOBS]);
  });
});

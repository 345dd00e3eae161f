import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readAudit } from "../../src/app/audit.ts";
import type { Context } from "../../src/app/context.ts";
import { diagnose } from "../../src/app/doctor.ts";
import type { RunDocument } from "../../src/app/documents.ts";
import { explain } from "../../src/app/explain-run.ts";
import { addJob, queueRun, showJob } from "../../src/app/jobs.ts";
import { runHere, startNode, tickOnce } from "../../src/app/node.ts";
import type { NightshiftNode } from "../../src/app/node-options.ts";
import { resolveRun } from "../../src/app/resolve-run.ts";
import { cancelRun, listRuns, runEvents, showRun } from "../../src/app/runs.ts";
import { waitForChange } from "../../src/app/wait-for-change.ts";
import type { JobDocument } from "../../src/records/job.ts";
import { testContext, writeScript } from "../support/home.ts";

/** Starts a node that is stopped when the test has finished. */
async function nodeOn(
  context: Context,
  options: Partial<Parameters<typeof startNode>[0]> = {},
): Promise<NightshiftNode> {
  const node = await startNode({ context, ...options });
  onTestFinished(() => node.stop({ graceMs: 0 }));
  return node;
}

/** The run once it satisfies `isDone`; looks at each change of the ledger. */
async function whenRun(
  context: Context,
  runId: string,
  isDone: (run: RunDocument) => boolean,
): Promise<RunDocument> {
  const signal = AbortSignal.timeout(15_000);
  for (;;) {
    const run = await showRun(context, runId);
    if (isDone(run)) return run;
    signal.throwIfAborted();
    await waitForChange(context, { atMostMs: 50, signal });
  }
}

const ended = (run: RunDocument) => run.finishedAt !== null;
const settled = (run: RunDocument) =>
  ended(run) && run.deliveries.every(({ state }) => !["queued", "sending"].includes(state));

const script = (id: string, extra: Partial<JobDocument> = {}): JobDocument => ({
  id,
  run: { script: `${id}.sh` },
  ...extra,
});

describe("a node", () => {
  test("fires a once-job on time, archives its output, delivers it and accounts for the slot", async () => {
    const context = await testContext();
    await writeScript(context, "hello.sh", "#!/bin/sh\necho hello $NIGHTSHIFT_JOB_ID\n");
    const [fired] = await Promise.all([
      new Promise<string>((resolve) => {
        void nodeOn(context, { onRunEnded: (live) => resolve(live.claim.runId) });
      }),
      addJob(context, script("hello", { schedule: "in 1s" })),
    ]);

    const run = await whenRun(context, fired, settled);

    expect(run).toMatchObject({
      state: "succeeded",
      trigger: "schedule",
      outcome: { output: "hello hello\n" },
    });
    expect(run.deliveries).toMatchObject([
      { kind: "result", target: "local", state: "delivered", receipt: { id: run.outputFile } },
    ]);
    expect(await readFile(join(context.home.paths.root, run.outputFile ?? ""), "utf8")).toContain(
      "\nhello hello\n",
    );
    expect(await showJob(context, "hello")).toMatchObject({ state: "completed", next: null });
    expect(await readAudit(context, {})).toMatchObject({ due: 1, accounted: 1, isClean: true });
  });

  test("U2: a run by hand uses up no slot", async () => {
    const context = await testContext();
    await writeScript(context, "a.sh", "#!/bin/sh\necho a\n");
    await addJob(context, script("a", { schedule: "every 1h" }));
    const before = await showJob(context, "a");
    await nodeOn(context);

    const queued = await queueRun(context, "a");
    const run = await whenRun(context, queued.id, ended);

    expect(run).toMatchObject({ trigger: "manual", state: "succeeded", slot: null });
    expect((await showJob(context, "a")).next).toBe(before.next);
  });

  test("O1: equal failures alert once, a changed cause again, and recovery is told", async () => {
    const context = await testContext();
    await addJobWithSteps(context, ["exit 3", "exit 3", "echo no disk >&2; exit 4", "echo fine"]);
    const kinds: string[][] = [];
    for (let step = 0; step < 4; step++) {
      const queued = await queueRun(context, "flaky");
      await tickOnce({ context });
      const { deliveries } = await showRun(context, queued.id);
      kinds.push(deliveries.map(({ kind }) => kind).sort());
    }
    expect(kinds).toEqual([["alert"], [], ["alert"], ["recovery", "result"]]);
  });

  test("a script outside of reach is blocked before anything begins, and says what to do", async () => {
    const context = await testContext();
    await writeScript(context, "gone.sh", "#!/bin/sh\necho\n");
    await addJob(context, script("gone"));
    await writeScript(context, "gone.sh", "");
    const { unlink } = await import("node:fs/promises");
    await unlink(join(context.home.paths.scriptsFolder, "gone.sh"));

    const queued = await queueRun(context, "gone");
    await tickOnce({ context });

    expect(await showRun(context, queued.id)).toMatchObject({
      state: "blocked",
      startedAt: null,
      outcome: { error: { message: expect.stringContaining("gone.sh") } },
    });
  });

  test("a person cancels a running script: its process ends, the row says who asked", async () => {
    const context = await testContext();
    await writeScript(context, "long.sh", "#!/bin/sh\necho begun\nexec sleep 600\n");
    await addJob(context, script("long"));
    await nodeOn(context);
    const queued = await queueRun(context, "long");
    await whenRun(context, queued.id, (run) => run.state === "running");

    await cancelRun(context, queued.id);
    const run = await whenRun(context, queued.id, ended);

    expect(run).toMatchObject({
      state: "cancelled",
      reason: "test",
      outcome: { output: expect.stringContaining("begun") },
    });
    const processes = await context.ledger.processes(queued.id);
    expect(processes).toMatchObject([{ endedAt: expect.any(Number) }]);
    expect(processes.every((process) => !context.isAlive(process))).toBe(true);
  });

  test("L14: a silent script is ended by its idle limit, the message names the last activity", async () => {
    const context = await testContext();
    await writeScript(context, "idle.sh", "#!/bin/sh\necho begun\nexec sleep 600\n");
    await addJob(context, script("idle", { timeout: { idle: "1s" } }));
    await nodeOn(context);

    const queued = await queueRun(context, "idle");
    const run = await whenRun(context, queued.id, ended);

    expect(run).toMatchObject({
      state: "timedOut",
      reason: "idle",
      outcome: { limit: "idle", limitMs: 1_000, output: "begun\n" },
    });
  });

  test("L6: a failed run is tried again with the same idempotency key, as often as its policy says", async () => {
    const context = await testContext();
    await writeScript(
      context,
      "retry.sh",
      '#!/bin/sh\necho "$NIGHTSHIFT_ATTEMPT $NIGHTSHIFT_IDEMPOTENCY_KEY" >> "$OUT"\n[ "$NIGHTSHIFT_ATTEMPT" = 3 ]\n',
    );
    const out = join(context.home.paths.root, "attempts.txt");
    await addJob(context, script("retry", { retry: { max: 5, delay: "1ms" }, env: { OUT: out } }));
    await nodeOn(context);

    const queued = await queueRun(context, "retry");
    await whenRun(context, queued.id, ended);
    const signal = AbortSignal.timeout(10_000);
    while (
      (await context.ledger.attempts(queued.dedupeKey)).length < 3 ||
      (await context.ledger.attempts(queued.dedupeKey)).some((run) => run.finishedAt === undefined)
    ) {
      await waitForChange(context, { atMostMs: 50, signal });
      signal.throwIfAborted();
    }

    const attempts = await context.ledger.attempts(queued.dedupeKey);
    expect(attempts.map(({ attempt, state }) => [attempt, state])).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "succeeded"],
    ]);
    const lines = (await readFile(out, "utf8")).trim().split("\n");
    expect(lines).toEqual([1, 2, 3].map((attempt) => `${attempt} ${queued.id}`));
  });

  test("T7: a slot that comes due while a run of the job is live is skipped with that reason", async () => {
    const context = await testContext();
    await writeScript(context, "slow.sh", "#!/bin/sh\nexec sleep 600\n");
    await addJob(context, script("slow", { schedule: "every 1s", overlap: "skip" }));
    const skipped = new Promise<string>((resolve) => {
      void nodeOn(context, {
        onPass: ({ closedSlots }) => {
          const [first] = closedSlots;
          if (first) resolve(`${first.slots.state}: ${first.slots.reason}`);
        },
      });
    });

    expect(await skipped).toBe("skipped: overlap");
    const [live] = await listRuns(context, { state: ["running"] });
    expect((await explain(context, live?.id ?? "")).because).toBe("running");
  });
});

describe("work in process", () => {
  test("an embedding program's function runs, and its value is the result", async () => {
    const context = await testContext({
      executors: { double: ({ params }) => Number(params.n) * 2 },
    });
    await addJob(context, { id: "double", run: { task: { executor: "double", params: { n: 21 } } } });

    const queued = await queueRun(context, "double");
    await tickOnce({ context });

    expect(await showRun(context, queued.id)).toMatchObject({
      state: "succeeded",
      outcome: { result: 42, output: "42" },
    });
  });

  test("a throw is a failure with its message, not a broken node", async () => {
    const broken = () => {
      throw new Error("no such customer");
    };
    const context = await testContext({ executors: { broken } });
    await addJob(context, { id: "broken", run: { task: { executor: "broken" } } });

    const queued = await queueRun(context, "broken");
    await tickOnce({ context });

    expect(await showRun(context, queued.id)).toMatchObject({
      state: "failed",
      outcome: { error: { code: "exception", message: "no such customer" } },
    });
  });
});

describe("what people are told", () => {
  test("doctor finds that no node is up, and is content while one is", async () => {
    const context = await testContext();
    expect((await diagnose(context)).findings.map(({ code }) => code)).toEqual(["noNode"]);
    await nodeOn(context);
    expect((await diagnose(context)).findings).toEqual([]);
  });

  test("explain says that no node is up", async () => {
    const context = await testContext();
    await writeScript(context, "a.sh", "#!/bin/sh\n");
    await addJob(context, script("a"));
    const queued = await queueRun(context, "a");

    expect(await explain(context, queued.id)).toMatchObject({
      because: "nodeDown",
      sentence: expect.stringContaining("nightshift up"),
    });
  });

  test("L1: only an unknown run is resolved", async () => {
    const context = await testContext();
    await writeScript(context, "a.sh", "#!/bin/sh\n");
    await addJob(context, script("a"));
    const queued = await queueRun(context, "a");
    await tickOnce({ context });

    await expect(resolveRun(context, queued.id, { as: "succeeded" })).rejects.toMatchObject({
      code: "input.conflict",
    });
  });
});

async function addJobWithSteps(context: Context, steps: readonly string[]): Promise<void> {
  const state = join(context.home.paths.root, "step");
  const cases = steps.map((step, index) => `${index}) ${step};;`).join("\n");
  await writeScript(
    context,
    "flaky.sh",
    `#!/bin/sh\nn=$(cat "${state}" 2>/dev/null || echo 0)\necho $((n + 1)) > "${state}"\ncase $n in\n${cases}\nesac\n`,
  );
  await addJob(context, script("flaky"));
}

describe("work without a node", () => {
  test("U2: job run --here runs that one job and touches no other's due slots", async () => {
    const context = await testContext();
    await writeScript(context, "a.sh", "#!/bin/sh\necho a\n");
    await writeScript(context, "b.sh", "#!/bin/sh\necho b\n");
    await addJob(context, script("a"));
    await addJob(context, script("b", { schedule: "every 1s" }));
    const queued = await queueRun(context, "a");
    await context.clock.sleep(1_100, new AbortController().signal);

    const isDone = await runHere({ context }, { id: queued.id, signal: new AbortController().signal });

    expect(isDone).toBe(true);
    expect((await listRuns(context, {})).map(({ jobId, state }) => [jobId, state])).toEqual([
      ["a", "succeeded"],
    ]);
  });

  test("U2: a run that this process does itself ends when its caller stops waiting, and keeps what it said", async () => {
    const context = await testContext();
    await writeScript(context, "slow.sh", "#!/bin/sh\necho begun\nsleep 60\n");
    await addJob(context, script("slow"));
    const queued = await queueRun(context, "slow");
    const caller = new AbortController();
    const here = runHere({ context }, { id: queued.id, signal: caller.signal });
    for (let begun = false; !begun; ) {
      begun = (await runEvents(context, queued.id)).some(({ kind }) => kind === "stdout");
      if (!begun) await waitForChange(context, { atMostMs: 50, signal: AbortSignal.timeout(15_000) });
    }

    caller.abort(new Error("interrupted"));

    expect(await here).toBe(true);
    expect(await showRun(context, queued.id)).toMatchObject({
      ...{ state: "cancelled", reason: "interrupted", outcome: { output: "begun\n" } },
    });
  });

  test("tick runs everything that is due, also what finds no place at first", async () => {
    const context = await testContext();
    await writeScript(context, "a.sh", "#!/bin/sh\necho a\n");
    await addJob(context, script("a", { overlap: "allow" }));
    for (let run = 0; run < 5; run++) await queueRun(context, "a");

    const { started } = await tickOnce({ context, maxParallelRuns: 2 });

    expect(started).toHaveLength(5);
    expect((await listRuns(context, { state: ["succeeded"] })).length).toBe(5);
  });
});

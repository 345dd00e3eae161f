// Runs that are no job's: their work travels in the row, and everything else treats them as any other run.

import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentTempFolder } from "../../src/app/agent/temp-folder.ts";
import type { Context } from "../../src/app/context.ts";
import { Housekeeping } from "../../src/app/housekeeping.ts";
import { tickOnce } from "../../src/app/node.ts";
import { queueAgentRun } from "../../src/app/queue-agent-run.ts";
import { recover } from "../../src/app/recovery.ts";
import { recoveryDeps } from "../../src/app/recovery-deps.ts";
import { listRuns, retryRun, runEvents, runTree, showRun } from "../../src/app/runs.ts";
import type { DoWork } from "../../src/app/work.ts";
import { makeId } from "../../src/kernel/ids.ts";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import type { Job, JobDocument } from "../../src/records/job.ts";
import { openOutputFiles } from "../../src/store/files/output-files.ts";
import { agentContext } from "../support/agent-home.ts";

/** Answers with what it was asked, as the model would whose tongue is tied. */
function echoingAgent(seen: Job[] = []): DoWork {
  return async ({ job }, ctx) => {
    seen.push(job);
    if (job.work.kind !== "agent" || !(await ctx.begin())) return { state: "cancelled", by: "beforeStart" };
    ctx.emit("message-added", { text: "thinking" });
    return { state: "succeeded", output: `you said: ${job.work.agent.prompt}`, isSilent: false };
  };
}

const asking = (prompt: string, extra: Partial<JobDocument> = {}): JobDocument => ({
  id: "agent",
  run: { agent: { prompt } },
  ...extra,
});

function contextWith(seen: Job[] = []): Promise<Context> {
  return agentContext({ work: { agent: echoingAgent(seen) } });
}

test("U2: a run without a job does its own work, keeps its output in output/_agent/ and is delivered", async () => {
  const seen: Job[] = [];
  const context = await contextWith(seen);
  const { run: queued } = await queueAgentRun(context, asking("hello", { workdir: "/tmp" }));
  expect(queued).toMatchObject({ kind: "agent", jobId: null, state: "queued", trigger: "manual" });

  await tickOnce({ context });

  const run = await showRun(context, queued.id);
  expect(run).toMatchObject({ state: "succeeded", outcome: { output: "you said: hello" } });
  expect(run.outputFile).toMatch(/^output\/_agent\/\d{8}T\d{6}Z-.+\.md$/);
  const text = await readFile(join(context.home.paths.root, run.outputFile ?? ""), "utf8");
  expect(text).toContain("\nyou said: hello");
  expect(text).not.toContain("job:");
  expect(run.deliveries).toMatchObject([{ target: "local", state: "delivered" }]);
  expect(seen[0]).toMatchObject({ timezone: context.zone, workdir: "/tmp", effects: "external" });
  expect((await listRuns(context, {})).map(({ id }) => id)).toEqual([run.id]);
  expect(await runTree(context, run.id)).toMatchObject({ id: run.id, children: [] });
  expect((await runEvents(context, run.id)).map(({ kind }) => kind)).toContain("message-added");
});

test("a person's retry of a run without a job repeats its own work under a new key", async () => {
  const context = await contextWith();
  const { run: first } = await queueAgentRun(context, asking("again"));
  await tickOnce({ context });
  const again = await retryRun(context, first.id, { isSameKey: false });
  await tickOnce({ context });
  expect(await showRun(context, again.id)).toMatchObject({
    ...{ kind: "agent", jobId: null, state: "succeeded", outcome: { output: "you said: again" } },
    dedupeKey: `manual/${again.id}`,
  });
});

test("what cannot be an agent's run is refused before anything is queued", async () => {
  const context = await contextWith();
  const scheduled = asking("x", { schedule: "every 1h" });
  await expect(queueAgentRun(context, scheduled)).rejects.toMatchObject({ code: "input.refused" });
  const script: JobDocument = { id: "agent", run: { script: "a.sh" } };
  await expect(queueAgentRun(context, script)).rejects.toMatchObject({ code: "input.refused" });
  const lost = asking("x", { deliver: ["origin"] });
  await expect(queueAgentRun(context, lost)).rejects.toMatchObject({ code: /^target\./ });
  expect(await listRuns(context, {})).toEqual([]);
});

test("L8: outputs of runs without a job are kept as those of one job", async () => {
  const context = await contextWith();
  context.config.retention.outputFiles = 2;
  for (const prompt of ["a", "b", "c"]) {
    await queueAgentRun(context, asking(prompt));
    await tickOnce({ context });
  }
  const folder = join(context.home.paths.root, "output", "_agent");
  expect(await readdir(folder)).toHaveLength(3);
  const files = openOutputFiles(context.home.paths.root);
  const later = { ...context, clock: { ...context.clock, monotonicMs: () => 0 } };
  const housekeeping = new Housekeeping(later, files);
  later.clock.monotonicMs = () => 2 * HOUR;
  await housekeeping.keep();
  expect((await readdir(folder)).filter((name) => name.endsWith(".md"))).toHaveLength(2);
});

test("S2: the temp folder of a run whose node died is swept once it is old; that of a run which is open stays", async () => {
  const context = await contextWith();
  const { run: open } = await queueAgentRun(context, asking("still at it"));
  await startAndDie(context, open.id);
  const folder = agentTempFolder(context.home.paths);
  const { clock } = context;
  const [old, young] = [makeId(0, context.random), makeId(1, context.random)];
  const longAgo = new Date(clock.now() - 2 * HOUR);
  for (const id of [open.id, old, young, "notes"]) {
    await mkdir(join(folder, id), { recursive: true });
    await writeFile(join(folder, id, "left.txt"), "x");
    const at = id === young ? new Date(clock.now()) : longAgo;
    await utimes(join(folder, id), at, at);
  }
  let monotonic = 0;
  const later = { ...context, clock: { ...clock, monotonicMs: () => monotonic } };
  const housekeeping = new Housekeeping(later, openOutputFiles(context.home.paths.root));
  monotonic = 2 * HOUR;
  await housekeeping.keep();
  expect((await readdir(folder)).sort()).toEqual([open.id, young, "notes"].sort());
});

test("S3, L6: a node died amid an agent's run: it is unknown, and shows what was spent and what was reserved", async () => {
  const context = await contextWith();
  const { run: queued } = await queueAgentRun(context, asking("dear"));
  await startAndDie(context, queued.id);
  await context.ledger.openBudget(queued.id, { maxTokens: 10_000, maxMicroUsd: 2_000_000 });
  const reservation = { rootId: queued.id, tokens: 900, microUsd: 90_000 };
  await context.ledger.reserve(reservation);
  const spent = { inputTokens: 700, outputTokens: 100, microUsd: 80_000, calls: 1 };
  await context.ledger.settle(reservation, spent);
  await context.ledger.reserve(reservation);

  const node = { nodeId: "heir", leaseMs: MINUTE, isQuarantineOn: undefined };
  await recover(recoveryDeps(context, node), AbortSignal.timeout(10_000));

  const run = await showRun(context, queued.id);
  expect(run).toMatchObject({
    state: "unknown",
    usage: { tokensIn: 700, tokensOut: 100, tokensReserved: 900, costUsd: 0.17 },
  });
  expect(run.deliveries).toMatchObject([{ kind: "alert" }]);
});

/** Claims and starts it for a node that is gone: its lease has run out. */
async function startAndDie(context: Context, runId: string): Promise<void> {
  const { claimed } = await context.ledger.pass({
    ...{ nodeId: "dead", now: context.clock.now(), capacity: 1, liveRuns: 0, leaseMs: -1 },
    ...{ decide: context.decide, digest: context.digest, cannotPrepare: () => undefined },
  });
  expect(claimed.map(({ run }) => run.id)).toEqual([runId]);
  await context.ledger.startRuns(claimed.map(({ claim }) => ({ claim, startedAt: context.clock.now() })));
}

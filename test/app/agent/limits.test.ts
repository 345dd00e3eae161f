// What ends an agent's run, and what is kept of it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { updateJob } from "../../../src/app/job-editing.ts";
import { addJob, queueRun } from "../../../src/app/jobs.ts";
import { startNode } from "../../../src/app/node.ts";
import { cancelRun, runEvents, showRun } from "../../../src/app/runs.ts";
import { callTools, makeGate, say } from "../../support/model-server.ts";
import { agentJob, runAgain, runOnce, scriptedHome } from "./scripted-home.ts";

const sh = (command: string) => callTools([{ name: "terminal", arguments: { command } }]);

describe("limits of an agent's run", () => {
  test("L14: a model that stalls is silence; the message names the last activity, the turn and the model", async () => {
    const { context } = await scriptedHome([
      sh("true"),
      say(["It looks", " like"], { breaks: { after: 2, by: "stall" } }),
    ]);
    const job = agentJob("stall", { prompt: "x" }, { timeout: { idle: "2s" } });
    const run = await runOnce(context, job);
    expect(run).toMatchObject({
      state: "timedOut",
      reason: "idle",
      outcome: { limit: "idle", limitMs: 2_000, lastActivity: expect.stringMatching(/^turn 2, model main/) },
    });
  });

  test("L14: a slow drip is life, and so is a command that only computes", async () => {
    const { context } = await scriptedHome([
      sh("end=$(($(date +%s)+4)); while [ $(date +%s) -lt $end ]; do :; done"),
      say(["still", " here", " and", " done"], { pieceDelayMs: 900 }),
    ]);
    const run = await runOnce(context, agentJob("drip", { prompt: "x" }, { timeout: { idle: "3s" } }));
    expect(run).toMatchObject({ state: "succeeded", outcome: { output: "still here and done" } });
  });

  test("a cancel in the middle of an answer keeps the part there is, and the conversation", async () => {
    const gate = makeGate();
    const { context } = await scriptedHome([say(["So far, so good. ", "And on."], { gate })]);
    await addJob(context, agentJob("long", { prompt: "x" }));
    const { id } = await queueRun(context, "long");
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const onEvent = ({ kind }: { kind: string }) => {
      if (kind === "text-arrived") arrive();
    };
    const node = await startNode({ context, agent: { onEvent } });
    gate.release(1);
    await arrived;
    await cancelRun(context, id);
    await node.stop({ graceMs: 10_000 });
    const run = await showRun(context, id);
    expect(run).toMatchObject({
      state: "cancelled",
      outcome: { output: "So far, so good. " },
      usage: { turns: 1 },
    });
    expect(run.trajectoryFile).not.toBeNull();
  });

  test("S3: a call that the budget has no room for is not made; what was spent is counted, what was said is kept", async () => {
    const { context, server } = await scriptedHome(
      [{ ...sh("echo a"), text: "Looking.", usage: { input: 900, output: 20 } }],
      { model: ", maxOutputTokens: 100" },
    );
    const run = await runOnce(context, agentJob("poor", { prompt: "x", budget: { tokens: 3_500 } }));
    expect(server.requests).toHaveLength(1);
    expect(run).toMatchObject({
      state: "failed",
      reason: "budget",
      outcome: { output: "Looking.", error: { code: "budget" } },
      usage: { tokensIn: 900, tokensOut: 20 },
    });
    const budget = await context.ledger.budget(run.rootId);
    expect(budget).toMatchObject({
      maxTokens: 3_500,
      spent: { inputTokens: 900, calls: 1 },
      reservedTokens: 0,
    });
  });

  test("S3: dollars cannot be limited for a model without a price: refused at creation", async () => {
    const { context } = await scriptedHome([]);
    const job = agentJob("blind", { prompt: "x", budget: { usd: 1 } });
    await expect(addJob(context, job)).rejects.toMatchObject({ code: "model.unpriced" });
  });

  test("law 8: what its own history says cannot fit the budget is blocked before a token is spent", async () => {
    const answer = say("ok", { usage: { input: 5_000, output: 10 } });
    const { context, server } = await scriptedHome([answer, answer, answer], {
      model: ", maxOutputTokens: 100",
    });
    await runOnce(context, agentJob("grown", { prompt: "x" }));
    await runAgain(context, "grown");
    await runAgain(context, "grown");
    await updateJob(context, "grown", {}, { agent: { budget: { tokens: 4_000 } } });
    const run = await runAgain(context, "grown");
    expect(server.requests).toHaveLength(3);
    expect(run).toMatchObject({ state: "blocked", reason: "preflight", deliveries: [{ kind: "alert" }] });
    expect(run.outcome).toMatchObject({
      error: { message: "its last 3 runs took at least 5010 tokens, the budget is 4000" },
    });
  });

  test("three malformed calls in a row end the run; one last turn answers when no turn is left", async () => {
    const bad = () => callTools([{ name: "terminal", arguments: "{" }]);
    const { context } = await scriptedHome([bad(), bad(), bad(), sh("true"), say("That is all I know.")]);
    const lost = await runOnce(context, agentJob("lost", { prompt: "x" }));
    const short = await runOnce(context, agentJob("short", { prompt: "x", maxTurns: 1 }));
    expect(lost).toMatchObject({ state: "failed", reason: "malformedCalls" });
    expect(short).toMatchObject({
      state: "succeeded",
      reason: "maxTurns",
      outcome: { output: "That is all I know." },
    });
  });

  test("law 8: a key that is gone when the slot comes blocks the run, and alerts once", async () => {
    const env = { PATH: process.env.PATH, HOME: "/", MY_KEY: "sk-not-a-real-key-at-all" };
    const { context, server } = await scriptedHome([], { env, model: ', key: "${env:MY_KEY}"' });
    await addJob(context, agentJob("keyless", { prompt: "x" }));
    Object.assign(context, { variable: () => undefined });
    const first = await runAgain(context, "keyless");
    const second = await runAgain(context, "keyless");
    expect(server.requests).toEqual([]);
    expect(first).toMatchObject({ state: "blocked", deliveries: [{ kind: "alert" }] });
    expect(first.outcome).toMatchObject({ error: { message: expect.stringContaining("MY_KEY is not set") } });
    expect(second).toMatchObject({ state: "blocked", deliveries: [] });
  });
});

test("secrets leave by no exit: not in the log, the ledger, the output, the conversation, the tape or the delivery", async () => {
  const secret = "hunter2-hunter2-hunter2";
  const { context } = await scriptedHome(
    [sh("echo $DB_PASSWORD; echo $DB_PASSWORD | rev"), say(`It is ${secret}.`)],
    {
      models: "  record: true\n",
    },
  );
  const told: string[] = [];
  const node = { agent: { onEvent: (event: unknown) => void told.push(JSON.stringify(event)) } };
  const job = agentJob("leak", { prompt: "Say it." }, { env: { DB_PASSWORD: secret } });
  const run = await runOnce(context, job, node);
  const kept = await Promise.all(
    ["md", "trajectory.jsonl", "cassette.jsonl"].map((ending) =>
      readFile(join(context.home.paths.root, (run.outputFile ?? "").replace(/md$/, ending)), "utf8"),
    ),
  );
  const everything = [
    ...kept,
    ...told,
    JSON.stringify(run),
    JSON.stringify(await runEvents(context, run.id)),
    JSON.stringify(await context.ledger.deliveries({ runId: run.id })),
  ].join("\n");
  expect(run.outcome?.output).toBe("It is [redacted].");
  expect(everything).toContain([...secret].reverse().join(""));
  expect(everything).not.toContain(secret);
});

// Recorded agent runs once more: without a network, or live from a turn on.

import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replayRun } from "../../../src/app/replay-run.ts";
import { callTools, say } from "../../support/model-server.ts";
import { tempFolder } from "../../support/temp.ts";
import { agentJob, runOnce, scriptedHome } from "./scripted-home.ts";

const RECORDED = { models: "  record: true\n" };
const signal = new AbortController().signal;

/** A run that counts a file's lines in a shell, recorded. */
async function recorded(more: Parameters<typeof scriptedHome>[0] = []) {
  const folder = await tempFolder();
  await writeFile(join(folder, "a.txt"), "1\n2\n");
  const steps = [
    callTools([{ name: "terminal", arguments: { command: "wc -l < a.txt; echo ran >> log.txt" } }]),
    say("Two lines."),
    ...(Array.isArray(more) ? more : []),
  ];
  const home = await scriptedHome(steps, RECORDED);
  const run = await runOnce(
    home.context,
    agentJob("count", { prompt: "How many lines?" }, { workdir: folder }),
  );
  return { ...home, folder, run };
}

test("S4: a replay repeats the run from its tape: no call, no command, no delivery, the same words", async () => {
  const { context, server, folder, run } = await recorded();

  const again = await replayRun(context, run.id, { signal });

  expect(again).toMatchObject({ state: "succeeded", reason: "replayed", outcome: { output: "Two lines." } });
  expect(again.turns.map(({ tools }) => tools.map(({ name, error }) => [name, error]))).toEqual([
    [["terminal", null]],
    [],
  ]);
  expect(server.requests).toHaveLength(2);
  expect(await readFile(join(folder, "log.txt"), "utf8")).toBe("ran\n");
  expect(again.deliveries).toEqual([]);
});

test("S4: what differs from the recording fails the replay, with the first difference", async () => {
  const { context, run } = await recorded();
  const file = join(context.home.paths.root, (run.outputFile ?? "").replace(/\.md$/, ".cassette.jsonl"));
  const tape = await readFile(file, "utf8");
  await writeFile(file, tape.replaceAll('"stdout\\":\\"2', '"stdout\\":\\"3'));

  const again = await replayRun(context, run.id, { signal });

  expect(again).toMatchObject({
    state: "failed",
    reason: "cassette.differs",
    outcome: { output: "Two lines." },
  });
  expect(again.outcome).toMatchObject({
    error: { message: expect.stringMatching(/^call 2 differs .* at messages\[3\]/) },
  });
});

test("S4: a fork plays the first turns and goes live from there, tools included", async () => {
  const { context, server, folder, run } = await recorded([
    callTools([{ name: "terminal", arguments: { command: "echo live >> log.txt" } }]),
    say("Two, I am sure."),
  ]);

  const fork = await replayRun(context, run.id, { forkTurns: 1, signal });

  expect(fork).toMatchObject({ state: "succeeded", reason: null, outcome: { output: "Two, I am sure." } });
  expect(server.requests).toHaveLength(4);
  expect(await readFile(join(folder, "log.txt"), "utf8")).toBe("ran\nlive\n");
});

test("a run that was not recorded, or whose tape is torn to nothing, is refused with what to do", async () => {
  const { context } = await scriptedHome([say("hi")]);
  const run = await runOnce(context, agentJob("plain", { prompt: "x" }));
  await expect(replayRun(context, run.id, { signal })).rejects.toMatchObject({
    code: "cassette.missing",
    hint: "Set `models.record: true` in config.yaml; later runs of agents can be replayed.",
  });
  const file = join(context.home.paths.root, (run.outputFile ?? "").replace(/\.md$/, ".cassette.jsonl"));
  await appendFile(file, '{"kind":"cass');
  expect(await replayRun(context, run.id, { signal })).toMatchObject({
    state: "failed",
    reason: "cassette.missing",
  });
});

// Commands from a chat on a real node and a server that speaks the Bot API: who is heard, what is done, and how often.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { TelegramListener, telegramListening } from "../../../src/app/chat/listen-telegram.ts";
import type { Context } from "../../../src/app/context.ts";
import { addJob, showJob } from "../../../src/app/jobs.ts";
import { startNode } from "../../../src/app/node.ts";
import { testContext, writeScript } from "../../support/home.ts";
import { startModelServer } from "../../support/model-server.ts";
import { BOT_TOKEN, startTelegramServer, type TelegramServer } from "../../support/telegram-server.ts";
import { tempFolder } from "../../support/temp.ts";

/** A home whose bot listens to user 77, with a job `hello`. */
async function listening(telegram: TelegramServer, path?: string): Promise<Context> {
  const home = path ?? join(await tempFolder(), "home");
  const model = await startModelServer([]);
  await mkdir(home, { recursive: true });
  await writeFile(
    join(home, "config.yaml"),
    `models: {default: main, named: {main: {provider: openai-compatible, id: m, baseUrl: "${model.baseUrl}"}}}
deliver:
  telegram: {token: "\${env:BOT_TOKEN}", baseUrl: "${telegram.baseUrl}", listen: {users: [77]}}
  allowPrivate: [127.0.0.1]
`,
    { mode: 0o600 },
  );
  const context = await testContext({ path: home, env: { PATH: process.env.PATH, BOT_TOKEN } });
  if (path === undefined) {
    await writeScript(context, "hello.sh", "#!/bin/sh\necho hello\n");
    await addJob(context, { id: "hello", run: { script: "hello.sh" } });
  }
  return context;
}

async function nodeOn(context: Context) {
  const node = await startNode({ context });
  onTestFinished(() => node.stop({ graceMs: 0 }));
  return node;
}

test("O4: a job made in a chat has that chat, and its thread, as its origin, and is echoed there", async () => {
  const telegram = await startTelegramServer();
  const context = await listening(telegram);
  await nodeOn(context);
  await telegram.whenAsked();

  telegram.write("/add every 6h Sum up what happened", { chat: -1001, thread: 17 });

  const [answer] = await telegram.sent(1);
  expect(answer).toMatchObject({ chat_id: "-1001", message_thread_id: 17 });
  expect(answer?.text).toMatch(/^Added sum-up-what-happened: every 6 hours\nNext: .*\nResult: here/);
  expect(await showJob(context, "sum-up-what-happened")).toMatchObject({
    run: { agent: { prompt: "Sum up what happened" } },
    origin: { platform: "telegram", chat: "-1001", thread: "17" },
    state: "scheduled",
  });
});

test("jobs are listed, run, paused and resumed; what cannot be done is answered with what to do", async () => {
  const telegram = await startTelegramServer();
  const context = await listening(telegram);
  await nodeOn(context);
  await telegram.whenAsked();

  for (const text of [
    "/jobs",
    "/run hello",
    "/pause hello too loud",
    "/resume hello",
    "/run nobody",
    "/frob",
  ])
    telegram.write(text);

  const texts = (await telegram.sent(6)).map(({ text }) => text);
  expect(texts).toEqual([
    expect.stringMatching(/hello: scheduled/),
    expect.stringMatching(/^Run \w{26} of hello is queued\.$/),
    "hello is paused.",
    "hello is scheduled.",
    expect.stringMatching(/There is no job &quot;nobody&quot;\. .*job list/),
    expect.stringMatching(/^Write:\n\/jobs/),
  ]);
  expect(await context.ledger.runs({ jobId: "hello" })).toHaveLength(1);
});

test("who is not named gets nothing: no answer, no deed; neither does plain talk", async () => {
  const telegram = await startTelegramServer();
  const context = await listening(telegram);
  await nodeOn(context);
  await telegram.whenAsked();

  telegram.write("/run hello", { user: 78 });
  telegram.write("good morning");
  telegram.write("/run@OtherBot hello");
  telegram.write("/jobs");

  expect(await telegram.sent(1)).toHaveLength(1);
  expect(await context.ledger.runs({})).toEqual([]);
  expect((await context.ledger.deliveries({})).map(({ key }) => key)).toEqual([
    "chat/telegram:123456789/1003|result|telegram:-1001|0",
  ]);
});

test("law 4: an update is acted on once: another node, and one that starts again, find it taken", async () => {
  const telegram = await startTelegramServer();
  const first = await listening(telegram);
  const node = await nodeOn(first);
  await telegram.whenAsked();
  const id = telegram.write("/run hello");
  await telegram.sent(1);
  // It dies before Telegram hears that the update was taken.
  await node.stop({ graceMs: 0 });

  const again = await listening(telegram, first.home.paths.root);
  expect(await again.ledger.takeChatUpdate("telegram:123456789", id)).toBe(false);
  await nodeOn(again);
  await telegram.whenAsked();
  telegram.write("/jobs");
  await telegram.sent(2);

  expect(telegram.offsets.at(-1)).toBeGreaterThan(id);
  expect(await again.ledger.runs({ jobId: "hello" })).toHaveLength(1);
});

test("what was written before anybody listened for the first time is passed over", async () => {
  const telegram = await startTelegramServer();
  telegram.write("/run hello");
  telegram.write("/run hello");
  const context = await listening(telegram);
  await nodeOn(context);
  await telegram.whenAsked();

  telegram.write("/jobs");

  expect((await telegram.sent(1))[0]?.text).toContain("hello");
  expect(telegram.offsets[0]).toBe(-1);
  expect(await context.ledger.runs({})).toEqual([]);
});

test("a refused question is asked again after the time that Telegram names", async () => {
  const telegram = await startTelegramServer();
  const context = await listening(telegram);
  await context.ledger.takeChatUpdate("telegram:123456789", 1);
  telegram.failNext(429, {
    ok: false,
    error_code: 429,
    description: "Too Many Requests",
    parameters: { retry_after: 0 },
  });
  const settings = telegramListening(context);
  if (!settings) throw new Error("nobody listens");
  const waits: number[] = [];
  const clock = {
    ...context.clock,
    sleep: (ms: number, signal: AbortSignal) => {
      waits.push(ms);
      return context.clock.sleep(ms > 10_000 ? ms : 0, signal);
    },
  };
  const listener = new TelegramListener({ ...context, clock }, settings);
  onTestFinished(() => listener.stop());

  listener.start();
  await telegram.whenAsked();

  expect(telegram.offsets).toEqual([2, 2]);
  expect(waits.filter((ms) => ms <= 2_000)).toHaveLength(1);
});

test("without `listen` nobody is heard; a user that is no number is refused with what to write", async () => {
  const telegram = await startTelegramServer();
  const context = await listening(telegram);
  const { telegram: settings } = context.config.deliver.platforms;
  const silent = { ...context.config.deliver, platforms: { telegram: { ...settings!, listen: undefined } } };
  expect(telegramListening({ ...context, config: { ...context.config, deliver: silent } })).toBeUndefined();

  const path = join(await tempFolder(), "home");
  await mkdir(path, { recursive: true });
  await writeFile(
    join(path, "config.yaml"),
    'deliver: {telegram: {token: "${env:BOT_TOKEN}", listen: {users: ["@ada"]}}}\n',
  );
  await expect(testContext({ path })).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringContaining("is no user id"),
  });
});

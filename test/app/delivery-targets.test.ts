// What people ask of targets, on a real home whose configuration names a platform on loopback.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dismissDelivery, listDeliveries } from "../../src/app/deliveries.ts";
import { deliveryFindings } from "../../src/app/delivery-findings.ts";
import { listTargets, renderFor, testTarget } from "../../src/app/delivery-targets.ts";
import { isFault } from "../../src/kernel/errors.ts";
import { serve } from "../deliver/loopback.ts";
import { BARE_ENV, testContext } from "../support/home.ts";
import { tempFolder } from "../support/temp.ts";

const never = new AbortController().signal;

async function homeWith(config: string, env: Record<string, string> = {}) {
  const path = join(await tempFolder(), "home");
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "config.yaml"), config);
  return testContext({ path, env: { ...BARE_ENV, ...env } });
}

const telegramConfig = (base: string) => `
deliver:
  telegram: {token: "\${env:TELEGRAM_BOT_TOKEN}", home: "-1001:17", baseUrl: "${base}"}
  matrix: {baseUrl: "https://matrix.example.org", token: "\${env:MATRIX_TOKEN}"}
  allowPrivate: [127.0.0.1]
`;
const env = { TELEGRAM_BOT_TOKEN: "123456789:AAtoken-of-this-test" };

test("targets: usable ones with their home, and for the others why not; a missing variable breaks its platform alone", async () => {
  const context = await homeWith(telegramConfig("http://127.0.0.1:9"), env);

  const platforms = new Map(listTargets(context).map((document) => [document.platform, document]));

  expect(platforms.get("telegram")).toMatchObject({
    isUsable: true,
    home: "telegram:-1001:17",
    maxLength: 4_000,
  });
  expect(platforms.get("matrix")?.why).toMatch(/MATRIX_TOKEN/);
  expect(platforms.get("slack")?.why).toBe(
    "slack is not configured: set deliver.slack.token (or .webhook) in config.yaml",
  );
  expect(platforms.get("local")).toMatchObject({ isUsable: true, address: null });
});

test("test: one line to the home channel, with the receipt; a refusal shows the platform's sentence", async () => {
  const server = await serve((response) => response.end('{"ok":true,"result":{"message_id":7}}'));
  const context = await homeWith(telegramConfig(new URL(server.url).origin), env);

  expect(await testTarget(context, "telegram", never)).toMatchObject([
    { target: "telegram:-1001:17", result: "delivered", receipt: { id: "7", status: 200 } },
  ]);
  expect(JSON.parse(server.received[0]!.body)).toMatchObject({ chat_id: "-1001", message_thread_id: 17 });
  expect(await listDeliveries(context, {})).toEqual([]);
});

test("test: a target that leads nowhere is refused with what to do", async () => {
  const context = await homeWith(telegramConfig("http://127.0.0.1:9"), env);

  const refused = await testTarget(context, "slack:C1", never).catch((error: unknown) => error);
  expect(isFault(refused) && refused.code).toBe("target.refused");
});

test("render: the parts as they would be sent, in the platform's own form", async () => {
  const context = await homeWith(telegramConfig("http://127.0.0.1:9"), env);

  const parts = renderFor(context, "telegram", `**bold**\n\n${"word ".repeat(1_000)}`);

  expect(parts.map(({ part }) => part)).toEqual([1, 2]);
  expect(parts[0]?.sent).toMatchObject({ text: expect.stringMatching(/^<b>bold<\/b>[\s\S]*\(1\/2\)$/) });
});

test("doctor: a platform that messages wait for, and one whose settings break it, are one finding each", async () => {
  const context = await homeWith(telegramConfig("http://127.0.0.1:9"), env);
  const row = {
    runId: undefined,
    jobId: undefined,
    kind: "alert",
    part: 0,
    body: "x",
    repeatability: "blind",
  } as const;
  const now = context.clock.now();
  for (const chat of ["1", "2"]) {
    const target = { platform: "telegram", chat, text: `telegram:${chat}` };
    await context.ledger.putDeliveries([{ ...row, key: chat, target, state: "queued" }], now);
  }
  const taken = await context.ledger.takeDeliveries({ nodeId: "n", now, leaseMs: 60_000, limit: 9 });
  await context.ledger.closeDeliveries(
    taken.map(({ id, token, owner }) => ({
      id,
      token,
      owner: owner ?? "",
      kind: "retry",
      error: "no answer",
      nextAttemptAt: now + 1,
    })),
  );

  expect((await deliveryFindings(context)).map(({ code, what }) => [code, what])).toEqual([
    ["platformDown", "2 messages wait for telegram: no answer."],
    ["platformBroken", expect.stringMatching(/^matrix cannot be used: .*MATRIX_TOKEN/)],
  ]);
});

test("dismiss: a dead message is let rest with who did it; a queued one is not", async () => {
  const context = await homeWith(telegramConfig("http://127.0.0.1:9"), env);
  const target = { platform: "telegram", chat: "1", text: "telegram:1" };
  const row = {
    runId: undefined,
    jobId: undefined,
    kind: "alert",
    target,
    part: 0,
    body: "x",
    repeatability: "blind",
  } as const;
  const now = context.clock.now();
  await context.ledger.putDeliveries(
    [
      { ...row, key: "a", state: "dead", error: "noHome: none" },
      { ...row, key: "b", state: "queued" },
    ],
    now,
  );
  const [[queued], [dead]] = await Promise.all([
    listDeliveries(context, { state: ["queued"] }),
    listDeliveries(context, { state: ["dead"] }),
  ]);

  expect(await dismissDelivery(context, dead!.id)).toMatchObject({
    state: "suppressed",
    error: "dismissed by test (dead: noHome: none)",
  });
  const refused = await dismissDelivery(context, queued!.id).catch((error: unknown) => error);
  expect(isFault(refused) && refused.code).toBe("input.conflict");
});

// Where a run's messages go, from the job as a person writes it to the requests that platforms get.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { deliveryFindings } from "../../src/app/delivery-findings.ts";
import { addJob, queueRun } from "../../src/app/jobs.ts";
import { tickOnce } from "../../src/app/node.ts";
import { showRun } from "../../src/app/runs.ts";
import { isFault } from "../../src/kernel/errors.ts";
import { type Received, serve } from "../deliver/loopback.ts";
import { manualClock } from "../support/clock.ts";
import { BARE_ENV, testContext } from "../support/home.ts";
import { tempFolder } from "../support/temp.ts";

const NOON_UTC = Date.UTC(2026, 10, 29, 12);
const TOKENS = { BOT: "123456789:AAtoken-of-this-test", SLACK: "xoxb-token-of-this-test" };

type Refusal = (request: Received) => { status: number; body: unknown } | undefined;

/** A home with Telegram and Slack on loopback. `say` is what the job's executor answers, or throws as an error. */
async function world({
  deliver = "",
  refuse = () => undefined,
}: {
  deliver?: string;
  refuse?: Refusal;
} = {}) {
  const server = await serve((response, _request, received) => {
    const refused = refuse(received);
    if (refused) return void response.writeHead(refused.status).end(JSON.stringify(refused.body));
    response.end('{"ok":true,"result":{"message_id":7},"ts":"1.2"}');
  });
  const base = new URL(server.url).origin;
  const path = join(await tempFolder(), "home");
  await mkdir(path, { recursive: true });
  await writeFile(
    join(path, "config.yaml"),
    `timezone: Europe/Berlin
deliver:
  telegram: {token: "\${env:BOT}", baseUrl: "${base}", home: "-1001:17"}
  slack: {token: "\${env:SLACK}", baseUrl: "${base}/api", home: C1}
  allowPrivate: [127.0.0.1]
${deliver}`,
  );
  const answer: { text: string; isFailing?: boolean } = { text: "" };
  const say = () => {
    if (answer.isFailing) throw new Error(answer.text);
    return answer.text;
  };
  const env = { ...BARE_ENV, ...TOKENS };
  const clock = manualClock(NOON_UTC);
  const context = await testContext({ path, clock, env, executors: { say } });
  const run = async (text: string, job: Record<string, unknown> = {}, { isFailing = false } = {}) => {
    Object.assign(answer, { text, isFailing });
    if (Object.keys(job).length > 0)
      await addJob(context, { id: "job", run: { task: { executor: "say" } }, ...job });
    const { id } = await queueRun(context, "job");
    await tickOnce({ context });
    return showRun(context, id);
  };
  return { context, run, server, sent: () => server.received.map(sentOf) };
}

/** Where and what, in one line. */
function sentOf({ path, body }: Received): string {
  const { chat_id, message_thread_id, channel, text } = JSON.parse(body) as Record<string, string | number>;
  const thread = message_thread_id === undefined ? "" : `:${message_thread_id}`;
  return `${path?.includes("/api/") ? `slack:${channel}` : `telegram:${chat_id}${thread}`} ${text}`;
}

describe("a result goes", () => {
  test("to the thread where it was asked for", async () => {
    const { run, sent } = await world();
    await run("done", { origin: { platform: "telegram", chat: "-1002", thread: "5" } });
    expect(sent()).toEqual(["telegram:-1002:5 done"]);
  });

  test("to every home with `all`; a list and `all` that lead to one place are one message", async () => {
    const { run, sent } = await world();
    await run("done", { deliver: ["all", "telegram", "telegram:-1001:17", "slack:C1", "telegram:-1003"] });
    expect(sent().sort()).toEqual(["slack:C1 done", "telegram:-1001:17 done", "telegram:-1003 done"]);
  });

  test("to its mirror as a copy that says so; a failure goes to `onFailure` alone", async () => {
    const { run, sent, server } = await world({ deliver: "  mirror: [slack, telegram]\n" });
    const job = { deliver: ["telegram"], onFailure: ["slack:C9"] };
    await run("done", job);
    expect(sent().sort()).toEqual([
      "slack:C1 [Copy: the result of job, sent to telegram:-1001:17]\n\ndone",
      "telegram:-1001:17 done",
    ]);
    server.received.length = 0;

    await run("no route to host", {}, { isFailing: true });
    expect(sent()).toEqual([expect.stringMatching(/^slack:C9 job failed: no route to host/)]);
  });

  test("between a header and a footer that people read, with the time in the job's zone; programs get it verbatim", async () => {
    const { run, sent, server } = await world({
      deliver: `  header: "*{name}* of {time}"\n  footer: "-- run {run}"\n`,
    });
    const hook = await serve((response) => response.end());
    const deliver = ["telegram", `webhook:${hook.url}`, "local"];

    const { id, outputFile } = await run("done", { name: "Nightly", timezone: "Asia/Tokyo", deliver });

    expect(sent()).toEqual([
      `telegram:-1001:17 <i>Nightly</i> of 2026-11-29 21:00:00 GMT+9 (Asia/Tokyo)\n\ndone\n\n-- run ${id}`,
    ]);
    expect(JSON.parse(hook.received[0]?.body ?? "").text).toBe("done");
    expect(outputFile).toMatch(/^output\//);
    server.received.length = 0;
    await run(" \n");
    expect(sent(), "an empty result is no message").toEqual([]);
  });

  test("a header with a word that means nothing is refused when the home opens", async () => {
    const error = await world({ deliver: `  header: "{jop}"\n` }).catch((caught) => caught);
    expect(isFault(error) && [error.code, error.message]).toEqual([
      "config.invalid",
      "deliver.header names {jop}, which means nothing",
    ]);
  });
});

describe("what does not arrive as it was meant", () => {
  const telegramRefusal = (description: string, parameters?: object) => ({
    status: 400,
    body: { ok: false, error_code: 400, description, parameters },
  });

  test("a chat that moved is followed; the ledger keeps where to, and doctor says so", async () => {
    const { context, run, sent } = await world({
      refuse: ({ body }) =>
        body.includes('"-1001"')
          ? telegramRefusal("Bad Request: group chat was upgraded", { migrate_to_chat_id: -100777 })
          : undefined,
    });

    const { deliveries } = await run("done", { deliver: ["telegram"] });

    expect(sent()[1]).toBe("telegram:-100777:17 done");
    expect(deliveries).toMatchObject([
      { state: "delivered", receipt: { note: expect.stringContaining("its id is now -100777") } },
    ]);
    expect((await deliveryFindings(context)).map(({ code, what }) => [code, what])).toEqual([
      ["chatMoved", "The chat of telegram:-1001:17 has moved: its id is now -100777."],
    ]);
  });

  test("a thread that is gone falls back to its chat, with a line that says so", async () => {
    const { run, sent } = await world({
      refuse: ({ body }) =>
        body.includes("message_thread_id")
          ? telegramRefusal("Bad Request: message thread not found")
          : undefined,
    });
    const { deliveries } = await run("done", { deliver: ["telegram"] });
    expect(sent()[1]).toBe("telegram:-1001 (The thread is gone; this message was meant for it.)\n\ndone");
    expect(deliveries).toMatchObject([{ state: "delivered", receipt: { note: expect.any(String) } }]);
  });

  test("a cut message says where the whole is, and there it is", async () => {
    const { run, sent, context } = await world();
    const whole = Array.from({ length: 15_000 }, (_, n) => `line ${n}`).join("\n");

    const { id, deliveries } = await run(whole, { deliver: ["telegram"] });

    expect(sent()).toHaveLength(20);
    expect(sent().at(-1)).toContain(
      `[cut: the whole text is kept on the node, in local (nightshift run show ${id})]`,
    );
    const local = deliveries.find(({ target }) => target === "local");
    expect(local).toMatchObject({ state: "delivered" });
    const file = await readFile(join(context.home.paths.root, local?.receipt?.id ?? ""), "utf8");
    expect(file).toContain("line 14999");
  });

  test("a secret leaves in no form: known ones go when the row is made, later ones on the last step before the wire", async () => {
    const { context, run, sent } = await world();
    await run(`the token is ${TOKENS.BOT}`, { deliver: ["telegram"] });
    // A row of another home, or from before the secret became one.
    await putUnredacted(context, `and ${TOKENS.SLACK} too`);
    await tickOnce({ context });

    expect(sent()).toEqual([
      "telegram:-1001:17 the token is [redacted]",
      "telegram:-1001 and [redacted] too",
    ]);
  });
});

async function putUnredacted(context: Context, body: string): Promise<void> {
  await context.ledger.putDeliveries(
    [
      {
        key: "k",
        runId: undefined,
        jobId: undefined,
        kind: "result",
        target: { platform: "telegram", chat: "-1001", text: "telegram:-1001" },
        part: 0,
        body,
        repeatability: "blind",
        state: "queued",
      },
    ],
    context.clock.now(),
  );
}

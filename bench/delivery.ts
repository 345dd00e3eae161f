// What delivery costs: 10,000 queued messages through the outbox to a server on loopback, how late a message is that 10,000
// others wait beside, and rendering.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { adapterTable } from "../src/deliver/adapter-table.ts";
import { makeWebhookAdapter } from "../src/deliver/adapters/webhook.ts";
import { Outbox } from "../src/deliver/outbox.ts";
import { toMarkdownDialect } from "../src/deliver/rendering/markdown-dialects.ts";
import { toSlackMrkdwn } from "../src/deliver/rendering/mrkdwn.ts";
import { toPlain } from "../src/deliver/rendering/plain.ts";
import { toRichHtml } from "../src/deliver/rendering/rich-html.ts";
import { toTelegramHtml, visibleLength } from "../src/deliver/rendering/telegram-html.ts";
import { splitParts } from "../src/deliver/split.ts";
import { makeLog } from "../src/kernel/log.ts";
import type { Clock } from "../src/kernel/time.ts";
import type { NewDelivery } from "../src/records/delivery.ts";
import type { OutboxLedger } from "../src/records/ledger/outbox.ts";
import { openLedger } from "../src/store/sql/open-ledger.ts";
import { type Benchmark, median, quantile, type Result, type Setup, spread, withFolder } from "./measure.ts";

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 10_000);
const TARGETS = 100;
/** Messages whose lateness is taken, one after the other. */
const PROBES = 100;
const TEXT_BYTES = 100_000;

const clock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  uptimeMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

/** Takes every request, in a thread of its own; tells of those to `/probe`, and of the last one of all. */
const SERVER = `
const { parentPort } = require("node:worker_threads");
let left = ${MESSAGES};
const server = require("node:http").createServer((request, response) => {
  request.resume().on("end", () => {
    response.end("{}");
    if (request.url === "/probe" || --left === 0) parentPort.postMessage("arrived");
  });
});
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

interface Post {
  ledger: OutboxLedger;
  outbox: Outbox;
  /** Resolves at the next request to `/probe`, or at the last of all. */
  arrived(): Promise<void>;
}

async function withPost<T>(work: (post: Post) => Promise<T>): Promise<T> {
  const server = new Worker(SERVER, { eval: true });
  const next = () => new Promise<unknown>((resolve) => server.once("message", resolve));
  const url = `http://127.0.0.1:${String(await next())}`;
  const named: Record<string, { url: string }> = { probe: { url: `${url}/probe` } };
  for (let target = 0; target < TARGETS; target++) named[`hook${target}`] = { url: `${url}/in` };
  try {
    return await withFolder(async (folder) => {
      const random = (bytes: number) => randomBytes(bytes);
      const host = { hostId: "h", machineId: "m", bootId: "b", pidNamespace: "p" };
      const ledger = await openLedger({ url: `sqlite:${join(folder, "ledger.db")}`, clock, random, host });
      const adapters = adapterTable([makeWebhookAdapter({ clock, allowPrivate: ["127.0.0.1"], named })]);
      const log = makeLog(() => {}, "error");
      const redact = (text: string) => text;
      const outbox = new Outbox({
        ledger,
        adapters,
        clock,
        random,
        log,
        nodeId: "bench",
        root: folder,
        redact,
      });
      try {
        return await work({ ledger, outbox, arrived: async () => void (await next()) });
      } finally {
        await outbox.stop(0);
        await ledger.close();
      }
    });
  } finally {
    await server.terminate();
  }
}

function message(name: string, hook: string): NewDelivery {
  return {
    key: name,
    runId: undefined,
    jobId: "bench",
    kind: "result",
    target: { platform: "webhook", chat: hook, text: `webhook:${hook}` },
    part: 0,
    body: `disk is at 91 % (${name})`,
    repeatability: "idempotent",
    state: "queued",
  };
}

const queued = (hookOf: (number: number) => string) =>
  Array.from({ length: MESSAGES }, (_, number) => message(`m${number}`, hookOf(number)));

/** Messages a second, and CPU of this process a message, ms. */
function drainAll(): Promise<{ perSecond: number; cpuMs: number }> {
  return withPost(async ({ ledger, outbox, arrived }) => {
    const rows = queued((number) => `hook${number % TARGETS}`);
    await ledger.putDeliveries(rows, Date.now());
    const all = arrived();
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    outbox.start();
    await all;
    await outbox.stop();
    const rest = await ledger.deliveries({ state: ["queued", "sending", "dead", "unknown"] });
    if (rest.length > 0) throw new Error(`${rest.length} messages were not delivered`);
    const { user, system } = process.cpuUsage(cpu);
    return {
      perSecond: MESSAGES / ((performance.now() - began) / 1_000),
      cpuMs: (user + system) / 1_000 / MESSAGES,
    };
  });
}

/** From the moment a message is put to its arrival, ms, while others wait behind a target that is not to be asked now. */
function latenesses(): Promise<number[]> {
  return withPost(async ({ ledger, outbox, arrived }) => {
    await ledger.putDeliveries(
      queued(() => "hook0"),
      Date.now(),
    );
    const [head] = await ledger.takeDeliveries({
      nodeId: "bench",
      now: Date.now(),
      leaseMs: 60_000,
      limit: 1,
    });
    if (!head) throw new Error("nothing was queued");
    const later = { kind: "retry", error: "asked to wait", nextAttemptAt: Date.now() + 3_600_000 } as const;
    await ledger.closeDeliveries([{ id: head.id, token: head.token, owner: "bench", ...later }]);
    outbox.start();
    const times: number[] = [];
    for (let probe = 0; probe < PROBES; probe++) {
      const arrival = arrived();
      const began = performance.now();
      await ledger.putDeliveries([message(`probe${probe}`, "probe")], Date.now());
      outbox.nudge();
      await arrival;
      times.push(performance.now() - began);
    }
    return times;
  });
}

const PARAGRAPH = [
  "## Nightly report of *web-1*",
  "**Disk** is at `91 %` on [web-1](https://example.org/w?a=1&b=2), see https://example.org/a_b_c; snake_case stays.",
  "- one ~~two~~ three",
  "- 夜班: a < b && c > d",
  "",
  "```sh",
  "df -h | grep '<x>' && echo **no**",
  "```",
  "A sentence as people write them, with nothing special in it at all, and then another one of the same kind.",
  "",
].join("\n");

function renderings(): Result[] {
  const text = PARAGRAPH.repeat(Math.ceil(TEXT_BYTES / Buffer.byteLength(PARAGRAPH)));
  const megabytes = Buffer.byteLength(text) / 1_000_000;
  const lengthOf = (body: string) => visibleLength(toTelegramHtml(body));
  const ways: readonly (readonly [string, () => unknown])[] = [
    ["Telegram's HTML", () => toTelegramHtml(text)],
    ["Slack's mrkdwn", () => toSlackMrkdwn(text)],
    ["Discord's Markdown", () => toMarkdownDialect(text, "discord")],
    ["Matrix's HTML", () => toRichHtml(text)],
    ["plain text", () => toPlain(text)],
    ["Telegram, split into parts", () => splitParts(text, { maxLength: 4_000, maxParts: 1_000, lengthOf })],
  ];
  return ways.map(([name, render]) => {
    render();
    const rates = Array.from({ length: 9 }, () => {
      const began = performance.now();
      render();
      return megabytes / ((performance.now() - began) / 1_000);
    });
    return { what: `rendering: ${name}`, value: `${spread(rates)} MB/s` };
  });
}

async function run({ repeats, say }: Setup): Promise<Result[]> {
  const drains: Awaited<ReturnType<typeof drainAll>>[] = [];
  const late: number[] = [];
  for (let repeat = 1; repeat <= repeats; repeat++) {
    say(`delivery ${repeat}/${repeats}`);
    drains.push(await drainAll());
    late.push(...(await latenesses()));
  }
  const count = MESSAGES.toLocaleString("en");
  return [
    {
      what: `outbox: ${count} messages to ${TARGETS} webhooks`,
      value: `${spread(
        drains.map(({ perSecond }) => perSecond),
        0,
      )} a second`,
      note: "each with its fsynced state, a request over loopback and its receipt",
    },
    {
      what: "outbox: CPU a message",
      value: `${spread(
        drains.map(({ cpuMs }) => cpuMs),
        2,
      )} ms`,
    },
    {
      what: `outbox: lateness beside ${count} that wait`,
      value: `p50 ${median(late).toFixed(1)} ms, p99 ${quantile(late, 0.99).toFixed(1)} ms`,
      note: "from being put to its arrival",
    },
    ...renderings(),
  ];
}

export const delivery: Benchmark = { name: "delivery", run };

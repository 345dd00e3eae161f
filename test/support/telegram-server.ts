// A server that speaks as much of Telegram's Bot API as a bot needs that takes commands: getMe, getUpdates, sendMessage.
// @source core.telegram.org/bots/api: an update is confirmed by a higher offset; a negative offset counts from the end.

import { once } from "node:events";
import http, { type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export const BOT_TOKEN = "123456789:AAtoken-of-this-test";

export interface Sent {
  chat_id: string;
  message_thread_id?: number;
  text: string;
}

export interface TelegramServer {
  baseUrl: string;
  /** A person writes to the bot; answers with the update's id. */
  write(text: string, from?: { user?: number; chat?: number; thread?: number }): number;
  /** The next messages that the bot sends; resolves when that many have come. */
  sent(count: number): Promise<Sent[]>;
  /** The offsets of every getUpdates so far. */
  offsets: number[];
  /** The next getUpdates is answered so. */
  failNext(status: number, body: object): void;
  /** Resolves when the bot waits for something to come. */
  whenAsked(): Promise<void>;
}

interface Update {
  update_id: number;
  message: Record<string, unknown>;
}

export async function startTelegramServer(): Promise<TelegramServer> {
  let updates: Update[] = [];
  let nextId = 1_000;
  const offsets: number[] = [];
  const sent: Sent[] = [];
  const failures: { status: number; body: object }[] = [];
  let held: { response: ServerResponse; offset: number } | undefined;
  let watchers: (() => void)[] = [];
  const tell = () => {
    for (const watcher of watchers.splice(0)) watcher();
  };
  const reply = (response: ServerResponse, result: unknown) =>
    response.end(JSON.stringify({ ok: true, result }));
  const pending = (offset: number) =>
    offset < 0 ? updates.slice(offset) : updates.filter(({ update_id }) => update_id >= offset);
  const flush = () => {
    if (!held || pending(held.offset).length === 0) return;
    reply(held.response, pending(held.offset));
    held = undefined;
  };
  const methods: Record<string, (response: ServerResponse, body: Record<string, unknown>) => void> = {
    getMe: (response) => reply(response, { id: 123_456_789, is_bot: true, username: "NightBot" }),
    getUpdates: (response, { offset = 0, timeout = 0 }) => {
      offsets.push(Number(offset));
      const failure = failures.shift();
      if (failure) return void response.writeHead(failure.status).end(JSON.stringify(failure.body));
      if (Number(offset) > 0) updates = updates.filter(({ update_id }) => update_id >= Number(offset));
      if (pending(Number(offset)).length > 0 || Number(timeout) === 0)
        return void reply(response, pending(Number(offset)));
      held = { response, offset: Number(offset) };
      tell();
    },
    sendMessage: (response, body) => {
      sent.push(body as unknown as Sent);
      reply(response, { message_id: sent.length });
      tell();
    },
  };
  const server = http.createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const method = request.url?.replace(`/bot${BOT_TOKEN}/`, "") ?? "";
      const text = Buffer.concat(chunks).toString("utf8");
      const answer = methods[method];
      if (!answer) response.writeHead(404).end('{"ok":false,"error_code":404,"description":"Not Found"}');
      else answer(response, text === "" ? {} : JSON.parse(text));
    })().catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const until = async (isDone: () => boolean) => {
    while (!isDone()) await new Promise<void>((resolve) => watchers.push(resolve));
  };
  watchers = [];
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    offsets,
    write(text, { user = 77, chat = -1001, thread } = {}) {
      const update_id = nextId++;
      const topic = thread === undefined ? {} : { message_thread_id: thread, is_topic_message: true };
      const from = { id: user, is_bot: false };
      updates.push({
        update_id,
        message: { message_id: update_id, from, chat: { id: chat }, text, ...topic },
      });
      flush();
      return update_id;
    },
    async sent(count) {
      await until(() => sent.length >= count);
      return sent;
    },
    failNext: (status, body) => void failures.push({ status, body }),
    whenAsked: () => until(() => held !== undefined),
  };
}

// The loop of a node that takes commands from a Telegram bot's chats. Off unless `deliver.telegram.listen` names users.
//
// I1. Who is not named gets nothing: no answer, no sign that anybody reads.
// I2. An update is taken in the ledger before it is acted on, so that neither a crash nor a second node acts twice.
// I3. What was written before anybody listened for the first time is not acted on.

import { routedRows } from "../../deliver/outbox-rows.ts";
import { route } from "../../deliver/route.ts";
import {
  askBotName,
  askUpdates,
  type ChatMessage,
  type ChatUpdate,
  type TelegramBot,
  type Updates,
} from "../../deliver/telegram-updates.ts";
import { backoffMs } from "../../kernel/backoff.ts";
import { messageOf } from "../../kernel/errors.ts";
import { makeAllowAddress } from "../../kernel/private-addresses.ts";
import { MINUTE, SECOND } from "../../kernel/time.ts";
import { parseSchedule } from "../../schedule/grammar.ts";
import type { Context } from "../context.ts";
import { fraction } from "../system.ts";
import { readChatCommand } from "./chat-command.ts";
import { doCommand } from "./do-command.ts";

/** How long the server holds a question to which there is no answer yet. */
const WAIT_SECONDS = 50;
const FAILED = { delayMs: SECOND, factor: 2, maxDelayMs: MINUTE };
/** Another process asks for the same bot's updates: it may end at any time. */
const ELSEWHERE_MS = 30 * SECOND;

export interface TelegramListening {
  bot: TelegramBot;
  /** Whose words count, by their user ids. */
  users: ReadonlySet<string>;
}

/** What the configuration says; undefined = nobody is listened to. A token that is missing is said in the log. */
export function telegramListening(context: Context): TelegramListening | undefined {
  const settings = context.config.deliver.platforms.telegram;
  if (!settings?.listen) return undefined;
  try {
    const { baseUrl, listen } = settings;
    const token = context.resolveReferences(settings.token);
    return { bot: { token, baseUrl }, users: new Set(listen.users.map(String)) };
  } catch (error) {
    context.log.error("telegram-not-listening", { error: messageOf(error) });
    return undefined;
  }
}

export class TelegramListener {
  readonly #context: Context;
  readonly #listening: TelegramListening;
  readonly #source: string;
  readonly #stop = new AbortController();
  #botName: string | undefined;
  #loop: Promise<void> | undefined;

  constructor(context: Context, listening: TelegramListening) {
    this.#context = context;
    this.#listening = listening;
    // A token begins with its bot's public number.
    this.#source = `telegram:${listening.bot.token.split(":")[0]}`;
  }

  /** Idempotent, as is `stop`. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Resolves when what is being done has been done. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, log } = this.#context;
    for (let failures = 0; !signal.aborted; ) {
      const restMs = await this.#turn().then(
        (answer) => {
          if (answer.kind === "updates") return 0;
          if (!signal.aborted) log.warn("telegram-updates-failed", { error: answer.error });
          if (answer.isElsewhere) return ELSEWHERE_MS;
          return Math.max(
            answer.afterMs ?? 0,
            backoffMs(failures + 1, FAILED, fraction(this.#context.random)),
          );
        },
        (error) => {
          log.warn("telegram-listening-failed", { error: messageOf(error) });
          return backoffMs(failures + 1, FAILED, fraction(this.#context.random));
        },
      );
      failures = restMs === 0 ? 0 : failures + 1;
      if (restMs > 0) await clock.sleep(restMs, signal).catch(() => {});
    }
  }

  /** One question and what comes of its answer. Throws what the store throws. */
  async #turn(): Promise<Updates> {
    const { ledger } = this.#context;
    this.#botName ??= await askBotName(this.#deps, this.#listening.bot, this.#stop.signal);
    const offset = await ledger.chatOffset(this.#source);
    if (offset === undefined) return this.#passOver();
    const answer = await this.#ask({ offset, waitSeconds: WAIT_SECONDS });
    if (answer.kind === "updates") for (const update of answer.updates) await this.#take(update);
    return answer;
  }

  /** (I3) Begins behind the newest one. */
  async #passOver(): Promise<Updates> {
    const answer = await this.#ask({ offset: -1, waitSeconds: 0 });
    if (answer.kind === "updates")
      await this.#context.ledger.takeChatUpdate(this.#source, answer.updates.at(-1)?.id ?? -1);
    return answer;
  }

  async #take({ id, message }: ChatUpdate): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (!(await this.#context.ledger.takeChatUpdate(this.#source, id)) || !message) return;
    if (!this.#listening.users.has(message.userId)) {
      this.#context.log.warn("chat-user-unknown", { platform: "telegram", userId: message.userId });
      return;
    }
    const command = readChatCommand(message.text, { botName: this.#botName, isSchedule: this.#isSchedule });
    if (!command) return;
    const { chat, thread, userId } = message;
    const context: Context = { ...this.#context, actor: `telegram:${userId}` };
    this.#context.log.info("chat-command", { platform: "telegram", userId, command: command.kind });
    const text = await doCommand(context, command, { platform: "telegram", chat, thread });
    await this.#answer(id, message, text);
  }

  /** Through the outbox, like everything that is sent: in order, within the rate, once. */
  async #answer(updateId: number, { chat, thread }: ChatMessage, text: string): Promise<void> {
    const { ledger, clock } = this.#context;
    const rows = this.#context.rowsFor({ platform: "telegram", chat, thread });
    const subject = `chat/${this.#source}/${updateId}`;
    const message = { subject, kind: "result", runId: undefined, jobId: undefined, text } as const;
    await ledger.putDeliveries(
      routedRows(message, route([{ kind: "origin" }], rows.route), rows),
      clock.now(),
    );
  }

  #ask(question: { offset: number; waitSeconds: number }): Promise<Updates> {
    return askUpdates(this.#deps, this.#listening.bot, question, this.#stop.signal);
  }

  get #deps() {
    const { clock, config } = this.#context;
    return { clock, allow: makeAllowAddress(config.deliver.allowPrivate) };
  }

  readonly #isSchedule = (text: string): boolean => {
    const now = this.#context.clock.now();
    try {
      parseSchedule(text, { zone: this.#context.zone, now, anchor: now });
      return true;
    } catch {
      return false;
    }
  };
}

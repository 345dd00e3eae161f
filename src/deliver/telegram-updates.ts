// What people write to a Telegram bot: the Bot API's getMe and getUpdates.
//
// I1. Only texts that people wrote to the bot just now are messages: edits, channel posts and other bots' words are not.
// @source core.telegram.org/bots/api: getMe, getUpdates ("offset", "timeout", "allowed_updates"), Message.

import { SECOND } from "../kernel/time.ts";
import { askPlatform, below, numberAt, type PlatformDeps, textAt, valueAt } from "./platforms/ask.ts";

/** One answer stays small: a message has at most 4,096 characters. */
const MOST_UPDATES = 20;
/** On top of the time that the server holds the question. */
const SLACK_MS = 15 * SECOND;

export interface TelegramBot {
  token: string;
  /** Default: Telegram's own. */
  baseUrl?: string | undefined;
}

export interface ChatMessage {
  userId: string;
  chat: string;
  /** The topic of a forum it was written in. */
  thread: string | undefined;
  text: string;
}

export interface ChatUpdate {
  id: number;
  /** Undefined = nothing that we answer. */
  message: ChatMessage | undefined;
}

/** `afterMs` = the platform's own word for waiting; `isElsewhere` = another process of this bot is asking. */
export type Updates =
  | { kind: "updates"; updates: ChatUpdate[] }
  | { kind: "failed"; error: string; afterMs: number | undefined; isElsewhere: boolean };

/** The bot's name as people write it behind a command; undefined = it could not be asked. Never throws. */
export async function askBotName(
  deps: PlatformDeps,
  bot: TelegramBot,
  signal: AbortSignal,
): Promise<string | undefined> {
  const answer = await askPlatform(deps, { method: "GET", url: methodUrl(bot, "getMe") }, signal);
  return answer.kind === "answered" ? textAt(answer.json, "result", "username") : undefined;
}

/** Waits up to `waitSeconds` for what comes after `offset`; −1 asks for the newest one alone. Never throws. */
export async function askUpdates(
  deps: PlatformDeps,
  bot: TelegramBot,
  { offset, waitSeconds }: { offset: number; waitSeconds: number },
  signal: AbortSignal,
): Promise<Updates> {
  const json = { offset, limit: MOST_UPDATES, timeout: waitSeconds, allowed_updates: ["message"] };
  const patient = { ...deps, timeoutMs: waitSeconds * SECOND + SLACK_MS };
  const answer = await askPlatform(patient, { url: methodUrl(bot, "getUpdates"), json }, signal);
  if (answer.kind !== "answered")
    return { kind: "failed", error: answer.error, afterMs: undefined, isElsewhere: false };
  const result = valueAt(answer.json, ["result"]);
  if (answer.status === 200 && Array.isArray(result))
    return { kind: "updates", updates: result.flatMap(readUpdate) };
  const seconds = numberAt(answer.json, "parameters", "retry_after");
  return {
    kind: "failed",
    error: `${answer.host} answered ${answer.status}: ${textAt(answer.json, "description") ?? ""}`,
    afterMs: seconds === undefined ? undefined : seconds * SECOND,
    isElsewhere: answer.status === 409,
  };
}

/** The Bot API's address of a method; the token is part of it and is never shown. */
export function methodUrl({ token, baseUrl }: TelegramBot, method: string): URL {
  const bot = encodeURIComponent(token).replaceAll("%3A", ":");
  return below(baseUrl ?? "https://api.telegram.org", `bot${bot}/${method}`);
}

function readUpdate(value: unknown): ChatUpdate[] {
  const id = numberAt(value, "update_id");
  if (id === undefined) return [];
  const [text, chat, userId] = [
    textAt(value, "message", "text"),
    textAt(value, "message", "chat", "id"),
    textAt(value, "message", "from", "id"),
  ];
  const isBot = valueAt(value, ["message", "from", "is_bot"]) === true;
  if (text === undefined || chat === undefined || userId === undefined || isBot)
    return [{ id, message: undefined }];
  const isInTopic = valueAt(value, ["message", "is_topic_message"]) === true;
  const thread = isInTopic ? textAt(value, "message", "message_thread_id") : undefined;
  return [{ id, message: { userId, chat, thread, text } }];
}

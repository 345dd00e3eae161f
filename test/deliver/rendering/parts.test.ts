// Splitting and each platform's dialect together: a long message becomes parts, and every part, exactly as it would be sent,
// is read by that platform's own rules (dialect-checks.ts) and says what plain text would say.

import fc from "fast-check";
import { expect, test } from "vitest";
import { toPlain } from "../../../src/deliver/rendering/plain.ts";
import { splitParts } from "../../../src/deliver/split.ts";
import type { SendRequest } from "../../../src/records/delivery.ts";
import { ERROR_CASES, type ErrorCase } from "../platforms/error-table.ts";
import { requestTo } from "../platforms/fixtures.ts";
import {
  lettersOf,
  readCard,
  readFenceless,
  readGoogleChat,
  readMarkdown,
  readRichHtml,
  readSlack,
  readTelegram,
} from "./dialect-checks.ts";
import { anyMessage } from "./messages.ts";

interface Dialect {
  /** Whose adapter renders it. */
  platform: keyof typeof ERROR_CASES;
  /** The text in what the adapter would send, and what a reader sees of it. Throws as the platform would refuse it. */
  read(sent: Sent): string;
  /** Lengths to split at, in the platform's own unit. */
  lengths?: readonly [min: number, max: number];
  /** Words and addresses stand in another order, or some are left out: only that it is accepted is asked. */
  isReordered?: true;
}

type Sent = Record<string, never> & { [key: string]: unknown };

const text = (sent: Sent, ...path: (string | number)[]) =>
  String(path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), sent));

const DIALECTS: Readonly<Record<string, Dialect>> = {
  "Telegram's HTML": {
    platform: "telegram",
    read: (sent) => readTelegram(text(sent, "text")),
    isReordered: true,
  },
  "Slack's mrkdwn": {
    platform: "slack (bot)",
    read: (sent) => readSlack(text(sent, "text")),
    isReordered: true,
  },
  "Discord's Markdown": { platform: "discord (bot)", read: (sent) => readMarkdown(text(sent, "content")) },
  "Matrix's HTML": {
    platform: "matrix",
    read: (sent) => readRichHtml(text(sent, "formatted_body")),
    isReordered: true,
    lengths: [300, 900],
  },
  "Matrix's plain text": { platform: "matrix", read: (sent) => text(sent, "body"), lengths: [300, 900] },
  "Mattermost's Markdown": {
    platform: "mattermost (bot)",
    read: (sent) => readMarkdown(text(sent, "message")),
  },
  "Teams' card": {
    platform: "teams",
    read: (sent) =>
      readCard(
        Reflect.get(Object(Reflect.get(Object(Reflect.get(Object(sent.attachments), 0)), "content")), "body"),
      ),
    lengths: [600, 1_200],
  },
  "Google Chat's text": { platform: "googlechat", read: (sent) => readGoogleChat(text(sent, "text")) },
  "Feishu's Markdown": {
    platform: "feishu",
    read: (sent) => readMarkdown(text(sent, "card", "body", "elements", 0, "content")),
  },
  "DingTalk's Markdown": {
    platform: "dingtalk",
    read: (sent) => readMarkdown(text(sent, "markdown", "text")),
  },
  "WeCom's Markdown": { platform: "wecom", read: (sent) => readFenceless(text(sent, "markdown", "content")) },
  "Gotify's Markdown": { platform: "gotify", read: (sent) => readMarkdown(text(sent, "message")) },
  "plain text (ntfy)": { platform: "ntfy", read: (sent) => text(sent, "message") },
  "plain text (Pushover)": { platform: "pushover", read: (sent) => text(sent, "message") },
};

function previewOf(one: ErrorCase) {
  const adapter = one.adapter("http://127.0.0.1:9");
  const preview = (body: string): Sent => {
    const request: SendRequest = requestTo({ platform: adapter.platform, ...one.target }, { body });
    return adapter.preview?.(request) as Sent;
  };
  return { adapter, preview };
}

test.each(Object.entries(DIALECTS))(
  "%s: rejoined parts are the text, each is accepted and says it all",
  (_name, dialect) => {
    const { adapter, preview } = previewOf(ERROR_CASES[dialect.platform]!);
    const [min, max] = dialect.lengths ?? [150, 400];
    const lengthOf = (body: string) => adapter.lengthOf?.(body) ?? body.length;
    fc.assert(
      fc.property(anyMessage, fc.integer({ min, max }), (message, maxLength) => {
        const parts = splitParts(message, { maxLength, lengthOf, maxParts: 10_000 });
        expect(parts.map(({ slice }) => slice).join("")).toBe(message);
        for (const { body } of parts) {
          expect(lengthOf(body)).toBeLessThanOrEqual(maxLength);
          const read = dialect.read(preview(body));
          if (!dialect.isReordered) expect(lettersOf(read)).toBe(lettersOf(toPlain(body)));
        }
      }),
      { numRuns: 150 },
    );
  },
);

// Platforms whose addresses are known before their adapters exist, so that a document naming them is valid anywhere.
//
// I1. Nothing is sent: `unusable` says why, and a row for one is `dead: notConfigured` with its text in `local` (O4).

import type { Adapter } from "../../records/delivery.ts";

type Address = { chat?: string; thread?: string; url?: string };

interface Platform {
  platform: string;
  addressForm: string;
  parse(address: string): Address | undefined;
}

/** `<chat>[:<thread>]`, each by its own shape; a URL where the platform's incoming webhooks are addresses. */
function chatAddress(chat: RegExp, thread?: RegExp): Platform["parse"] {
  return (address) => {
    if (URL.canParse(address) && address.startsWith("https://")) return { url: address };
    if (chat.test(address)) return { chat: address };
    // Ids may hold `:` themselves: the last colon that leaves two valid halves parts them.
    for (let colon = address.lastIndexOf(":"); colon > 0; colon = address.lastIndexOf(":", colon - 1)) {
      const parts = { chat: address.slice(0, colon), thread: address.slice(colon + 1) };
      if (thread?.test(parts.thread) && chat.test(parts.chat)) return parts;
    }
    return undefined;
  };
}

const ANY_ID = /^[^\s:,]+$/;

/** @source each platform's published address forms. A Matrix room id holds `:`; its thread is an event id (`$…`). */
const PLATFORMS: readonly Platform[] = [
  {
    platform: "telegram",
    addressForm: "<chat id or @name>[:<thread>]",
    parse: chatAddress(/^(-?\d+|@\w+)$/, /^\d+$/),
  },
  {
    platform: "slack",
    addressForm: "<channel>[:<thread ts>]",
    parse: chatAddress(/^[#@]?[\w.-]+$/, /^\d+\.\d+$/),
  },
  {
    platform: "discord",
    addressForm: "<channel>[:<thread>]",
    parse: chatAddress(/^(\d+|[#@][^\s:,]+)$/, /^\d+$/),
  },
  {
    platform: "matrix",
    addressForm: "<room>[:<$event>]",
    parse: chatAddress(/^[!#@][^\s:$,]+(:[^\s:$,]+(:\d+)?)?$/, /^\$\S+$/),
  },
  { platform: "mattermost", addressForm: "<channel>[:<post>]", parse: chatAddress(ANY_ID, ANY_ID) },
  { platform: "teams", addressForm: "<chat or webhook url>", parse: chatAddress(/^[^\s,]+$/) },
  {
    platform: "googlechat",
    addressForm: "<space or webhook url>[:<thread>]",
    parse: chatAddress(ANY_ID, ANY_ID),
  },
  { platform: "feishu", addressForm: "<chat or webhook url>[:<thread>]", parse: chatAddress(ANY_ID, ANY_ID) },
  { platform: "dingtalk", addressForm: "<chat or webhook url>", parse: chatAddress(ANY_ID) },
  { platform: "wecom", addressForm: "<chat or webhook url>", parse: chatAddress(ANY_ID) },
  { platform: "ntfy", addressForm: "<topic or url>", parse: chatAddress(/^[\w-]+$/) },
  { platform: "gotify", addressForm: "<application>", parse: chatAddress(ANY_ID) },
  {
    platform: "pushover",
    addressForm: "<user or group key>[:<device>]",
    parse: chatAddress(/^\w+$/, /^[\w-]+$/),
  },
  { platform: "email", addressForm: "<address>", parse: chatAddress(/^[^\s@,:]+@[^\s@,:]+$/) },
  {
    platform: "mqtt",
    addressForm: "<topic>",
    parse: (topic) => (/^[^\s,#+]+$/.test(topic) ? { chat: topic } : undefined),
  },
];

/** One adapter each that reads addresses and sends nothing. */
export const ADDRESS_ONLY_ADAPTERS: readonly Adapter[] = PLATFORMS.map(({ platform, addressForm, parse }) => {
  const why = `this version of Nightshift has no ${platform} adapter`;
  return {
    platform,
    repeatability: "blind",
    maxLength: Number.POSITIVE_INFINITY,
    addressForm,
    parseAddress: parse,
    unusable: () => why,
    send: () => Promise.resolve({ kind: "refused", error: why }),
  };
});

// Gotify: a message of the application whose token is configured.
//
// I1. A repeat is a second message: `blind`. The receipt is the message's id.
// @source gotify.net/docs: POST /message, extras `client::display`.

import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { ANY_ID, chatAddress } from "../platforms/address.ts";
import { below, type PlatformDeps, textAt } from "../platforms/ask.ts";
import { idAt } from "../platforms/judge.ts";
import { sendHook } from "../platforms/send-hook.ts";
import { type Settings, whyUnusable } from "../platforms/settings.ts";
import { toMarkdownDialect } from "../rendering/markdown-dialects.ts";
import { toPlain } from "../rendering/plain.ts";

/** The server sets none; more than this nobody reads on a telephone. */
const MAX_LENGTH = 16_000;
const PRIORITY = { result: 5, alert: 8, missed: 8, recovery: 5, mirror: 2 } as const;

export function makeGotifyAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["gotify"]>,
): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const bodyOf = (request: SendRequest) => ({
    title: request.jobId ?? "Nightshift",
    message: toMarkdownDialect(request.body, "mattermost", { allowMentions: config?.allowMentions }),
    priority: PRIORITY[request.kind],
    extras: { "client::display": { contentType: "text/markdown" } },
  });
  return {
    platform: "gotify",
    repeatability: "blind",
    maxLength: MAX_LENGTH,
    addressForm: "<application>: the configured token decides which it is",
    parseAddress: chatAddress(ANY_ID),
    unusable: () => whyUnusable(settings, "gotify", "baseUrl and .token"),
    preview: bodyOf,
    send(request, signal) {
      const { extras: _markdown, ...rest } = bodyOf(request);
      const message = toPlain(request.body, { allowMentions: config?.allowMentions });
      return sendHook(
        deps,
        {
          url: below(config?.baseUrl ?? "", "message"),
          secretHeaders: { "x-gotify-key": config?.token ?? "" },
          marked: bodyOf(request),
          plain: () => ({ ...rest, message }),
          isFormRefused: ({ status }) => status === 400,
          judge: {
            repeatability: "blind",
            now: deps.clock.now(),
            receipt: idAt("id"),
            error: ({ json, text }) => textAt(json, "errorDescription") ?? text,
          },
        },
        signal,
      );
    },
  };
}

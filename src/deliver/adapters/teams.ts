// Microsoft Teams: a workflow's webhook ("Post to a channel when a webhook request is received"), as an adaptive card.
//
// I1. A repeat is a second card: `blind`. The receipt is the workflow's 202, which has no id.
// I2. The older connectors answered 200 with an error in the body: there, only the body `1` is a receipt.
// @source learn.microsoft.com: "Create incoming webhooks with Workflows"; 28 KB a message, four requests a second.

import { SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { hookAddress } from "../platforms/address.ts";
import { type PlatformDeps, utf8Length } from "../platforms/ask.ts";
import { sendHook } from "../platforms/send-hook.ts";
import { hookFor, hooksOf, type Settings, whyNoHook, whyUnusable } from "../platforms/settings.ts";
import { toPlain } from "../rendering/plain.ts";
import { toTeamsBody } from "../rendering/teams-card.ts";

/** 28 KB with the card around it. */
const MAX_BYTES = 24_000;

export function makeTeamsAdapter(deps: PlatformDeps, settings: Settings<PlatformConfigs["teams"]>): Adapter {
  const hooks = hooksOf(settings);
  const allowMentions = settings.kind === "ready" ? settings.config.allowMentions : undefined;
  const bodyOf = ({ body }: SendRequest) => cardMessage(toTeamsBody(body, { allowMentions }));
  return {
    platform: "teams",
    repeatability: "blind",
    maxLength: MAX_BYTES,
    lengthOf: (body) => utf8Length(JSON.stringify(toTeamsBody(body))),
    rate: { tokens: 4, perMs: SECOND },
    addressForm: "<configured webhook's name or webhook url>",
    parseAddress: hookAddress(/^[^\s,]+$/),
    unusable: () => whyUnusable(settings, "teams", "webhook"),
    refuses: (target) => whyNoHook(hooks, target),
    preview: bodyOf,
    send: (request, signal) =>
      sendHook(
        deps,
        {
          url: new URL(hookFor(hooks, request.target)?.url ?? ""),
          marked: bodyOf(request),
          plain: () => cardMessage(plainBody(toPlain(request.body, { allowMentions }))),
          isFormRefused: ({ status }) => status === 400,
          judge: {
            repeatability: "blind",
            now: deps.clock.now(),
            receipt: ({ status, text }) => {
              if (status === 202) return { note: "accepted by the workflow" };
              return status === 200 && text.trim() === "1" ? { note: "1" } : undefined;
            },
          },
        },
        signal,
      ),
  };
}

/** @source Adaptive Cards: a TextRun is shown as it stands, a TextBlock's text is Markdown. */
function plainBody(text: string) {
  return [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text }] }];
}

function cardMessage(body: unknown) {
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body,
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}

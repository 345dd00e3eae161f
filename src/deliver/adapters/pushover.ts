// Pushover: one message to a user or group key, and one device of it if named.
//
// I1. A repeat is a second notification: `blind`. The receipt is the request's id with `status: 1`.
// I2. The month's quota is no rate limit: what it refuses waits for nothing that a retry could reach.
// @source pushover.net/api: 1,024 characters, 4xx is final, 429 = quota used up.

import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SentMedia } from "../../records/delivery.ts";
import { chatAddress } from "../platforms/address.ts";
import {
  askPlatform,
  below,
  FILE_TIMEOUT_MS,
  numberAt,
  type PlatformDeps,
  textAt,
  valueAt,
} from "../platforms/ask.ts";
import { judgeAnswer } from "../platforms/judge.ts";
import { multipart } from "../platforms/multipart.ts";
import { type Settings, whyUnusable } from "../platforms/settings.ts";
import { toPlain } from "../rendering/plain.ts";

const MAX_LENGTH = 1_024;
/** @source pushover.net/api#attachments: one picture of 5,242,880 bytes. */
const MAX_PICTURE = 5_242_880;
const PRIORITY = { result: 0, alert: 1, missed: 1, recovery: 0, mirror: -1 } as const;

export function makePushoverAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["pushover"]>,
): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const bodyOf = (request: SendRequest) => ({
    user: request.target.chat,
    ...(request.target.thread !== undefined && { device: request.target.thread }),
    title: (request.jobId ?? "Nightshift").slice(0, 250),
    message: toPlain(request.body, { allowMentions: config?.allowMentions }),
    priority: PRIORITY[request.kind],
  });
  return {
    platform: "pushover",
    repeatability: "blind",
    maxLength: MAX_LENGTH,
    lengthOf: (body) => toPlain(body).length,
    addressForm: "<user or group key>[:<device>]",
    parseAddress: chatAddress(/^\w+$/, /^[\w-]+$/),
    unusable: () => whyUnusable(settings, "pushover", "token"),
    mediaLimits: () => ({ maxBytes: MAX_PICTURE, kinds: ["image"] }),
    preview: bodyOf,
    async send(request, signal) {
      const url = below(config?.baseUrl ?? "https://api.pushover.net", "1/messages.json");
      const fields = { token: config?.token, ...bodyOf(request) };
      const content = request.media ? formOf(fields, request, request.media) : { json: fields };
      const answer = await askPlatform(deps, { url, ...content }, signal);
      return judgeAnswer(answer, {
        repeatability: "blind",
        now: deps.clock.now(),
        receipt: ({ json: said }) => {
          const id = textAt(said, "request");
          return numberAt(said, "status") === 1 && id !== undefined ? { id } : undefined;
        },
        error: ({ json: said, text }) => {
          const errors = valueAt(said, ["errors"]);
          return Array.isArray(errors) ? errors.join("; ") : text;
        },
        verdict: ({ status }) => (status === 429 ? { kind: "refused" } : undefined),
      });
    },
  };
}

function formOf(fields: Record<string, unknown>, { idempotencyKey }: SendRequest, media: SentMedia) {
  const texts = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  );
  return { ...multipart(texts, { field: "attachment", media }, idempotencyKey), timeoutMs: FILE_TIMEOUT_MS };
}

// ntfy: one publish as JSON, to ntfy.sh or a server of one's own.
//
// I1. A repeat is a second notification: `blind`. The receipt is the message's id.
// @source docs.ntfy.sh "Publish as JSON", "Limitations": 4,096 bytes (longer ones become attachments), 60 requests at once.

import { SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SentMedia } from "../../records/delivery.ts";
import { chatAddress } from "../platforms/address.ts";
import {
  askPlatform,
  below,
  FILE_TIMEOUT_MS,
  type PlatformDeps,
  type Question,
  textAt,
  utf8Length,
} from "../platforms/ask.ts";
import { idAt, judgeAnswer } from "../platforms/judge.ts";
import { fileBody } from "../platforms/multipart.ts";
import type { Settings } from "../platforms/settings.ts";
import { toPlain } from "../rendering/plain.ts";

const MAX_BYTES = 4_000;
/** @source docs.ntfy.sh "Attachments": 15 MB on ntfy.sh. */
const MAX_FILE = 15_000_000;
/** @source docs.ntfy.sh "Message priority": 1 to 5, 3 is usual. */
const PRIORITY = { result: 3, alert: 4, missed: 4, recovery: 3, mirror: 2 } as const;

/** Usable without any configuration: a topic of ntfy.sh is its own password. */
export function makeNtfyAdapter(deps: PlatformDeps, settings: Settings<PlatformConfigs["ntfy"]>): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const bodyOf = (request: SendRequest) => ({
    topic: request.target.chat,
    message: toPlain(request.body, { allowMentions: config?.allowMentions }),
    title: request.jobId ?? "Nightshift",
    priority: PRIORITY[request.kind],
  });
  return {
    platform: "ntfy",
    repeatability: "blind",
    maxLength: MAX_BYTES,
    lengthOf: (body) => utf8Length(toPlain(body)),
    rate: { tokens: 10, perMs: 10 * SECOND, isShared: true },
    addressForm: "<topic>",
    parseAddress: chatAddress(/^[\w-]{1,64}$/),
    unusable: () => (settings.kind === "broken" ? settings.why : undefined),
    mediaLimits: () => ({ maxBytes: MAX_FILE }),
    preview: bodyOf,
    async send(request, signal) {
      const base = config?.baseUrl ?? "https://ntfy.sh";
      const secretHeaders = config?.token === undefined ? {} : { authorization: `Bearer ${config.token}` };
      const question = request.media
        ? fileQuestion(base, bodyOf(request), request.media)
        : { url: below(base, ""), json: bodyOf(request) };
      const answer = await askPlatform(deps, { ...question, secretHeaders }, signal);
      return judgeAnswer(answer, {
        repeatability: "blind",
        now: deps.clock.now(),
        receipt: idAt("id"),
        error: ({ json, text }) => textAt(json, "error") ?? text,
      });
    },
  };
}

/** @source docs.ntfy.sh "Attach local file": the file is the body, all else stands in the query. */
function fileQuestion(
  base: string,
  message: { topic: string | undefined; message: string; title: string; priority: number },
  media: SentMedia,
): Question {
  const { topic = "", priority, ...texts } = message;
  const query = new URLSearchParams({ filename: media.name, ...texts, priority: String(priority) });
  const url = below(base, `${encodeURIComponent(topic)}?${query}`);
  return { method: "PUT", url, body: fileBody(media), timeoutMs: FILE_TIMEOUT_MS };
}

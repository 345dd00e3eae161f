// ntfy: one publish as JSON, to ntfy.sh or a server of one's own.
//
// I1. A repeat is a second notification: `blind`. The receipt is the message's id.
// @source docs.ntfy.sh "Publish as JSON", "Limitations": 4,096 bytes (longer ones become attachments), 60 requests at once.

import { SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { chatAddress } from "../platforms/address.ts";
import { askPlatform, below, type PlatformDeps, textAt, utf8Length } from "../platforms/ask.ts";
import { judgeAnswer } from "../platforms/judge.ts";
import type { Settings } from "../platforms/settings.ts";
import { toPlain } from "../rendering/plain.ts";

const MAX_BYTES = 4_000;
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
    preview: bodyOf,
    async send(request, signal) {
      const url = below(config?.baseUrl ?? "https://ntfy.sh", "");
      const secretHeaders = config?.token === undefined ? {} : { authorization: `Bearer ${config.token}` };
      const answer = await askPlatform(deps, { url, secretHeaders, json: bodyOf(request) }, signal);
      return judgeAnswer(answer, {
        repeatability: "blind",
        now: deps.clock.now(),
        receipt: ({ json }) => {
          const id = textAt(json, "id");
          return id === undefined ? undefined : { id };
        },
        error: ({ json, text }) => textAt(json, "error") ?? text,
      });
    },
  };
}

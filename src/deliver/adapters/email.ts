// E-mail: one message to one mailbox through a mail server of one's own, as HTML and text.
//
// I1. A repeat is a second mail: `blind`, though its Message-ID is made of the row's key and stays the same.
// I2. No header can be injected: an address holds no space or control character, and a subject is one line.
// I3. `starttls` and `tls` never go on unencrypted.
// @source RFC 5321 §4.2 (4yz passing, 5yz final), RFC 3834 (Auto-Submitted).

import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";
import { chatAddress } from "../platforms/address.ts";
import type { PlatformDeps } from "../platforms/ask.ts";
import type { MailMessage, SmtpServer } from "../platforms/send-mail.ts";
import { type Settings, whyUnusable } from "../platforms/settings.ts";
import { toPlain } from "../rendering/plain.ts";
import { toRichHtml } from "../rendering/rich-html.ts";
import { titleOf } from "./dingtalk.ts";

/** 25 MB is what most servers take, and base64 makes three bytes four. */
const MAX_FILE = 18_000_000;

export function makeEmailAdapter(deps: PlatformDeps, settings: Settings<PlatformConfigs["email"]>): Adapter {
  const config = settings.kind === "ready" ? settings.config : undefined;
  const mailOf = (request: SendRequest): MailMessage => ({
    from: oneLine(config?.from ?? ""),
    to: request.target.chat ?? "",
    subject: oneLine(subjectOf(request)),
    text: toPlain(request.body, { allowMentions: true }),
    html: `<!doctype html>\n<html><body>\n${toRichHtml(request.body, { allowMentions: true })}\n</body></html>\n`,
    messageId: `<${request.idempotencyKey}@nightshift.invalid>`,
    date: new Date(request.createdAt),
    attachment: request.media,
  });
  return {
    platform: "email",
    repeatability: "blind",
    maxLength: Number.POSITIVE_INFINITY,
    addressForm: "<address>",
    parseAddress: chatAddress(/^[^\s@,:;<>()[\]"\\\p{Cc}]+@[^\s@,:;<>()[\]"\\\p{Cc}]+$/u),
    unusable: () => whyUnusable(settings, "email", "host and .from"),
    mediaLimits: () => ({ maxBytes: MAX_FILE }),
    preview: mailOf,
    async send(request, signal) {
      if (!config) return { kind: "refused", error: "deliver.email is not configured" };
      const { sendMail } = await import("../platforms/send-mail.ts");
      const { timeoutMs, ca, clock } = deps;
      return sendMail({ server: serverOf(config), mail: mailOf(request), timeoutMs, ca, clock }, signal);
    },
  };
}

function serverOf(config: PlatformConfigs["email"]): SmtpServer {
  const { host, security = "starttls", user, password } = config;
  const port = config.port ?? (security === "tls" ? 465 : 587);
  return { host, port, security, login: user === undefined ? undefined : { user, password: password ?? "" } };
}

function subjectOf({ kind, jobId, body }: SendRequest): string {
  const name = jobId ?? "Nightshift";
  const title = titleOf(body);
  return kind === "result" && !title.startsWith(name) ? `${name}: ${title}` : title;
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}

// One mail over one SMTP connection. The only module that loads nodemailer; it is loaded when a mail is sent.
//
// I1. What is known of a failure is its phase: before the message's text was on its way nothing can have arrived.
// I2. The connection ends with the try, however it ends.

import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { whenAborted } from "../../kernel/abort.ts";
import { messageOf } from "../../kernel/errors.ts";
import { type Clock, SECOND } from "../../kernel/time.ts";
import type { SendResult, SentMedia } from "../../records/delivery.ts";
import { textAt, valueAt } from "./ask.ts";

const TIMEOUT_MS = 15 * SECOND;

export interface SmtpServer {
  host: string;
  port: number;
  security: "starttls" | "tls" | "none";
  login: { user: string; password: string } | undefined;
}

export interface MailMessage {
  from: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  messageId: string;
  date: Date;
  attachment?: SentMedia | undefined;
}

export interface Mailing {
  server: SmtpServer;
  mail: MailMessage;
  clock: Clock;
  /** For each step of the talk. Default 15,000. */
  timeoutMs: number | undefined;
  /** Further certificate authorities (PEM). */
  ca: string | undefined;
}

type Phase = "before" | "message";

/** Never throws for what a mail server can do. */
export async function sendMail(mailing: Mailing, signal: AbortSignal): Promise<SendResult> {
  const { server, mail, clock } = mailing;
  const talk: { phase: Phase } = { phase: "before" };
  const connection = connect(mailing);
  const aborted = whenAborted(signal);
  const ended = new Promise<never>((_, reject) => {
    // `on`: a second error after the first must not be nobody's.
    connection.on("error", reject);
    // A server's last words (421) come with the end: what the conversation makes of them goes first.
    connection.once("end", () => setImmediate(() => reject(new Error("the connection ended"))));
  });
  const stopped = aborted.promise.then(() => Promise.reject(signal.reason));
  try {
    const said = await Promise.race([converse(connection, { server, mail, talk }), ended, stopped]);
    return {
      kind: "delivered",
      receipt: { id: mail.messageId, status: 250, at: clock.now(), note: said.slice(0, 200) },
    };
  } catch (error) {
    return judgeFailure(error, { phase: talk.phase, host: server.host });
  } finally {
    aborted.release();
    ended.catch(() => {});
    stopped.catch(() => {});
    connection.close();
  }
}

function connect({ server, timeoutMs = TIMEOUT_MS, ca }: Mailing): SMTPConnection {
  return new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.security === "tls",
    requireTLS: server.security === "starttls",
    ignoreTLS: server.security === "none",
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    ...(ca === undefined ? {} : { tls: { ca } }),
  });
}

async function converse(
  connection: SMTPConnection,
  { server, mail, talk }: { server: SmtpServer; mail: MailMessage; talk: { phase: Phase } },
): Promise<string> {
  await asked((done) => connection.connect(done));
  const { login } = server;
  if (login)
    await asked((done) =>
      connection.login({ credentials: { user: login.user, pass: login.password } } as Login, done),
    );
  const message = await compose(mail);
  // Read only once the server has said "go on": from then on it may hold the message.
  const body = Readable.from(
    (async function* () {
      talk.phase = "message";
      yield message;
    })(),
  );
  const envelope = { from: addressOf(mail.from), to: [mail.to] };
  const said = await new Promise<string>((resolve, reject) => {
    connection.send(envelope, body, (error, info) =>
      error ? reject(error) : resolve(textAt(info, "response") ?? ""),
    );
  });
  connection.quit();
  return said;
}

type Login = Parameters<SMTPConnection["login"]>[0];

function compose({ attachment, ...mail }: MailMessage): Promise<Buffer> {
  const composer = new MailComposer({
    ...mail,
    ...(attachment && { attachments: [attachmentOf(attachment)] }),
    headers: { "auto-submitted": "auto-generated", "x-auto-response-suppress": "All" },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return new Promise((resolve, reject) => {
    composer.compile().build((error, message) => (error ? reject(error) : resolve(message)));
  });
}

/** Read by us: the composer itself has no access to files. */
function attachmentOf({ name, contentType, path }: SentMedia) {
  return { filename: name, contentType, content: createReadStream(path) };
}

function asked(begin: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    begin((error) => (error ? reject(error) : resolve()));
  });
}

/** `Ada <ada@example.org>` → `ada@example.org`. */
function addressOf(from: string): string {
  return /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from;
}

/** The server's code decides; without one, whether the message's text can have been on its way. */
function judgeFailure(error: unknown, { phase, host }: { phase: Phase; host: string }): SendResult {
  const sentence = `${host}: ${messageOf(error)}`.replace(/\s+/g, " ").slice(0, 500);
  const code = valueAt(error, ["responseCode"]);
  if (typeof code === "number") return { kind: code >= 500 ? "refused" : "retry", error: sentence };
  // A certificate that does not hold, or a server without encryption, will be the same in an hour.
  const isTls = textAt(error, "code") === "ETLS";
  if (isTls) return { kind: "refused", error: sentence };
  return { kind: phase === "before" ? "retry" : "unknown", error: sentence };
}

// E-mail against a real SMTP server, with and without TLS. Nothing here was ever sent to a real mailbox.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { makeEmailAdapter } from "../../../src/deliver/adapters/email.ts";
import type { PlatformConfigs } from "../../../src/records/deliver-config.ts";
import { tempFolder } from "../../support/temp.ts";
import { START } from "../fixtures.ts";
import { deadPort } from "../loopback.ts";
import { clock, never, requestTo } from "./fixtures.ts";

const key = readFileSync(new URL("../tls/key.pem", import.meta.url), "utf8");
const cert = readFileSync(new URL("../tls/cert.pem", import.meta.url), "utf8");

async function mailServer(options: SMTPServerOptions = {}) {
  const mails: { from: string; to: string[]; text: string; secure: boolean }[] = [];
  const server = new SMTPServer({
    key,
    cert,
    authOptional: true,
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom ? mailFrom.address : "",
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString("utf8"),
          secure: session.secure,
        });
        done(null);
      });
    },
    ...options,
  });
  server.on("error", () => {});
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (listening.address() as AddressInfo).port, mails };
}

function email(config: Partial<PlatformConfigs["email"]>) {
  return makeEmailAdapter(
    { clock, allow: () => true, ca: cert },
    {
      kind: "ready",
      config: { host: "127.0.0.1", from: "Night Shift <night@example.org>", ...config },
    },
  );
}

const request = requestTo({ platform: "email", chat: "ada@example.org" });

test("HTML and text in one mail over STARTTLS, with a Message-ID made of the key", async () => {
  const { port, mails } = await mailServer();

  const result = await email({ port }).send(request, never);

  const id = `<${request.idempotencyKey}@nightshift.invalid>`;
  expect(result).toMatchObject({ kind: "delivered", receipt: { id, status: 250, at: START } });
  expect(mails).toHaveLength(1);
  expect(mails[0]).toMatchObject({ from: "night@example.org", to: ["ada@example.org"], secure: true });
  const { text } = mails[0]!;
  expect(text).toContain(`Message-ID: ${id}`);
  expect(text).toContain("Subject: disk-watch: disk is at 91 % & rising");
  expect(text).toContain("Auto-Submitted: auto-generated");
  expect(text).toMatch(/Content-Type: text\/plain[\s\S]*disk is at 91 % & rising/);
  expect(text).toMatch(/Content-Type: text\/html[\s\S]*<strong>disk<\/strong>/);
});

test("a file is a MIME attachment beside the text, byte for byte, whatever its name", async () => {
  const { port, mails } = await mailServer();
  const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, n) => n % 256));
  const path = join(await tempFolder(), "kept");
  await writeFile(path, bytes);
  const media = {
    name: 'Größe "März".png',
    kind: "image",
    contentType: "image/png",
    sha256: "",
    path,
  } as const;

  const result = await email({ port }).send(
    { ...request, body: "CPU **load**", media: { ...media, bytes: bytes.length } },
    never,
  );

  expect(result).toMatchObject({ kind: "delivered" });
  const { text } = mails[0]!;
  expect(text).toMatch(/Content-Type: text\/html[\s\S]*<strong>load<\/strong>/);
  const part = text.split(/^--\S+$/m).find((one) => /^Content-Disposition: attachment/m.test(one)) ?? "";
  const [head = "", ...body] = part.trim().split("\r\n\r\n");
  expect(head).toMatch(/^Content-Type: image\/png/m);
  expect(decodeURIComponent(/filename\*0?\*?=utf-8''([^;\s]+)/i.exec(head)?.[1] ?? "")).toContain("Größe");
  expect(Buffer.from(body.join(""), "base64")).toEqual(bytes);
});

test("TLS from the first byte, and a login", async () => {
  let credentials: unknown;
  const { port, mails } = await mailServer({
    secure: true,
    authOptional: false,
    onAuth({ username, password }, _session, done) {
      credentials = { username, password };
      done(null, { user: username });
    },
  });

  const adapter = email({ port, security: "tls", user: "night", password: "pw-123" });

  expect(await adapter.send(request, never)).toMatchObject({ kind: "delivered" });
  expect(credentials).toEqual({ username: "night", password: "pw-123" });
  expect(mails[0]?.secure).toBe(true);
});

test("a server without STARTTLS gets nothing, unless the configuration says `none`", async () => {
  const { port, mails } = await mailServer({ hideSTARTTLS: true, disabledCommands: ["STARTTLS"] });

  expect((await email({ port }).send(request, never)).kind).not.toBe("delivered");
  expect(mails).toEqual([]);
  expect(await email({ port, security: "none" }).send(request, never)).toMatchObject({ kind: "delivered" });
});

test("a text with line breaks in its first line cannot add a header", async () => {
  const { port, mails } = await mailServer();
  const body = "Daily\u2028Bcc: eve@example.org\r\rX-Evil: yes\u0000 end";

  await email({ port }).send({ ...request, body, kind: "alert" }, never);

  const [head = ""] = mails[0]!.text.split("\r\n\r\n");
  expect(head).not.toMatch(/^(bcc|x-evil):/im);
  expect(mails[0]?.to).toEqual(["ada@example.org"]);
});

test("an address that could carry a header, a second mailbox or a name is no address", () => {
  const { parseAddress } = email({});
  for (const address of [
    "ada@example.org\r\nBcc: eve@example.org",
    "ada@example.org,eve@example.org",
    "Ada <ada@example.org>",
    "ada@example.org eve",
    "ada",
  ])
    expect(parseAddress(address), address).toBeUndefined();
  expect(parseAddress("ada+night@example.org")).toEqual({ chat: "ada+night@example.org" });
});

test.each([
  [550, "refused"],
  [451, "retry"],
])("a mailbox refused with %i is %s", async (responseCode, kind) => {
  const { port } = await mailServer({
    onRcptTo: (_address, _session, done) => done(Object.assign(new Error("no such user"), { responseCode })),
  });
  expect(await email({ port }).send(request, never)).toMatchObject({
    kind,
    error: expect.stringContaining("no such user"),
  });
});

test.each([
  [552, "message too big", "refused"],
  [452, "no room now", "retry"],
  [421, "closing down", "retry"],
])("a message that was read and answered with %i %s is %s", async (responseCode, words, kind) => {
  const { port } = await mailServer({
    onData(stream, _session, done) {
      stream.resume();
      stream.on("end", () => done(Object.assign(new Error(words), { responseCode })));
    },
  });
  expect(await email({ port }).send(request, never)).toMatchObject({
    kind,
    error: expect.stringContaining(words),
  });
});

test("a wrong password is final and does not appear", async () => {
  const { port } = await mailServer({ onAuth: (_auth, _session, done) => done(new Error("Invalid login")) });

  const result = await email({ port, user: "night", password: "pw-123456" }).send(request, never);

  expect(result.kind).toBe("refused");
  expect(JSON.stringify(result)).not.toContain("pw-123456");
});

/** Speaks just enough SMTP to take a whole message, then hangs up without a word. */
async function cuttingServer() {
  const server = createServer((socket) => {
    socket.setEncoding("utf8").on("error", () => {});
    socket.write("220 cut\r\n");
    let isData = false;
    socket.on("data", (text: string) => {
      if (isData) {
        if (text.endsWith("\r\n.\r\n")) socket.destroy();
        return;
      }
      isData = text.startsWith("DATA");
      socket.write(isData ? "354 go on\r\n" : "250 ok\r\n");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

test("58818: a connection cut after the message was read is unknown; nobody listening is a retry", async () => {
  const port = await cuttingServer();
  expect(await email({ port, security: "none" }).send(request, never)).toMatchObject({ kind: "unknown" });

  expect(await email({ port: await deadPort() }).send(request, never)).toMatchObject({ kind: "retry" });
});

test("a stop while the server greets nobody ends the try: nothing was sent", async () => {
  const stopping = new AbortController();
  const { port } = await mailServer({
    onConnect() {
      stopping.abort(new Error("the outbox stopped"));
    },
  });

  expect(await email({ port }).send(request, stopping.signal)).toMatchObject({
    kind: "retry",
    error: expect.stringContaining("the outbox stopped"),
  });
});

// Receives Nightshift's webhooks and believes only signed ones (Standard Webhooks, HMAC-SHA256).
//
//   export HOOK_SECRET=whsec_$(openssl rand -base64 32)
//   node examples/webhook/receiver.mjs 8787 &
//   cp examples/webhook/config.yaml ~/.nightshift/config.yaml          # or add its keys to yours
//   echo "HOOK_SECRET=$HOOK_SECRET" >> ~/.nightshift/.env; chmod 600 ~/.nightshift/.env
//   cp examples/webhook/report.sh ~/.nightshift/scripts/
//   nightshift job apply -f examples/webhook/job.yaml
//   nightshift job run report

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from((process.env.HOOK_SECRET ?? "").replace(/^whsec_/, ""), "base64");
if (key.length < 16) throw new Error("set HOOK_SECRET to whsec_… (see the head of this file)");
/** Messages that came twice carry the same key: after a cut Nightshift sends again rather than lose one. */
const seen = new Set();

function isOurs(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": sentAt, "webhook-signature": signature = "" } = headers;
  if (Math.abs(Date.now() / 1000 - Number(sentAt)) > 300) return false;
  const expected = Buffer.from(
    `v1,${createHmac("sha256", key).update(`${id}.${sentAt}.${body}`).digest("base64")}`,
  );
  return signature
    .split(" ")
    .some((one) => one.length === expected.length && timingSafeEqual(Buffer.from(one), expected));
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString("utf8");
  if (!isOurs(request.headers, body)) return response.writeHead(401).end();
  const message = JSON.parse(body);
  if (!seen.has(message.id)) console.log(`${message.type} of ${message.jobId}: ${message.text.trim()}`);
  seen.add(message.id);
  response.writeHead(204, { "x-message-id": message.id }).end();
});
server.listen(Number(process.argv[2] ?? 8787), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});

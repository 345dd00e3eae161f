// MQTT against mosquitto itself: logins, acknowledgements, what it retains, TLS, and a message that it cuts off.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import mqtt from "mqtt";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeMqttAdapter } from "../../../src/deliver/adapters/mqtt.ts";
import type { PlatformConfigs } from "../../../src/records/deliver-config.ts";
import { MAX_PACKET, startMosquitto, whyNoMosquitto } from "../../support/mosquitto.ts";
import { START } from "../fixtures.ts";
import { clock, never, requestTo } from "./fixtures.ts";

const LOGIN = { user: "night", password: "pw-123456" };
const [cert, key] = ["cert", "key"].map((name) =>
  fileURLToPath(new URL(`../tls/${name}.pem`, import.meta.url)),
) as [string, string];
const ca = readFileSync(cert, "utf8");

const adapter = (config: PlatformConfigs["mqtt"], authority?: string) =>
  makeMqttAdapter({ clock, allow: () => false, ca: authority }, { kind: "ready", config });
const request = requestTo({ platform: "mqtt", chat: "home/alerts" }, { body: "**Platte** bei 91 % – 重点" });

/** The next message of any topic, as another client of the broker gets it. */
async function listen(url: string) {
  const client = await mqtt.connectAsync(url, { username: LOGIN.user, password: LOGIN.password, ca });
  onTestFinished(() => client.endAsync(true));
  const message = new Promise<[string, Buffer, { retain: boolean; qos: number }]>((resolve) => {
    client.once("message", (...heard) => resolve(heard));
  });
  await client.subscribeAsync("#", { qos: 1 });
  return async () => {
    const [topic, payload, { retain, qos }] = await message;
    return { topic, text: String(payload), retain, qos };
  };
}

const why = whyNoMosquitto();

describe.skipIf(why)(`mosquitto${why ? ` (${why})` : ""}`, () => {
  test("a message is acknowledged, and whoever listens has it", async () => {
    const { url } = await startMosquitto();
    const next = await listen(url);

    expect(await adapter({ url, ...LOGIN }).send(request, never)).toEqual({
      kind: "delivered",
      receipt: { at: START, note: "acknowledged by the broker" },
    });
    expect(await next()).toEqual({ topic: "home/alerts", text: request.body, retain: false, qos: 1 });
  });

  test("a retained one waits for whoever comes later", async () => {
    const { url } = await startMosquitto();
    await adapter({ url, ...LOGIN, retain: true }).send(request, never);

    const next = await listen(url);
    expect(await next()).toMatchObject({ text: request.body, retain: true });
  });

  test("over TLS with an authority of one's own; without it nothing is sent", async () => {
    const { url } = await startMosquitto({ cert, key });
    const next = await listen(url);

    const unknown = await adapter({ url, ...LOGIN }).send({ ...request, body: "must not arrive" }, never);
    expect(unknown).toMatchObject({ kind: "retry", error: expect.stringMatching(/certificate/) });
    expect(await adapter({ url, ...LOGIN }, ca).send(request, never)).toMatchObject({ kind: "delivered" });
    expect(await next()).toMatchObject({ text: request.body });
  });

  test("a wrong password is final, and does not appear", async () => {
    const { url } = await startMosquitto();
    const result = await adapter({ url, user: "night", password: "pw-wrong-1" }).send(request, never);
    expect(result).toMatchObject({ kind: "refused", error: expect.stringMatching(/not authorized/i) });
    expect(JSON.stringify(result)).not.toContain("pw-wrong-1");
  });

  test("O3: a message that the broker cuts off is unknown", async () => {
    const { url } = await startMosquitto();
    const body = "x".repeat(MAX_PACKET);
    expect(await adapter({ url, ...LOGIN }).send({ ...request, body }, never)).toMatchObject({
      kind: "unknown",
    });
  });
});

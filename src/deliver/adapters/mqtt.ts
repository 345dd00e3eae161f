// MQTT: one publish with QoS 1. The package `mqtt` is not bundled: who uses this platform installs it.
//
// I1. A repeat is a second message: `blind`. The receipt is the broker's PUBACK.
// I2. One connection for one message: nothing is kept open that a sleeping node would have to mend.
// @source MQTT 3.1.1 §4.3.2 (QoS 1), §3.2.2.3 (CONNACK).

import { messageOf } from "../../kernel/errors.ts";
import { ifInstalled } from "../../kernel/if-installed.ts";
import { SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SendResult } from "../../records/delivery.ts";
import { numberAt, type PlatformDeps } from "../platforms/ask.ts";
import { type Settings, whyUnusable } from "../platforms/settings.ts";

const TIMEOUT_MS = 15 * SECOND;
/** CONNACK codes that the same settings will always get: protocol, client id, password, not authorised. */
const FINAL = new Set([1, 2, 4, 5]);

export function makeMqttAdapter(deps: PlatformDeps, settings: Settings<PlatformConfigs["mqtt"]>): Adapter {
  return {
    platform: "mqtt",
    repeatability: "blind",
    maxLength: Number.POSITIVE_INFINITY,
    isForPrograms: true,
    addressForm: "<topic>",
    parseAddress: (topic) => (/^[^\s,#+\0]{1,1000}$/.test(topic) ? { chat: topic } : undefined),
    unusable: () => whyUnusable(settings, "mqtt", "url"),
    async send(request, signal) {
      if (settings.kind !== "ready") return { kind: "refused", error: "deliver.mqtt is not configured" };
      const mqtt = await load();
      if (!mqtt)
        return { kind: "refused", error: "the package `mqtt` is not installed; run npm install mqtt" };
      return publish(mqtt, { deps, config: settings.config, request }, signal);
    },
  };
}

type Mqtt = typeof import("mqtt");

const load = () => ifInstalled(() => import("mqtt"));

interface Publishing {
  deps: PlatformDeps;
  config: PlatformConfigs["mqtt"];
  request: SendRequest;
}

async function publish(
  mqtt: Mqtt,
  { deps, config, request }: Publishing,
  signal: AbortSignal,
): Promise<SendResult> {
  const { url, user, password, retain = false } = config;
  const client = mqtt.connect(url, {
    reconnectPeriod: 0,
    connectTimeout: deps.timeoutMs ?? TIMEOUT_MS,
    clientId: `nightshift-${request.idempotencyKey.slice(0, 12)}`,
    manualConnect: true,
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    ...(deps.ca !== undefined && { ca: deps.ca }),
  });
  let isPublishing = false;
  const end = () => void client.end(true);
  signal.addEventListener("abort", end, { once: true });
  try {
    const closed = new Promise<never>((_, reject) => {
      client.on("error", reject);
      client.once("close", () =>
        reject(new Error(signal.aborted ? messageOf(signal.reason) : "the connection ended")),
      );
    });
    closed.catch(() => {});
    const connected = new Promise<void>((resolve) => client.once("connect", () => resolve()));
    client.connect();
    await Promise.race([connected, closed]);
    isPublishing = true;
    await Promise.race([
      client.publishAsync(request.target.chat ?? "", request.body, { qos: 1, retain }),
      closed,
    ]);
    return { kind: "delivered", receipt: { at: deps.clock.now(), note: "acknowledged by the broker" } };
  } catch (error) {
    const sentence = `${new URL(url).host}: ${messageOf(error)}`;
    if (isPublishing) return { kind: "unknown", error: sentence };
    return { kind: FINAL.has(numberAt(error, "code") ?? 0) ? "refused" : "retry", error: sentence };
  } finally {
    signal.removeEventListener("abort", end);
    client.end(true);
  }
}

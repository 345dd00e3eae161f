// One topic filter of one broker, listened to (W7): each message becomes an event before it is acknowledged.
//
// I1. A message is acknowledged when its event is in the ledger, and not before: what a crash cut off comes again.
// I2. One connection a filter: where filters overlap, a broker may send a message once for each or once in all.
// I3. The session outlives the connection, under a name that is the same for every node of this ledger: what is sent while
//     nobody is connected waits at the broker. One node listens at a time (trigger-loop.ts).

import { createHash } from "node:crypto";
import type { IPublishPacket, MqttClient } from "mqtt";
import { messageOf } from "../../kernel/errors.ts";
import { ifInstalled } from "../../kernel/if-installed.ts";
import { DAY, HOUR, SECOND } from "../../kernel/time.ts";
import type { JobTrigger } from "../../records/trigger.ts";
import type { Context } from "../context.ts";
import { mqttDeps } from "../executors/http-deps.ts";
import { type FiredDocument, fireEvent } from "../fire-event.ts";
import { untilStored } from "../until-stored.ts";
import { headersOfMessage, keyOfMessage, type MqttMessage, textOfMessage } from "./mqtt-message.ts";

export type MqttTrigger = Extract<JobTrigger, { kind: "mqtt" }>;

const RECONNECT_MS = SECOND;
const CONNECT_MS = 15 * SECOND;
/** How long a broker keeps what is sent while nobody is connected (MQTT 5; with 3.1.1 it decides itself). */
const SESSION_SECONDS = (7 * DAY) / SECOND;
/** What comes again with DUP later than this is taken for another message: packet identifiers come round. */
const REDELIVERED_MS = 24 * HOUR;
const MAX_BYTES = 1_000_000;
/** CONNACK: the broker speaks 3.1.1 only. @source MQTT 3.1.1 §3.2.2.3 (1), MQTT 5 §3.2.2.2 (132). */
const OTHER_PROTOCOL = new Set([1, 132]);

export class MqttListener {
  readonly #context: Context;
  readonly #trigger: MqttTrigger;
  readonly #stop = new AbortController();
  #client: MqttClient | undefined;
  #opening: Promise<void> | undefined;
  #receiving: Promise<void> = Promise.resolve();
  #hasWarned = false;

  constructor(context: Context, trigger: MqttTrigger) {
    this.#context = context;
    this.#trigger = trigger;
  }

  /** Idempotent. Never throws: what is wrong is said in the log, and tried again. */
  start(): void {
    this.#opening ??= this.#open(5).catch((error) => this.#warn(messageOf(error)));
  }

  /** A message under way is recorded or comes again. `isForGood` = the broker shall keep nothing for us any more. */
  async stop({ isForGood = false } = {}): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#opening;
    const client = this.#client;
    this.#client = undefined;
    if (client?.connected && isForGood) await client.unsubscribeAsync(this.#trigger.topic).catch(() => {});
    await Promise.all([this.#receiving, client?.endAsync(true)]);
  }

  async #open(protocolVersion: 4 | 5): Promise<void> {
    const { topic } = this.#trigger;
    const at = brokerOf(this.#context, this.#trigger);
    if (!at) return this.#warn(NO_BROKER);
    const mqtt = await load();
    if (!mqtt) return this.#warn(NO_PACKAGE);
    if (this.#stop.signal.aborted) return;
    const { url, username, password } = at;
    const client = mqtt.connect(url, {
      ...{ protocolVersion, clean: false, resubscribe: false, manualConnect: true },
      ...{ reconnectPeriod: RECONNECT_MS, connectTimeout: CONNECT_MS },
      clientId: `nightshift-${sha256(`${this.#context.storeUrl}\n${url}\n${topic}`).slice(0, 12)}`,
      ...(protocolVersion === 5 && { properties: { sessionExpiryInterval: SESSION_SECONDS } }),
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
    });
    this.#client = client;
    this.#listen(client, protocolVersion);
    client.connect();
  }

  #listen(client: MqttClient, protocolVersion: 4 | 5): void {
    const { log } = this.#context;
    const { topic, qos, name } = this.#trigger;
    client.on("error", (error) => {
      const { code } = error as { code?: unknown };
      if (protocolVersion === 5 && typeof code === "number" && OTHER_PROTOCOL.has(code)) {
        client.end(true);
        this.#opening = this.#open(4).catch((other) => this.#warn(messageOf(other)));
      } else this.#warn(messageOf(error));
    });
    client.on("connect", () => {
      // Retained messages only for a subscription that is new (MQTT 5).
      client
        .subscribeAsync(topic, { qos, ...(protocolVersion === 5 && { rh: 1 }) })
        .then(() => log.info("mqtt-listening", { trigger: name }))
        .catch((error) => this.#stop.signal.aborted || this.#warn(messageOf(error)));
      this.#hasWarned = false;
    });
    // (I1) Before PUBACK, and with QoS 2 before PUBREC: after that a broker sends the message no more.
    client.options.customHandleAcks = (_topic, _payload, packet, done) => this.#take(packet, () => done(0));
    client.handleMessage = (packet, done) => {
      if (packet.qos === 0) this.#take(packet, done);
      else done();
    };
  }

  /** One after the other. Without an answer to the broker where it could not be recorded: then it comes again. */
  #take(packet: IPublishPacket, done: () => void): void {
    const { properties } = packet;
    const message: MqttMessage = {
      ...{ topic: packet.topic, qos: packet.qos, isDup: packet.dup, isRetained: packet.retain },
      payload: typeof packet.payload === "string" ? Buffer.from(packet.payload) : packet.payload,
      packetId: packet.messageId,
      contentType: properties?.contentType,
      userProperties: { ...properties?.userProperties },
    };
    this.#receiving = this.#receiving
      .then(() => this.#receive(message))
      .then(done, (error) => this.#warn(messageOf(error)));
  }

  /** Rejects only where the event could not be recorded. */
  async #receive(message: MqttMessage): Promise<void> {
    const { log } = this.#context;
    const { name: trigger } = this.#trigger;
    this.#stop.signal.throwIfAborted();
    if (message.payload.byteLength > MAX_BYTES) {
      log.warn("mqtt-message-too-large", {
        trigger,
        topic: message.topic,
        bytes: message.payload.byteLength,
      });
      return;
    }
    const key = keyOfMessage(message);
    const first = await this.#fire(message, key.kind === "none" ? undefined : key.key);
    if (!first || first.isNew || key.kind !== "packet") return;
    // The key was there: a redelivery of what it stands for, or another message to which the identifier came round.
    const now = this.#context.clock.now();
    const isRecent = now - Date.parse(first.event.receivedAt) <= REDELIVERED_MS;
    if (!(message.isDup && isRecent)) await this.#fire(message, undefined);
  }

  async #fire(message: MqttMessage, key: string | undefined): Promise<FiredDocument | undefined> {
    const { kind, name } = this.#trigger;
    const event = { trigger: { kind, name }, key, headers: headersOfMessage(message) };
    try {
      return await untilStored(
        this.#context,
        "record a message",
        () => fireEvent(this.#context, { ...event, ...textOfMessage(message) }),
        this.#stop.signal,
      );
    } catch (error) {
      if (this.#stop.signal.aborted) throw error;
      // Nobody listens any more, or the sender gave one id to two messages: it will not be otherwise next time.
      this.#context.log.warn("mqtt-message-dropped", { trigger: name, error: messageOf(error) });
      return undefined;
    }
  }

  /** Once until it is well again. */
  #warn(error: string): void {
    if (this.#hasWarned || this.#stop.signal.aborted) return;
    this.#hasWarned = true;
    this.#context.log.warn("mqtt-not-listening", { trigger: this.#trigger.name, error });
  }
}

const NO_BROKER = "no broker is named; write url beside mqtt, or configure deliver.mqtt";
const NO_PACKAGE = "the package `mqtt` is not installed; run npm install mqtt";

/** Why a topic cannot be listened to here, whatever the broker says; undefined = it can. */
export async function whyNotListening(context: Context, trigger: MqttTrigger): Promise<string | undefined> {
  try {
    if (!brokerOf(context, trigger)) return NO_BROKER;
  } catch (error) {
    return messageOf(error);
  }
  return (await load()) ? undefined : NO_PACKAGE;
}

/** Throws `config.invalid` for a reference whose variable is missing. */
function brokerOf(context: Context, { broker: own }: MqttTrigger) {
  const { resolve, broker } = mqttDeps(context);
  if (!own) return broker();
  const text = (value: string | undefined) => (value === undefined ? undefined : resolve(value));
  return { url: resolve(own.url), username: text(own.username), password: text(own.password) };
}

const load = () => ifInstalled(() => import("mqtt"));

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

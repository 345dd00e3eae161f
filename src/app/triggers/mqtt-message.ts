// What a message of a broker is as an event: its key, its text, what else it said. Pure.
//
// I1. A message with an id of its own (MQTT 5, user property `id`) is one event by that id.
// I2. Without one, only the broker can tell a redelivery: it sets DUP, and repeats topic, payload and packet identifier.
//     A message without DUP is a new one, however alike; packet identifiers come round again (receive in listen-mqtt.ts).
// I3. A retained message is a state, sent again to everyone who subscribes: it is one event by its content.
// @source MQTT 3.1.1 §3.3.1.1, §3.3.1.3, §4.4; CloudEvents MQTT binding 1.0.2 §3.2 (id and source as user properties).

import { createHash } from "node:crypto";
import { isSecretName } from "../../kernel/redact.ts";
import type { Qos } from "../../records/trigger.ts";

/** As a client hands it on. */
export interface MqttMessage {
  topic: string;
  payload: Uint8Array;
  qos: Qos;
  isDup: boolean;
  isRetained: boolean;
  /** With QoS 1 and 2. */
  packetId: number | undefined;
  contentType: string | undefined;
  /** MQTT 5. */
  userProperties: Readonly<Record<string, string | readonly string[]>>;
}

export type MessageKey =
  /** What repeats it is the same event. */
  | { kind: "own"; key: string }
  /** The same key may come again for another message: only with DUP it is this one. */
  | { kind: "packet"; key: string }
  /** Told from no other. */
  | { kind: "none" };

export function keyOfMessage(message: MqttMessage): MessageKey {
  const { topic, payload, qos, isRetained, packetId, userProperties } = message;
  const [id, source = ""] = [firstOf(userProperties.id), firstOf(userProperties.source)];
  if (id !== undefined && id !== "") return { kind: "own", key: `id:${digest(source, id)}` };
  if (isRetained) return { kind: "own", key: `retained:${digest(topic, payload)}` };
  if (qos === 0 || packetId === undefined) return { kind: "none" };
  return { kind: "packet", key: `packet:${digest(topic, payload, String(packetId))}` };
}

const MOST_HEADERS = 64;
const LONGEST_HEADER = 1_000;

/** The text, and how it is to be read: bytes that are no UTF-8 come as base64. */
export function textOfMessage({ payload, contentType }: MqttMessage): { data: string; contentType?: string } {
  try {
    const data = new TextDecoder("utf-8", { fatal: true }).decode(payload);
    const type = contentType ?? (isJson(data) ? "application/json" : undefined);
    return { data, ...(type !== undefined && { contentType: type }) };
  } catch {
    const type = `${contentType ?? "application/octet-stream"};base64`;
    return { data: Buffer.from(payload).toString("base64"), contentType: type };
  }
}

export function headersOfMessage({ topic, qos, isRetained, userProperties }: MqttMessage) {
  const own = Object.entries(userProperties)
    .map(([name, value]) => [name.toLowerCase(), firstOf(value) ?? ""] as const)
    .filter(([name]) => !isSecretName(name.replaceAll("-", "_").toUpperCase()));
  return {
    ...Object.fromEntries(
      own.slice(0, MOST_HEADERS).map(([name, value]) => [name, value.slice(0, LONGEST_HEADER)]),
    ),
    topic,
    qos: String(qos),
    ...(isRetained && { retained: "true" }),
  };
}

/** A sensor's JSON comes without a word about it. */
function isJson(data: string): boolean {
  if (!/^\s*[[{]/.test(data)) return false;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

function firstOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}

/** Each part with its length, so that no two lists of parts read the same. */
function digest(...parts: (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    hash.update(`${bytes.byteLength}:`).update(bytes);
  }
  return hash.digest("hex");
}

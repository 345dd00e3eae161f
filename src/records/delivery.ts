// TO WHOM, as nouns: targets, deliveries and receipts (law 5; O1–O5).

import type { Instant } from "../kernel/time.ts";
import type { Media, MediaKind } from "./media.ts";

/** Where a request came from, written by the surface that created the job. Ids are texts, never numbers (O5). */
export interface Origin {
  platform: string;
  chat?: string | undefined;
  thread?: string | undefined;
}

/** A concrete address. `text` is its canonical spelling and its identity: equal texts are one target. */
export interface Target {
  platform: string;
  chat?: string;
  thread?: string;
  /** For `webhook:<url>`. */
  url?: string;
  /** For `profile:NAME/<target>`: the other home's name. */
  profile?: string;
  text: string;
}

/** What a person may write: an address, or a word that resolves to addresses when a row is made (O4). */
export type TargetSelector =
  | { kind: "target"; target: Target }
  | { kind: "origin" }
  | { kind: "all" }
  | { kind: "home"; platform: string };

/** What sending twice would mean (law 4): decides what a cut between request and receipt means (O3). */
export type Repeatability = "idempotent" | "probe" | "blind";

export type DeliveryKind = "result" | "alert" | "missed" | "recovery" | "mirror";
export const DELIVERY_STATES = ["queued", "sending", "delivered", "unknown", "dead", "suppressed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A message to be put into the outbox in the transaction that closes its run. */
export interface NewDelivery {
  /** dedupeKey + kind + target + part, unique (O1). */
  key: string;
  runId: string | undefined;
  jobId: string | undefined;
  kind: DeliveryKind;
  target: Target;
  part: number;
  /** The text; of a row with a file its caption. */
  body: string;
  /** The file that this row sends. */
  media?: Media | undefined;
  repeatability: Repeatability;
  /** `delivered` from birth = what it tells is where it belongs already. */
  state: "queued" | "delivered" | "dead" | "suppressed";
  /** Of a row that is delivered from birth. */
  receipt?: Receipt;
  /** A row that is dead from birth (`noHome`) or suppressed keeps its reason here. */
  error?: string;
}

/** The platform's answer: evidence that it took the message. */
export interface Receipt {
  id?: string;
  status?: number;
  at: Instant;
  note?: string;
  /** The chat's new id, where it has moved. */
  movedTo?: string;
}

export interface Delivery {
  id: string;
  key: string;
  runId: string | undefined;
  jobId: string | undefined;
  kind: DeliveryKind;
  target: Target;
  part: number;
  /** Empty when its time is over. */
  body: string;
  media?: Media | undefined;
  repeatability: Repeatability;
  state: DeliveryState;
  attempts: number;
  /** Position within its target; sending follows this order (O2). */
  sequence: number;
  createdAt: Instant;
  nextAttemptAt: Instant;
  finishedAt: Instant | undefined;
  receipt: Receipt | undefined;
  error: string | undefined;
  owner: string | undefined;
  token: number;
}

/** What an adapter says of one try. It never throws for an answer of the platform. */
export type SendResult =
  | { kind: "delivered"; receipt: Receipt }
  | { kind: "refused"; error: string }
  | { kind: "retry"; error: string; afterMs?: number }
  | { kind: "unknown"; error: string };

/** A file as an adapter gets it. */
export interface SentMedia extends Omit<Media, "file"> {
  /** Absolute, on this machine; as long as `bytes` when the try began. */
  path: string;
}

/** What a platform takes as a file. */
export interface MediaLimits {
  maxBytes: number;
  /** Default: any. */
  kinds?: readonly MediaKind[];
}

export interface SendRequest {
  target: Target;
  /** The text; of a request with a file its caption. */
  body: string;
  /** Sent with `body` as its caption. */
  media?: SentMedia | undefined;
  /** Stays the same over every try of this row. */
  idempotencyKey: string;
  kind: DeliveryKind;
  jobId: string | undefined;
  runId: string | undefined;
  createdAt: Instant;
  attempt: number;
}

/** A token bucket: `tokens` at once, refilled evenly over `perMs`; one for each chat, or one for the whole platform. */
export interface SendRate {
  tokens: number;
  perMs: number;
  isShared?: true;
}

/** What speaks to one platform. One file and one table line each. */
export interface Adapter {
  readonly platform: string;
  readonly repeatability: Repeatability;
  /** Longest body in the platform's own unit; longer ones are split into parts. Infinity = no limit. */
  readonly maxLength: number;
  /** How long the platform says a body is, once rendered. Default: UTF-16 units of the body. */
  lengthOf?(body: string): number;
  /** What it takes as a file at this address; undefined = none. Default: none anywhere. */
  mediaLimits?(target: Target): MediaLimits | undefined;
  /** Sends allowed in a stretch of time, as the platform publishes them. Default: no limit of ours. */
  readonly rate?: SendRate;
  /** Reads what follows the platform's name (O5). Undefined = not an address of this platform. */
  parseAddress(address: string): { chat?: string; thread?: string; url?: string } | undefined;
  /** For people, after the platform's name: `<chat>[:<thread>]`, `<url or name>`. */
  readonly addressForm?: string;
  /** Whether the bare platform name is itself an address (`local`, `stdout`) rather than the word for its home. */
  readonly hasNoAddress?: boolean;
  /** Programs read what it sends: results come without the header and footer that people get. Default: people do. */
  readonly isForPrograms?: true;
  /** Why this adapter cannot be used here, or undefined when it can. */
  unusable(): string | undefined;
  /** Why this one address cannot be sent to (a name that is not configured, a refused host), as far as known without a network. */
  refuses?(target: Target): string | undefined;
  send(request: SendRequest, signal: AbortSignal): Promise<SendResult>;
  /** Exactly what would be sent for this body, for people to look at. Default: the body as it stands. */
  preview?(request: SendRequest): unknown;
  /** For `probe`: whether an earlier try arrived. Undefined = cannot tell. */
  probe?(request: SendRequest, signal: AbortSignal): Promise<Receipt | "absent" | undefined>;
}

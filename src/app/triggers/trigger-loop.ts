// What a node listens to besides its HTTP (W7): topics, files and executors that jobs wait for, as the jobs are now.
//
// I1. One listener for each kind and name, whatever jobs share it; gone when no job waits for it any more.
// I2. A topic is listened to by one node of the ledger, the oldest that is up: a broker gives a message to every listener.
//     Files and executors are watched by every node: their events have keys that all nodes make alike.

import { messageOf } from "../../kernel/errors.ts";
import { type Instant, SECOND } from "../../kernel/time.ts";
import type { Definition } from "../../records/definition.ts";
import type { JobView } from "../../records/ledger/slots.ts";
import type { JobTrigger } from "../../records/trigger.ts";
import type { Context } from "../context.ts";
import { triggersOfView } from "../fire-event.ts";
import { nodesUp } from "../nodes.ts";
import { Repeating } from "../repeating.ts";
import { Throttled } from "../throttled.ts";
import type { MqttTrigger } from "./listen-mqtt.ts";
import type { ExecutorTrigger } from "./watch-executor.ts";
import type { FileTrigger } from "./watch-files.ts";

type Listened = MqttTrigger | FileTrigger | ExecutorTrigger;

interface Listener {
  start(): void;
  stop(options?: { isForGood?: boolean }): Promise<void>;
}

const LOOK_MS = 5 * SECOND;
/** Other changes of the ledger come by the hundred: they cost a look this often at most. */
const LEAST_LOOK_MS = SECOND;

export class TriggerLoop {
  readonly #context: Context;
  readonly #nodeId: string;
  readonly #loop: Repeating;
  readonly #changed: Throttled;
  /** By kind and name, with what it was made of. */
  readonly #listeners = new Map<string, { of: string; listener: Listener }>();
  #unsubscribe = () => {};
  #looking: Promise<void> | undefined;
  #sequence = -1;
  #hasTopics = false;
  #isStopped = false;

  constructor(context: Context, nodeId: string) {
    this.#context = context;
    this.#nodeId = nodeId;
    this.#loop = new Repeating({ ...context, what: "triggers", everyMs: LOOK_MS, work: () => this.#look() });
    this.#changed = new Throttled({ ...context, leastMs: LEAST_LOOK_MS, work: () => this.#look() });
  }

  /** Idempotent. Returns at once; the first look is under way. */
  start(): void {
    this.#changed.nudge();
    this.#unsubscribe = this.#context.ledger.onChange(() => this.#changed.nudge());
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    await Promise.all([this.#changed.stop(), this.#loop.stop()]);
    await this.#looking;
    await Promise.all([...this.#listeners.values()].map(({ listener }) => listener.stop()));
  }

  /** Never rejects. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce()
      .catch((error) => this.#context.log.warn("triggers-not-read", { error: messageOf(error) }))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { ledger } = this.#context;
    const sequence = await ledger.lastSequence();
    // Whether another node has gone shows in no event.
    if (sequence === this.#sequence && !this.#hasTopics) return;
    this.#sequence = sequence;
    const wanted = wantedTriggers(this.#context, await ledger.triggeredJobs());
    const topics = [...wanted.values()].filter(({ trigger }) => trigger.kind === "mqtt");
    this.#hasTopics = topics.length > 0;
    const isOurs = this.#hasTopics && (await this.#isOldest());
    for (const [key, { trigger }] of wanted)
      if (trigger.kind === "mqtt" && !isOurs) wanted.set(key, { trigger, views: [] });
    await this.#settle(wanted);
  }

  /** (I1) */
  async #settle(wanted: ReadonlyMap<string, Wanted>): Promise<void> {
    for (const [key, { of, listener }] of this.#listeners) {
      const now = wanted.get(key);
      if (now && now.views.length > 0 && JSON.stringify(now.trigger) === of) continue;
      this.#listeners.delete(key);
      await listener.stop({ isForGood: !now });
    }
    for (const [key, { trigger, views }] of wanted) {
      if (views.length === 0 || this.#listeners.has(key) || this.#isStopped) continue;
      const listener = await this.#open(trigger, views);
      this.#listeners.set(key, { of: JSON.stringify(trigger), listener });
      listener.start();
    }
  }

  async #open(trigger: Listened, views: readonly JobView[]): Promise<Listener> {
    if (trigger.kind === "mqtt") {
      const { MqttListener } = await import("./listen-mqtt.ts");
      return new MqttListener(this.#context, trigger);
    }
    if ("executor" in trigger) {
      const { ExecutorWatch } = await import("./watch-executor.ts");
      return new ExecutorWatch(this.#context, trigger);
    }
    const { FileWatch } = await import("./watch-files.ts");
    const since = await Promise.all(views.map((view) => waitsSince(this.#context, view, trigger)));
    return new FileWatch(this.#context, trigger, Math.min(...since));
  }

  /** (I2) */
  async #isOldest(): Promise<boolean> {
    const up = await nodesUp(this.#context);
    const oldest = up.toSorted((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1))[0];
    return oldest?.id === this.#nodeId;
  }
}

interface Wanted {
  trigger: Listened;
  views: JobView[];
}

function wantedTriggers(context: Context, views: readonly JobView[]): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  for (const view of views)
    for (const trigger of triggersOfView(context, view)) {
      if (trigger.kind === "webhook") continue;
      const key = `${trigger.kind} ${trigger.name}`;
      const known = wanted.get(key);
      wanted.set(key, {
        trigger: known ? merged(known.trigger, trigger) : trigger,
        views: [...(known?.views ?? []), view],
      });
    }
  return wanted;
}

/** Jobs that share a listener may ask for it differently: the surest, the most patient, the most often counts. */
function merged(a: Wanted["trigger"], b: Wanted["trigger"]): Wanted["trigger"] {
  if (a.kind === "mqtt" && b.kind === "mqtt") return a.qos >= b.qos ? a : b;
  if ("settleMs" in a && "settleMs" in b) return a.settleMs >= b.settleMs ? a : b;
  if ("everyMs" in a && "everyMs" in b) return a.everyMs <= b.everyMs ? a : b;
  return a;
}

/** When the job's definition began to name the trigger; versions in between may not have. */
async function waitsSince(context: Context, view: JobView, { kind, name }: JobTrigger): Promise<Instant> {
  const versions = await context.ledger.definitions(view.definition.jobId);
  const names = (definition: Definition) =>
    triggersOfView(context, { ...view, definition }).some((one) => one.kind === kind && one.name === name);
  return Math.min(view.definition.inForceFrom, ...versions.filter(names).map((one) => one.inForceFrom));
}

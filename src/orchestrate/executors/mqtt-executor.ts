// MQTT as an attempt: one publish, or a publish and the first answer on another topic. The package `mqtt` is not bundled.
//
// I1. One connection for one attempt, closed before it ends, whatever happens.
// I2. The answer's topic is subscribed before the question is published: an answer cannot be missed.
// I3. After the publish has left, a broken connection means that nobody knows: `unknown` where no answer was awaited.

import { messageOf } from "../../kernel/errors.ts";
import { ifInstalled } from "../../kernel/if-installed.ts";
import { SECOND } from "../../kernel/time.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { ExecutorCall } from "../../records/executor.ts";
import type { MqttWork } from "../../records/executor-config.ts";
import type { Outcome } from "../../records/outcome.ts";
import { compileTemplates, type ResolveText, scopeOfCall } from "./templates.ts";

export interface MqttDeps {
  resolve: ResolveText;
  /** Of `deliver.mqtt`, for executors that name no broker; resolved. */
  broker(): { url: string; username?: string | undefined; password?: string | undefined } | undefined;
  ca?: string | undefined;
}

const CONNECT_MS = 15 * SECOND;

type Mqtt = typeof import("mqtt");
type Client = ReturnType<Mqtt["connect"]>;

interface Request {
  broker: { url: string; username?: string | undefined; password?: string | undefined };
  topic: string;
  payload: string;
  responseTopic: string | undefined;
  work: MqttWork;
}

/** What does the exchange of `work`. Throws Fault `executor.invalid` for templates that cannot be read. */
export async function mqttAttempt(
  deps: MqttDeps,
  name: string,
  work: MqttWork,
): Promise<(call: ExecutorCall) => Promise<Outcome>> {
  const { topic, payload, responseTopic } = work;
  const render = await compileTemplates({ topic, payload, responseTopic }, `${name}: mqtt`);
  return async (call) => {
    const request = requestOf(deps, { work, render, call });
    if (typeof request === "string") return failed("preflight", `${name}: ${request}`);
    const mqtt = await load();
    if (!mqtt) return failed("preflight", "the package `mqtt` is not installed; run npm install mqtt");
    const { ctx } = call;
    if (!(await ctx.begin()))
      return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
    return exchange(mqtt, { deps, request }, call);
  };
}

function requestOf(
  deps: MqttDeps,
  of: { work: MqttWork; render: Awaited<ReturnType<typeof compileTemplates>>; call: ExecutorCall },
): Request | string {
  const { work, render, call } = of;
  const rendered = render(scopeOfCall(call), deps.resolve);
  if (!rendered.ok) return rendered.message;
  const { topic, payload, responseTopic } = rendered.value as Record<string, unknown>;
  const broker =
    work.url === undefined
      ? deps.broker()
      : {
          url: deps.resolve(work.url),
          ...(work.username !== undefined && { username: deps.resolve(work.username) }),
          ...(work.password !== undefined && { password: deps.resolve(work.password) }),
        };
  if (!broker) return "no broker is named; write mqtt.url, or configure deliver.mqtt";
  if (!isTopic(topic)) return `"${String(topic)}" is no topic to publish to`;
  if (responseTopic !== undefined && !isTopic(responseTopic)) return `"${String(responseTopic)}" is no topic`;
  return { broker, topic, payload: payloadOf(payload ?? call.params), responseTopic, work };
}

/** No wildcards: an answer belongs to one question. @source MQTT 3.1.1 §4.7 */
function isTopic(topic: unknown): topic is string {
  return typeof topic === "string" && /^[^#+\0]{1,1000}$/.test(topic);
}

function payloadOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const load = () => ifInstalled(() => import("mqtt"));

async function exchange(
  mqtt: Mqtt,
  { deps, request }: { deps: MqttDeps; request: Request },
  { ctx }: ExecutorCall,
): Promise<Outcome> {
  const { url, username, password } = request.broker;
  const client = mqtt.connect(url, {
    reconnectPeriod: 0,
    connectTimeout: CONNECT_MS,
    manualConnect: true,
    clientId: `nightshift-${ctx.run.id.slice(-12)}`,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(deps.ca !== undefined && { ca: deps.ca }),
  });
  let hasLeft = false;
  const end = () => void client.end(true);
  ctx.signal.addEventListener("abort", end, { once: true });
  if (ctx.signal.aborted) end();
  try {
    return await ask(client, request, {
      ctx,
      onLeaving: () => {
        hasLeft = true;
      },
    });
  } catch (error) {
    const reason = ctx.abortReason();
    if (reason) return outcomeOfAbort(reason);
    const why = `${URL.canParse(url) ? new URL(url).host : "the broker"}: ${messageOf(error)}`;
    return hasLeft ? { state: "unknown", why } : failed("unavailable", why);
  } finally {
    ctx.signal.removeEventListener("abort", end);
    client.end(true);
  }
}

async function ask(
  client: Client,
  { topic, payload, responseTopic, work }: Request,
  { ctx, onLeaving }: { ctx: ExecutorCall["ctx"]; onLeaving(): void },
): Promise<Outcome> {
  const closed = new Promise<never>((_, reject) => {
    client.on("error", reject);
    client.once("close", () => reject(new Error("the connection ended")));
  });
  closed.catch(() => {});
  const within = <Value>(work: Promise<Value>) => Promise.race([work, closed]);
  const connected = new Promise<void>((resolve) => client.once("connect", () => resolve()));
  client.connect();
  await within(connected);
  const answered =
    responseTopic === undefined
      ? undefined
      : new Promise<string>((resolve) =>
          client.on("message", (from, data) => {
            if (from === responseTopic) resolve(data.toString("utf8"));
          }),
        );
  if (responseTopic !== undefined) await within(client.subscribeAsync(responseTopic, { qos: work.qos }));
  ctx.touch("publishing");
  onLeaving();
  await within(client.publishAsync(topic, payload, { qos: work.qos, retain: work.retain }));
  ctx.touch("published");
  if (!answered) return { state: "succeeded", output: "", isSilent: true, result: { topic } };
  return outcomeOfAnswer(await within(answered));
}

function outcomeOfAnswer(text: string): Outcome {
  let result: unknown = text;
  try {
    result = JSON.parse(text);
  } catch {
    // A device may say a plain word.
  }
  return { state: "succeeded", output: text, isSilent: text.trim() === "", result };
}

function failed(code: string, message: string): Outcome {
  return { state: "failed", error: { code, message } };
}

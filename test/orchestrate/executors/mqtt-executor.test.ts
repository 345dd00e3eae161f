// MQTT as an attempt, against a real broker.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Aedes } from "aedes";
import { describe, expect, onTestFinished, test } from "vitest";
import { mqttAttempt } from "../../../src/orchestrate/executors/mqtt-executor.ts";
import type { MqttWork } from "../../../src/records/executor-config.ts";
import { makeContext } from "../../execute/room.ts";
import { callOf } from "./call.ts";

async function broker() {
  const aedes = await Aedes.createBroker();
  const said: [topic: string, text: string][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    aedes.handle(socket);
  });
  aedes.on("publish", ({ topic, payload }, client) => {
    if (client) said.push([topic, payload.toString()]);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    await new Promise<void>((resolve) => aedes.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  /** What a device does with each question. */
  const device = (topic: string, answer: (text: string) => { topic: string; text: string }) =>
    aedes.subscribe(
      topic,
      ({ payload }, done) => {
        const { topic: to, text } = answer(payload.toString());
        aedes.publish(
          { topic: to, payload: Buffer.from(text), qos: 0, cmd: "publish", retain: false, dup: false },
          () => {},
        );
        done();
      },
      () => {},
    );
  return { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`, said, sockets, device };
}

const attempt = (work: Partial<MqttWork> & { topic: string }, url?: string) =>
  mqttAttempt({ resolve: (text) => text, broker: () => (url === undefined ? undefined : { url }) }, "plc", {
    ...{ url: undefined, username: undefined, password: undefined, payload: undefined },
    ...{ responseTopic: undefined, qos: 1, retain: false, ...work },
  });

describe("an MQTT executor", () => {
  test("publishes its params as JSON to a topic with its templates filled", async () => {
    const { url, said } = await broker();

    const outcome = await (await attempt({ url, topic: "plc/{{ params.line }}/in" }))(
      callOf({ line: "a", command: "eject_part" }),
    );

    expect(outcome).toEqual({
      state: "succeeded",
      output: "",
      isSilent: true,
      result: { topic: "plc/a/in" },
    });
    expect(said).toEqual([["plc/a/in", '{"line":"a","command":"eject_part"}']]);
  });

  test("asks and waits for the answer, which is its result; the answer is awaited before the question leaves", async () => {
    const { url, device } = await broker();
    device("agv/ask", (text) => ({ topic: `agv/answer/${text}`, text: '{"x":3}' }));

    const run = await attempt(
      { topic: "agv/ask", payload: "{{ run.id }}", responseTopic: "agv/answer/{{ run.id }}" },
      url,
    );

    expect(await run(callOf({}))).toMatchObject({ state: "succeeded", result: { x: 3 } });
  });

  test("a plain word is an answer, too", async () => {
    const { url, device } = await broker();
    device("ask", () => ({ topic: "answer", text: "READY" }));

    expect(await (await attempt({ url, topic: "ask", responseTopic: "answer" }))(callOf({}))).toMatchObject({
      output: "READY",
      result: "READY",
    });
  });

  test("a cancel ends the wait for an answer that never comes, and no connection is left", async () => {
    const { url, device, sockets } = await broker();
    const ctx = makeContext();
    device("ask", () => {
      ctx.abort({ kind: "cancel", by: "ada" });
      return { topic: "elsewhere", text: "" };
    });

    const run = await attempt({ url, topic: "ask", responseTopic: "answer" });

    expect(await run(callOf({}, { ctx }))).toEqual({ state: "cancelled", by: "ada" });
    await Promise.all([...sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve))));
    expect(sockets.size).toBe(0);
  });

  test("law 4: a connection that breaks after the question has left means that nobody knows", async () => {
    const { url, device, sockets } = await broker();
    device("ask", () => {
      for (const socket of sockets) socket.destroy();
      return { topic: "elsewhere", text: "" };
    });

    expect(await (await attempt({ url, topic: "ask", responseTopic: "answer" }))(callOf({}))).toMatchObject({
      state: "unknown",
    });
  });

  test("no broker there: unavailable; none named, or a wildcard: refused before anything begins", async () => {
    expect(await (await attempt({ topic: "a" }, "mqtt://127.0.0.1:1"))(callOf({}))).toMatchObject({
      error: { code: "unavailable" },
    });
    expect(await (await attempt({ topic: "a" }))(callOf({}))).toMatchObject({
      error: { code: "preflight", message: expect.stringContaining("no broker is named") },
    });
    expect(await (await attempt({ topic: "a/#" }, "mqtt://127.0.0.1:1"))(callOf({}))).toMatchObject({
      error: { code: "preflight" },
    });
  });
});

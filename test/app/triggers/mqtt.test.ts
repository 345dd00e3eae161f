// on: {mqtt: TOPIC}: what a message becomes, what a redelivery does not, and who listens.

import mqtt from "mqtt";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseJobDocument } from "../../../src/records/job-document.ts";
import { startMosquitto, whyNoMosquitto } from "../../support/mosquitto.ts";
import { triggerHome } from "./home.ts";
import { rawBroker } from "./raw-broker.ts";

describe("a message", () => {
  test("starts one run of each job that waits for its topic, with its JSON as data; it is acknowledged when it is recorded", async () => {
    const [broker, home] = [await rawBroker(), await triggerHome()];
    await home.job("parts", { mqtt: "plc/+/arrived", url: broker.url });
    await home.job("again", { mqtt: "plc/+/arrived", url: broker.url });
    await home.node();
    await broker.subscribed();

    await broker.publish({ topic: "plc/a/arrived", payload: '{"part": 7}', packetId: 1 });

    const events = await home.context.ledger.runs({ limit: 10 });
    expect(events.map(({ jobId, trigger }) => [jobId, trigger]).sort()).toEqual([
      ["again", "event"],
      ["parts", "event"],
    ]);
    expect(await home.told("parts", 1)).toMatchObject([
      {
        trigger: { kind: "mqtt", name: `plc/+/arrived @ ${broker.url}` },
        contentType: "application/json",
        headers: { topic: "plc/a/arrived", qos: "1" },
        data: { part: 7 },
      },
    ]);
    expect(broker.filters).toEqual(["plc/+/arrived"]);
  });

  test("a redelivery starts nothing; another message starts a run, however alike, also when the packet identifier comes round", async () => {
    const [broker, home] = [await rawBroker(), await triggerHome()];
    await home.job("door", { mqtt: "door", url: broker.url, qos: 2 });
    await home.node();
    await broker.subscribed();
    const open = { topic: "door", payload: "open" };

    await broker.publish({ ...open, packetId: 1 });
    await broker.publish({ ...open, packetId: 1, isDup: true });
    expect(await home.told("door", 1)).toHaveLength(1);
    await broker.publish({ ...open, packetId: 2 });
    expect(await home.told("door", 2)).toHaveLength(2);
    await broker.publish({ ...open, packetId: 1 });
    expect(await home.told("door", 3)).toHaveLength(3);
    // Its first delivery was lost with a process that died before it had recorded it.
    await broker.publish({ ...open, packetId: 9, qos: 2, isDup: true });
    expect(await home.told("door", 4)).toHaveLength(4);
    await broker.publish({ ...open, packetId: 9, qos: 2, isDup: true });
    await broker.publish({ ...open, payload: Buffer.from([0xff, 0]), packetId: 10 });
    expect((await home.told("door", 5)).at(-1)).toMatchObject({
      contentType: "application/octet-stream;base64",
      data: "/wA=",
    });
  });

  test("a retained message is a state: it starts a run once for what it says, not again with every subscription", async () => {
    const [broker, home] = [await rawBroker(), await triggerHome()];
    await home.job("mode", { mqtt: "mode", url: broker.url });
    await home.node();
    await broker.subscribed();
    const state = { topic: "mode", isRetained: true };

    await broker.publish({ ...state, payload: "night", packetId: 1 });
    await broker.publish({ ...state, payload: "night", packetId: 2 });
    await broker.publish({ ...state, payload: "day", packetId: 3 });

    const told = await home.told("mode", 2);
    expect(told.map(({ data }) => data)).toEqual(["night", "day"]);
    expect(told[0]?.headers).toEqual({ topic: "mode", qos: "1", retained: "true" });
  });
});

test.each([
  ['{mqtt: "plc/+x"}', "2:12: on.mqtt is no topic; + stands for one level, # for all that follow it"],
  ['{mqtt: "plc/#/in"}', "2:12: on.mqtt is no topic; + stands for one level, # for all that follow it"],
  ["{mqtt: plc, qos: 3}", "on.qos is no quality of service; write 0, 1 or 2"],
  ["{mqtt: plc, password: secret}", "on.password is no reference; write ${env:NAME}"],
  [
    "{watch: in/*.csv}",
    "on.watch is no path of files; write /data/in/*.csv, or add every: 1m to ask the executor of that name",
  ],
  ['[{watch: "/data/*/x.csv"}]', "on.0.watch is no path of files"],
  ["{webhok: a}", 'unknown key "webhok"; did you mean "webhook"?'],
])("on: %s is refused with one line", (on, message) => {
  const parse = () => parseJobDocument(`run: told.sh\non: ${on}\n`, { file: "a.yaml", defaultId: "a" });
  expect(parse).toThrow(message);
});

test("without a broker the log says what to do, and nothing else is disturbed", async () => {
  const home = await triggerHome();
  await home.job("parts", { mqtt: "plc/arrived" });
  await home.node();
  expect(await home.said("mqtt-not-listening")).toEqual({
    trigger: "plc/arrived",
    error: "no broker is named; write url beside mqtt, or configure deliver.mqtt",
  });
});

const why = whyNoMosquitto();

describe.skipIf(why)(`mosquitto${why ? ` (${why})` : ""}`, () => {
  test("MQTT 5: what is sent while no node is up waits at the broker; an id of its own makes a message one event; two nodes start one run", async () => {
    const { url } = await startMosquitto();
    const login = { username: "night", password: "pw-123456" };
    const home = await triggerHome({ env: { PATH: process.env.PATH, PW: login.password, TZ: "UTC" } });
    await home.job("orders", { mqtt: "orders/#", url, username: "night", password: "${env:PW}" });
    const device = await mqtt.connectAsync(url, { ...login, protocolVersion: 5 });
    onTestFinished(() => device.endAsync(true));
    const order = (id: string, text: string) =>
      device.publishAsync("orders/new", text, {
        ...{ qos: 1, properties: { userProperties: { id, source: "shop" }, contentType: "text/plain" } },
      });

    const first = await home.node();
    await home.said("mqtt-listening");
    await first.stop({ graceMs: 0 });
    await order("o-1", "one chair");
    const [oldest] = [await home.node(), await home.node()];
    expect(await home.told("orders", 1)).toMatchObject([
      {
        data: "one chair",
        contentType: "text/plain",
        headers: { id: "o-1", source: "shop", topic: "orders/new" },
      },
    ]);

    await order("o-1", "one chair");
    await order("o-1", "two chairs");
    await order("o-2", "one chair");

    const told = await home.told("orders", 2);
    expect(told.map(({ headers }) => headers.id)).toEqual(["o-1", "o-2"]);
    expect(await home.said("mqtt-message-dropped")).toMatchObject({
      error: expect.stringContaining("was used for another one with other data"),
    });

    await oldest.stop({ graceMs: 0 });
    await order("o-3", "a table");
    expect((await home.told("orders", 3)).at(-1)?.data).toBe("a table");
  });
});

// kill -9 of a node while a script runs in a container: what the ledger says, and that no container is left.

import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Engine, startEngine, TEST_IMAGE, whyNoEngine } from "../support/docker-engine.ts";
import { faultHome, query, rowsOf, untilTrue } from "./fault-home.ts";
import { startNode } from "./node-process.ts";

let engine: Engine | undefined;
beforeAll(async () => {
  if (!whyNoEngine()) engine = await startEngine();
});
afterAll(() => engine?.stop());

const CONFIG = `timezone: UTC
limits: {quarantine: false}
environments: {box: {backend: docker, image: "${TEST_IMAGE}", network: none}}
`;

const containers = async () =>
  ((await engine?.docker("ps", "--all", "--format", "{{.Names}}")) ?? "").split("\n").filter(Boolean);

describe.skipIf(whyNoEngine())("a node that dies while its script runs in a container", () => {
  test("L6, hermes#75467: the run is unknown, and the next node's start removes the container with its processes", {
    timeout: 60_000,
  }, async () => {
    const env = { DOCKER_HOST: engine?.env.DOCKER_HOST ?? "" };
    const home = await faultHome({ config: CONFIG, env });
    await home.script("long.sh", "sleep 71234");
    await home.jobFiles([
      { id: "boxed", repeat: 1, env: {}, run: { script: "long.sh" }, environment: "box" },
    ]);
    const first = await startNode({ home: home.path, env });
    const runs = async () => {
      const [name] = await containers();
      return name === undefined ? "" : ((await engine?.docker("top", name)) ?? "");
    };
    await untilTrue("the script sleeps in its container", async () => (await runs()).includes("sleep 71234"));

    first.signal("SIGKILL");
    await first.exited;
    expect(await containers()).toHaveLength(1);
    const second = await startNode({ home: home.path, env });
    await untilTrue("the container is gone", async () => (await containers()).length === 0);
    await untilTrue("the run is unknown", async () => (await rowsOf(home))[0]?.state === "unknown");
    second.signal("SIGTERM");
    await second.exited;

    const began = (await rowsOf(home)).filter(({ state }) => state !== "skipped");
    expect(began, "nobody says that it may run again").toHaveLength(1);
  });

  test("L6: a run that may be repeated begins again only after its old container is gone, and its log names it", {
    timeout: 60_000,
  }, async () => {
    const env = { DOCKER_HOST: engine?.env.DOCKER_HOST ?? "" };
    const home = await faultHome({ config: CONFIG, env });
    await home.script("twice.sh", '[ "$NIGHTSHIFT_ATTEMPT" = 2 ] || sleep 71235');
    await home.jobFiles([
      {
        ...{ id: "again", repeat: 1, env: {}, effects: "idempotent", environment: "box" },
        run: { script: "twice.sh" },
      },
    ]);
    const first = await startNode({ home: home.path, env });
    await untilTrue("the first container is there", async () => (await containers()).length === 1);
    const [old = ""] = await containers();
    // Not by asking the engine: each question is an event, and it remembers the last 256 only.
    await untilTrue("the script sleeps in it", () => spawnSync("pgrep", ["-f", "^sleep 71235"]).status === 0);

    first.signal("SIGKILL");
    await first.exited;
    const second = await startNode({ home: home.path, env });
    await second.when((one) => one.event === "run" && one.run.attempt === 2 && one.run.state === "succeeded");
    second.signal("SIGTERM");
    await second.exited;

    // The engine takes whole seconds only: up to the end of this one.
    const until = Math.ceil((Date.now() + 1) / 1_000);
    const log = (await engine?.docker(
      ...["events", "--since=0", `--until=${until}`, "--filter=type=container"],
      ...[
        "--filter=event=create",
        "--filter=event=destroy",
        "--format={{.Action}} {{.Actor.Attributes.name}}",
      ],
    )) as string;
    const story = log.split("\n");
    const mine = story.slice(story.indexOf(`create ${old}`));
    expect(mine[1], "before another is made").toBe(`destroy ${old}`);
    expect(mine[2]).toMatch(/^create nightshift-/);
    const [said] = await query(home, `SELECT "data" FROM "runEvents" WHERE "kind" = 'processes-ended'`);
    expect(JSON.parse(String(said?.data))).toMatchObject({ containers: [old] });
  });
});

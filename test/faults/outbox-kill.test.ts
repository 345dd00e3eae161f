// kill -9 while messages are on their way: taken by their platform, not yet answered. The storm of 500 is in
// long/outbox-storm.test.ts.

import { expect, test } from "vitest";
import { untilTrue } from "./fault-home.ts";
import { startNode } from "./node-process.ts";
import { type Fate, outboxStorm } from "./outbox-storm.ts";

const MESSAGES = 60;
const KILLS = 2;

test("O3: a node that dies amid its sends (hermes#58818): idempotent loses and doubles nothing, blind sends nothing doubtful again", async () => {
  let isCalm = false;
  const fates = () => {
    let request = 0;
    return (): Fate => {
      request += 1;
      if (request % 4 === 0 && !isCalm) return "takes and holds";
      if (request % 19 === 0) return "asks to wait";
      return request % 3 === 0 ? "takes late" : "takes";
    };
  };
  const { home, held, open, expectHonest } = await outboxStorm(MESSAGES, fates);

  for (let kill = 1; kill <= KILLS; kill++) {
    const node = await startNode({ home: home.path });
    await untilTrue("some are on their way", () => held() >= 3);
    node.signal("SIGKILL");
    await node.exited;
  }
  isCalm = true;
  await startNode({ home: home.path });
  await untilTrue("nothing waits any more", async () => (await open()) === 0);

  // At least those that were held at each kill.
  expect(await expectHonest()).toBeGreaterThanOrEqual(3 * KILLS);
});

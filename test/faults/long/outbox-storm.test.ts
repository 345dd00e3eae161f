// 500 messages to servers that drop, delay, refuse and cut, from a node that is killed -9 again and again.

import { expect, test } from "vitest";
import { seededRandom } from "../../support/random.ts";
import { untilTrue } from "../fault-home.ts";
import { startNode } from "../node-process.ts";
import { type Fate, outboxStorm } from "../outbox-storm.ts";

const MESSAGES = 250;
const KILLS = 5;

/** One request in seven goes wrong, each in its own way. */
function fates(seed: number): () => Fate {
  const random = seededRandom(seed);
  return () => {
    const dice = (random(1)[0] ?? 0) / 256;
    if (dice < 0.04) return "takes and cuts";
    if (dice < 0.06) return "cuts before";
    if (dice < 0.1) return "is down";
    if (dice < 0.14) return "asks to wait";
    return dice < 0.3 ? "takes late" : "takes";
  };
}

test("O3: kill -9 during 500 sends (hermes#58818): idempotent loses and doubles nothing, blind never sends a doubtful one again", {
  timeout: 420_000,
}, async () => {
  const { home, requests, open, expectHonest } = await outboxStorm(MESSAGES, fates);

  for (let kill = 1; kill <= KILLS; kill++) {
    const before = requests();
    const node = await startNode({ home: home.path });
    await untilTrue("it has sent some more", () => requests() >= before + 40);
    node.signal("SIGKILL");
    await node.exited;
  }
  await startNode({ home: home.path });
  await untilTrue("nothing waits any more", async () => (await open()) === 0, 360_000);

  const doubtful = await expectHonest();
  console.log(
    JSON.stringify({ name: "outbox", kills: KILLS, messages: 2 * MESSAGES, requests: requests(), doubtful }),
  );
  expect(doubtful).toBeGreaterThan(0);
  expect(doubtful).toBeLessThan(MESSAGES / 4);
});

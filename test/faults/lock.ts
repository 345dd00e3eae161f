// A database that somebody else keeps locked, while runs end.

import { expect } from "vitest";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import { expectWhole, type FaultHome, untilTrue } from "./fault-home.ts";
import { isRun, type NodeEvent, startNode } from "./node-process.ts";

/** Holds a write lock for `ms` while a run ends, and proves that its end was written afterwards. */
export async function lockedFor(home: FaultHome, ms: number): Promise<void> {
  await home.jobFiles([
    { id: "ends-inside", seconds: 1, repeat: 1 },
    { id: "often", overlap: "allow" },
  ]);
  const node = await startNode({ home: home.path, env: home.env });
  await untilTrue("the run has begun", async () =>
    (await home.deeds()).some((deed) => deed.startsWith("ends-inside")),
  );
  const connection = await openSqlite(home.store.slice("sqlite:".length));
  try {
    await untilTrue("the lock is ours", () =>
      connection.exec("BEGIN IMMEDIATE").then(
        () => true,
        () => false,
      ),
    );
    const before = node.events.length;
    // The length of the lock is the fault itself.
    await new Promise((resolve) => setTimeout(resolve, ms));
    const ends = (event: NodeEvent) => isRun(event) && event.run.jobId === "ends-inside";
    expect(node.events.some(ends), "its end cannot be on record yet").toBe(false);
    await connection.exec("COMMIT");
    const ended = await node.when(ends);
    expect(ended).toMatchObject({ run: { state: "succeeded" } });
    await untilTrue("slots go on", () =>
      node.events.slice(before).some((event) => isRun(event) && event.run.jobId === "often"),
    );
  } finally {
    await connection.close();
  }
  node.signal("SIGTERM");
  expect(await node.exited).toMatchObject({ code: 0 });
  const { rows } = await expectWhole(home);
  expect(rows.filter(({ state }) => state === "unknown")).toEqual([]);
}

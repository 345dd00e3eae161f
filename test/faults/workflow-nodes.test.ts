// Workflows where nodes come and go: two on one store, one that stops, one that is frozen, a store that cannot be written.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import { hasPostgres, postgresDatabase } from "../support/postgres.ts";
import { marked, query, untilTrue } from "./fault-home.ts";
import { type NodeProcess, startNode } from "./node-process.ts";
import {
  deed,
  expectWorkflowsWhole,
  HANGS_ONCE,
  taskRows,
  untilEnded,
  untilUnit,
  type WorkflowHome,
  workflowHome,
} from "./workflow-home.ts";

const shell = (unit: string, rest?: string) => JSON.stringify(deed(unit, rest));
const up = (home: WorkflowHome, ...args: string[]) => startNode({ home: home.path, env: home.env, args });

const untilDeed = (home: WorkflowHome, attempt: string) =>
  untilTrue(`${attempt} begins`, async () => (await home.done()).includes(attempt), 30_000);

/** Goes on until the file `gate` is there. */
const gateOf = (home: WorkflowHome) => join(home.path, "gate");
const untilGate = (home: WorkflowHome) => `while [ ! -e '${gateOf(home)}' ]; do sleep 0.05; done`;
const openGate = (home: WorkflowHome) => writeFile(gateOf(home), "");

async function stop(...nodes: NodeProcess[]): Promise<void> {
  for (const node of nodes) node.signal("SIGTERM");
  for (const node of nodes) expect(await node.exited, node.stderr()).toMatchObject({ code: 0 });
}

const WIDTH = 3;
const NARROW = `timezone: UTC
limits: {quarantine: false}
orchestrator: {maxConcurrentTasks: 8}
queues: {narrow: {priority: 5, concurrency: ${WIDTH}}, wide: {priority: 1, concurrency: 5}}
`;

/** The most that ran at once, from lines `+` and `-` in the order in which they happened. */
function mostAtOnce(lines: readonly string[]): number {
  let running = 0;
  return lines.reduce((most, line) => {
    running += line === "+" ? 1 : -1;
    return Math.max(most, running);
  }, 0);
}

/** One node fills the queue, the other finds no place; then both race for what is left, and the second ends it alone. */
async function shareAQueue(store?: string): Promise<void> {
  const home = await workflowHome({ config: NARROW, store });
  const spans = join(home.path, "spans.txt");
  const work = `echo + >> '${spans}'; ${untilGate(home)}; sleep 0.1; echo - >> '${spans}'`;
  const items = JSON.stringify(Array.from({ length: 20 }, (_, index) => index));
  await home.workflow(
    "share",
    `name: share\ntasks:\n  - {id: each, queue: narrow, timeout: 10m, foreach: {items: ${items}}, shell: ${shell("each[{item}]", work)}}\n`,
  );
  const lines = async () => (await readFile(spans, "utf8")).trim().split("\n");
  const first = await up(home, "--grace", "1m");
  await home.submit("share");
  await untilTrue("the first fills the queue", async () => (await home.done()).length === WIDTH, 30_000);
  const second = await up(home);
  await openGate(home);
  await untilTrue("some have ended", async () => (await lines()).filter((line) => line === "-").length >= 6);
  await stop(first);
  await untilEnded(home);
  await stop(second);

  const ran = await lines();
  expect(ran).toHaveLength(2 * 20);
  expect(mostAtOnce(ran), "the width is used, and never exceeded by both together").toBe(WIDTH);
  const tasks = (await taskRows(home)).filter(({ parentId }) => parentId !== null);
  expect(new Set(tasks.map(({ owner }) => owner)).size, "both nodes worked").toBe(2);
  await expectWorkflowsWhole(home);
}

test("W4: two nodes on one SQLite file share one queue's width exactly", { timeout: 90_000 }, () =>
  shareAQueue(),
);

test.skipIf(!hasPostgres)(
  "W4: two nodes on one PostgreSQL share one queue's width exactly [needs postgres]",
  { timeout: 120_000 },
  async () => shareAQueue(await postgresDatabase()),
);

async function takeOver(store?: string): Promise<void> {
  const home = await workflowHome({ store });
  await home.workflow(
    "long",
    `name: long
tasks:
  - {id: a, shell: ${shell("a")}, effects: idempotent}
  - {id: b, shell: ${shell("b", untilGate(home))}, effects: idempotent, timeout: 10m, dependsOn: [a]}
  - {id: c, shell: ${shell("c")}, effects: idempotent, dependsOn: [b]}
`,
  );
  const nodes = [await up(home), await up(home)];
  const id = await home.submit("long");
  await untilDeed(home, "b#1");
  const ownerOf = async () => (await taskRows(home, `"id" = '${id}'`))[0]?.owner;
  const owner = await ownerOf();
  const isOwner = (node: NodeProcess) =>
    node.events.some((event) => event.event === "ready" && event.nodeId === owner);
  const killed = nodes.find(isOwner);
  killed?.signal("SIGKILL");
  await killed?.exited;
  await untilTrue("the other node has it", async () => {
    const heir = await ownerOf();
    return heir !== null && heir !== owner;
  });
  await openGate(home);
  await untilEnded(home);
  await stop(...nodes.filter((node) => node !== killed));

  expect((await home.show(id)).state).toBe("succeeded");
  const done = await home.done();
  expect(done.filter((one) => !one.startsWith("b"))).toEqual(["a#1", "c#1"]);
  expect(done.length, "b ran on at the other node, or began once more").toBeLessThanOrEqual(4);
  await expectWorkflowsWhole(home);
}

test(
  "G10, L4, dagu#2298: a node that dies amid a workflow hands it to the other on its SQLite file at once",
  {
    timeout: 90_000,
  },
  () => takeOver(),
);

test.skipIf(!hasPostgres)(
  "G10, L4, dagu#2298: a node that dies amid a workflow hands it to the other on its PostgreSQL at once [needs postgres]",
  { timeout: 120_000 },
  async () => takeOver(await postgresDatabase()),
);

test("L13: a node that stops amid a workflow lets a task end in its grace, ends what will not, and the next one goes on", {
  timeout: 90_000,
}, async () => {
  const home = await workflowHome();
  await home.workflow(
    "parts",
    `name: parts
tasks:
  - {id: ends, shell: ${shell("ends", untilGate(home))}, timeout: 10m}
  - {id: hangs, shell: ${shell("hangs", HANGS_ONCE)}, effects: idempotent, timeout: 10m}
  - {id: mail, shell: ${shell("mail", HANGS_ONCE)}, timeout: 10m}
  - {id: after, shell: ${shell("after")}, dependsOn: [ends, hangs, mail]}
`,
  );
  const first = await up(home, "--grace", "2s");
  const id = await home.submit("parts");
  for (const unit of ["ends", "hangs", "mail"]) await untilDeed(home, `${unit}#1`);

  first.signal("SIGTERM");
  await untilTrue("it drains", () => first.stderr().includes("Draining"));
  await openGate(home);
  expect(await first.exited).toEqual({ code: 0, signal: null });
  const states = Object.fromEntries((await taskRows(home)).map((row) => [row.unit || "run", row.state]));
  expect(states).toEqual({ run: "queued", ends: "succeeded", hangs: "cancelled", mail: "cancelled" });
  expect(marked(home.deedsFile)).toEqual([]);

  const next = await up(home);
  await untilDeed(home, "hangs#2");
  await untilTrue("people are asked about the external one", async () => {
    const asked = await query(home, `SELECT "body" FROM "deliveries" WHERE "kind" = 'alert'`);
    return asked.some(({ body }) => String(body).includes("your word on mail"));
  });
  expect(await home.cli("run", "resolve", id, "--as", "succeeded")).toMatchObject({ code: 0 });
  await untilEnded(home);
  await stop(next);

  expect((await home.show(id)).state).toBe("succeeded");
  expect((await home.done()).sort()).toEqual(["after#1", "ends#1", "hangs#1", "hangs#2", "mail#1"]);
  await expectWorkflowsWhole(home);
});

test("L5, bullmq#3056: a node frozen past its lease amid a workflow loses it to another, and writes nothing when it wakes", {
  timeout: 90_000,
}, async () => {
  const home = await workflowHome({ env: { NIGHTSHIFT_LEASE: "800ms", NIGHTSHIFT_BEAT: "200ms" } });
  await home.workflow(
    "cold",
    `name: cold
tasks:
  - {id: a, shell: ${shell("a", HANGS_ONCE)}, effects: idempotent, timeout: 10m}
  - {id: b, shell: ${shell("b")}, effects: idempotent, dependsOn: [a]}
`,
  );
  const zombie = await up(home);
  const id = await home.submit("cold");
  await untilDeed(home, "a#1");

  zombie.signal("SIGSTOP");
  const heir = await up(home);
  await untilEnded(home);
  const everything = () =>
    Promise.all([
      query(home, `SELECT * FROM "runs" ORDER BY "id"`),
      query(home, `SELECT * FROM "journal" ORDER BY "runId", "sequence"`),
    ]);
  const before = await everything();
  zombie.signal("SIGCONT");
  await stop(zombie, heir);

  expect(await everything()).toEqual(before);
  expect((await home.show(id)).state).toBe("succeeded");
  expect(await home.done()).toEqual(["a#1", "a#2", "b#1"]);
  await expectWorkflowsWhole(home);
});

test("G9: a cancel whose node dies in the handler still runs handler and finally, and ends cancelled", {
  timeout: 90_000,
}, async () => {
  const home = await workflowHome();
  await home.workflow(
    "stopped",
    `name: stopped
tasks:
  - {id: a, shell: ${shell("a", "sleep 300")}, timeout: 10m}
  - {id: b, shell: ${shell("b")}, dependsOn: [a]}
  - {id: sorry, shell: ${shell("sorry", HANGS_ONCE)}, effects: idempotent, timeout: 10m}
  - {id: clean, shell: ${shell("clean")}, effects: idempotent}
handlers: {cancelled: [sorry]}
finally: [clean]
`,
  );
  const first = await up(home);
  const id = await home.submit("stopped");
  await untilDeed(home, "a#1");
  expect(await home.cli("run", "cancel", id)).toMatchObject({ code: 0 });
  await untilDeed(home, "sorry#1");
  first.signal("SIGKILL");
  await first.exited;
  const next = await up(home);
  await untilEnded(home);
  await stop(next);

  expect((await home.show(id)).state).toBe("cancelled");
  expect(await home.done()).toEqual(["a#1", "sorry#1", "sorry#2", "clean#1"]);
  await expectWorkflowsWhole(home);
});

test("L11: a store that is locked while a workflow's tasks end delays it, loses nothing and repeats nothing", {
  timeout: 60_000,
}, async () => {
  const home = await workflowHome();
  await home.workflow(
    "busy",
    `name: busy
tasks:
  - {id: a, shell: ${shell("a", untilGate(home))}, timeout: 10m}
  - {id: b, shell: ${shell("b")}, dependsOn: [a]}
`,
  );
  const node = await up(home);
  const id = await home.submit("busy");
  await untilDeed(home, "a#1");
  const connection = await openSqlite(home.store.slice("sqlite:".length));
  try {
    await untilTrue("the lock is ours", () =>
      connection.exec("BEGIN IMMEDIATE").then(
        () => true,
        () => false,
      ),
    );
    await openGate(home);
    await untilTrue("the task has ended", () => marked(home.deedsFile).length === 0);
    // The length of the lock is the fault itself.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await home.done(), "nothing follows before the end is on record").toEqual(["a#1"]);
    await connection.exec("COMMIT");
  } finally {
    await connection.close();
  }
  await untilUnit(home, "b", "succeeded");
  await untilEnded(home);
  await stop(node);

  expect((await home.show(id)).state).toBe("succeeded");
  expect(await home.done()).toEqual(["a#1", "b#1"]);
  const { rows } = await expectWorkflowsWhole(home);
  expect(rows.filter(({ state }) => state === "unknown")).toEqual([]);
});

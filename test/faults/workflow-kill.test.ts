// kill -9 of a node at every kind of moment of a workflow's run, and what the next node makes of it.
// The storm of random kills is in long/workflow-kills.test.ts.

import { expect, test } from "vitest";
import { processesWith } from "../mcp/clients.ts";
import { hasPython } from "../support/python.ts";
import { query, untilTrue } from "./fault-home.ts";
import { type NodeProcess, startNode } from "./node-process.ts";
import {
  deed,
  expectWorkflowsWhole,
  FREE_FUNCTION,
  HANGS_ONCE,
  PYTHON_DEEDS,
  untilEnded,
  untilUnit,
  type WorkflowHome,
  workflowHome,
} from "./workflow-home.ts";
import { workflowStorm } from "./workflow-storm.ts";

const shell = (unit: string, rest?: string) => JSON.stringify(deed(unit, rest));

/** Every kind of task, one after the other; each that is to be killed hangs in its first attempt. */
const LINE = `name: line
defaults: {timeout: 10m, retry: 0}
tasks:
  - {id: first, shell: ${shell("first")}, effects: idempotent}
  - {id: free, executor: free, params: {n: 1}, dependsOn: [first]}
  - {id: safe, shell: ${shell("safe", HANGS_ONCE)}, effects: none, dependsOn: [free]}
  - {id: snake, executor: hangs_once, params: {unit: snake}, dependsOn: [safe]}
  - {id: pause, wait: 1s, dependsOn: [snake]}
  - id: each
    foreach: {items: [0, 1, 2, 3], max: 2}
    shell: ${shell("each[{item}]", `[ {item} != 2 ] || { ${HANGS_ONCE}; }`)}
    effects: idempotent
    dependsOn: [pause]
  - {id: ask, approval: {message: "Send it?"}, dependsOn: [each]}
  - {id: mail, shell: ${shell("mail", HANGS_ONCE)}, dependsOn: [ask]}
  - {id: bye, shell: ${shell("bye", HANGS_ONCE)}, effects: idempotent}
  - {id: clean, shell: ${shell("clean", HANGS_ONCE)}, effects: idempotent}
handlers: {success: [bye]}
finally: [clean]
outputs: {n: "{{ free.result.n }}", by: "{{ ask.result.by }}"}
`;

const EXPECTED_DEEDS = [
  ...["first#1", "safe#1", "safe#2", "snake#1", "snake#2"],
  ...["each[0]#1", "each[1]#1", "each[2]#1", "each[2]#2", "each[3]#1"],
  ...["mail#1", "mail#2", "bye#1", "bye#2", "clean#1", "clean#2"],
];

/** Waits until a unit's attempt has begun, that is, has written its deed. */
async function untilDeed(home: WorkflowHome, attempt: string): Promise<void> {
  await untilTrue(`${attempt} begins`, async () => (await home.done()).includes(attempt), 30_000);
}

async function kill(node: NodeProcess): Promise<void> {
  node.signal("SIGKILL");
  await node.exited;
}

test.skipIf(!hasPython())(
  "G10, L6, dagu#1103, dagu#2040: a node killed amid a shell command, Python, a pause, items, an approval, an external task, a handler and finally: each next node goes on, and nothing that ended is done twice [needs python3]",
  { timeout: 180_000 },
  async () => {
    const home = await workflowHome();
    await home.executor("deeds.py", PYTHON_DEEDS);
    await home.executor("free.ts", FREE_FUNCTION);
    await home.workflow("line", LINE);
    const up = () => startNode({ home: home.path, env: home.env });
    let node = await up();
    const next = async () => {
      await kill(node);
      node = await up();
    };
    const id = await home.submit("line");

    await untilDeed(home, "safe#1");
    await next();
    await untilDeed(home, "snake#1");
    await next();
    await untilUnit(home, "pause", "waiting");
    await next();
    await untilDeed(home, "each[2]#1");
    await untilUnit(home, "each[3]", "succeeded");
    await next();
    await untilUnit(home, "ask", "waiting");
    await next();
    expect(await home.cli("run", "resolve", id, "--as", "succeeded")).toMatchObject({ code: 0 });
    await untilDeed(home, "mail#1");
    await next();
    const lost = await untilUnit(home, "mail", "unknown");
    const alert = await untilAsked(home, lost.id);
    expect(alert).toContain("line waits for your word on mail");
    expect(await home.cli("run", "resolve", id, "--as", "rerun")).toMatchObject({ code: 0 });
    await untilDeed(home, "bye#1");
    await next();
    await untilDeed(home, "clean#1");
    await next();
    await untilEnded(home);
    node.signal("SIGTERM");
    await node.exited;

    expect(await home.show(id)).toMatchObject({ state: "succeeded", outcome: { result: { n: 2 } } });
    expect((await home.done()).sort()).toEqual([...EXPECTED_DEEDS].sort());
    await expectWorkflowsWhole(home);
    const questions = await query(home, `SELECT "body" FROM "deliveries" WHERE "kind" = 'alert'`);
    expect(questions, "each question is asked once, however often its node dies").toHaveLength(2);
    expect(processesWith(home.path), "no worker is left").toEqual([]);
  },
);

/** The message that asks about a row. */
async function untilAsked(home: WorkflowHome, rowId: string): Promise<string> {
  let body = "";
  await untilTrue("people are asked", async () => {
    const rows = await query(home, `SELECT "body" FROM "deliveries" WHERE "kind" = 'alert'`);
    body = rows.map((row) => String(row.body)).find((text) => text.includes(`run resolve ${rowId} `)) ?? "";
    return body !== "";
  });
  return body;
}

test.skipIf(!hasPython())(
  "L6, L9: after five kills at random moments journals, rows and deeds agree, and no task was done twice [needs python3]",
  { timeout: 180_000 },
  async () => {
    const seed = Date.now() % 1_000_000;
    const { taskDeeds } = await workflowStorm(await workflowHome(), { kills: 5, seed });
    expect(taskDeeds.length, `seed ${seed}`).toBeGreaterThan(40);
  },
);

// The storm for workflows: jobs run a graph of every kind of task while their node is killed at random moments; then it
// drains, with a person who says "do it again" to whatever is asked.

import { expect } from "vitest";
import { seededRandom } from "../support/random.ts";
import { query } from "./fault-home.ts";
import { spawnNode, startNode } from "./node-process.ts";
import {
  deed,
  expectWorkflowsWhole,
  FREE_FUNCTION,
  PYTHON_DEEDS,
  taskRows,
  type WorkflowHome,
} from "./workflow-home.ts";

const shell = (unit: string, rest?: string) => JSON.stringify(deed(unit, rest));

/** Every kind of effect, items, a choice, a pause, a failure that is handled, a workflow below, a handler, finally. */
const GRAPH = `defaults: {timeout: 10m, retry: 0}
tasks:
  - {id: first, shell: ${shell("first", "sleep 0.1; echo '{\"n\": 3}'")}, effects: idempotent, onSuccess: [left, right]}
  - {id: left, shell: ${shell("left", "sleep 0.3")}, effects: none}
  - {id: right, executor: deed, params: {unit: right, seconds: 0.2}}
  - {id: free, executor: free, params: {n: "{{ first.result.n }}"}, dependsOn: [left, right]}
  - id: each
    foreach: {items: [0, 1, 2, 3, 4], max: 2}
    shell: ${shell("each[{item}]", "sleep 0.15")}
    effects: idempotent
    dependsOn: [free]
  - {id: mail, shell: ${shell("mail", "sleep 0.2")}, dependsOn: [free]}
  - {id: breaks, shell: ${shell("breaks", "exit 3")}, effects: idempotent, dependsOn: [free], onFailure: [mend]}
  - {id: mend, shell: ${shell("mend")}, effects: idempotent}
  - {id: never, shell: ${shell("never")}, when: "free.result.n > 100", dependsOn: [free]}
  - {id: pause, wait: 200ms, dependsOn: [each]}
  - {id: below, workflow: inner, params: {n: "{{ free.result.n }}"}, dependsOn: [pause]}
  - {id: bye, shell: ${shell("bye")}, effects: idempotent}
  - {id: clean, shell: ${shell("clean", "sleep 0.1")}, effects: idempotent}
handlers: {success: [bye]}
finally: [clean]
outputs: {n: "{{ below.result.n }}"}
`;

const INNER = `params: {n: {type: integer}}
defaults: {timeout: 10m, retry: 0}
tasks:
  - {id: deep, executor: deed, params: {unit: deep}}
  - {id: free, executor: free, params: {n: "{{ params.n }}"}, dependsOn: [deep]}
outputs: {n: "{{ free.result.n }}"}
`;

/** What a run of the graph leaves, whatever happened to its nodes. */
const ALWAYS = [
  "left",
  "right",
  "each[0]",
  "each[1]",
  "each[2]",
  "each[3]",
  "each[4]",
  "mail",
  "mend",
  "clean",
];

export interface WorkflowStorm {
  kills: number;
  seed: number;
  /** Longest life of a node after it was ready, ms. */
  longestMs?: number;
  /** Runs of each of two jobs. */
  runs?: number;
  /** A second node that is up throughout and takes over at once. */
  hasCompanion?: boolean;
}

/** Runs the storm and proves what is left whole. The seed gives the same moments again. */
export async function workflowStorm(
  home: WorkflowHome,
  { kills, seed, longestMs = 2_000, runs = 2, hasCompanion = false }: WorkflowStorm,
) {
  const hint = `(seed ${seed})`;
  const random = seededRandom(seed);
  const upToMs = (ms: number) => {
    const [high = 0, low = 0] = random(2);
    return ((high * 256 + low) / 65_536) * ms;
  };
  await home.executor("deeds.py", PYTHON_DEEDS);
  await home.executor("free.ts", FREE_FUNCTION);
  await home.workflow("graph", GRAPH);
  await home.workflow("inner", INNER);
  const up = { home: home.path, env: home.env, args: ["--grace", "10s"] };
  const jobs = ["flow-a", "flow-b"].map((id) => ({
    // The questions that `drain` answers are found in what people are told.
    ...{ id, schedule: "every 1s", overlap: "queue", repeat: runs, onFailure: ["local"] },
    run: { workflow: { file: "graph" } },
  }));
  const companion = hasCompanion ? await startNode(up) : undefined;
  if (home.store.startsWith("sqlite:")) await home.jobFiles(jobs as never);
  else await home.apply(jobs as never);
  for (let kill = 0; kill < kills; kill++) {
    const node = await startNode(up);
    // The moment itself is the fault: nothing is waited for here.
    await new Promise((resolve) => setTimeout(resolve, upToMs(longestMs)));
    node.signal("SIGKILL");
    expect((await node.exited).signal, `the node ended by itself ${hint}: ${node.stderr()}`).toBe("SIGKILL");
  }
  const last = spawnNode(up);
  await last.when(({ event }) => event === "ready", 60_000);
  const answered = await drain(home, jobs.length * runs);
  for (const node of [last, companion]) {
    node?.signal("SIGINT");
    if (node) expect(await node.exited, `${hint}: ${node.stderr()}`).toMatchObject({ code: 0 });
  }
  const whole = await expectWorkflowsWhole(home, hint);
  expectAllDone(whole, hint);
  return { ...whole, answered, lost: whole.taskRows.filter(({ state }) => state === "unknown").length };
}

/** Says "do it again" to every question until so many runs have ended; returns how many it answered. */
async function drain(home: WorkflowHome, runs: number): Promise<number> {
  let answered = 0;
  const end = performance.now() + 120_000;
  for (;;) {
    const open = await query(home, `SELECT "id" FROM "runs" WHERE "finishedAt" IS NULL`);
    const ended = await query(
      home,
      `SELECT "id" FROM "runs" WHERE "parentId" IS NULL AND "kind" = 'workflow' AND "startedAt" IS NOT NULL AND "finishedAt" IS NOT NULL`,
    );
    if (open.length === 0 && ended.length >= runs) return answered;
    if (performance.now() > end)
      throw new Error(`it does not drain: ${JSON.stringify(await taskRows(home))}`);
    for (const id of await questions(home)) {
      const { code } = await home.cli("run", "resolve", id, "--as", "rerun");
      if (code === 0) answered += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Rows that people were asked about and that have no answer. */
async function questions(home: WorkflowHome): Promise<string[]> {
  const asked = await query(home, `SELECT "body" FROM "deliveries" WHERE "kind" = 'alert'`);
  const said = new Set((await query(home, `SELECT "runId" FROM "resolutions"`)).map(({ runId }) => runId));
  const ids = asked.flatMap(({ body }) => /run resolve (\S+) --as rerun/.exec(String(body))?.[1] ?? []);
  return [...new Set(ids)].filter((id) => !said.has(id));
}

type WholeStorm = Awaited<ReturnType<typeof expectWorkflowsWhole>>;

function expectAllDone({ taskRows: rows, taskDeeds: deeds }: WholeStorm, hint: string): void {
  const graphs = rows.filter(({ parentId, startedAt }) => parentId === null && startedAt !== null);
  for (const { id, state } of graphs) {
    expect(state, `${id} ${hint}`).toBe("partiallySucceeded");
    const done = new Set(deeds.filter((one) => one.run === id).map(({ unit }) => unit));
    expect([...done], `${id} ${hint}`).toEqual(expect.arrayContaining(ALWAYS));
    expect(done.has("never"), `${id} ${hint}`).toBe(false);
  }
}

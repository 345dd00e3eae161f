import { describe, expect, test } from "vitest";
import { type ExplainFacts, explainRun } from "../../src/app/explain.ts";
import type { NodeRecord } from "../../src/records/node.ts";
import type { Run } from "../../src/records/run.ts";

const NOW = Date.UTC(2026, 10, 29, 6);

const run: Run = {
  id: "01m8m4qrk96z48sa3xj8tr6jrq",
  dedupeKey: "job/report/2026-11-29T06:00:00Z",
  attempt: 1,
  kind: "job",
  jobId: "report",
  version: 1,
  parentId: undefined,
  rootId: "01m8m4qrk96z48sa3xj8tr6jrq",
  slot: NOW,
  slotTo: undefined,
  slotCount: 1,
  isCountAtLeast: false,
  trigger: "schedule",
  state: "queued",
  reason: undefined,
  effects: "external",
  isExclusive: true,
  idempotencyKey: "key",
  readyAt: NOW,
  startBy: undefined,
  owner: undefined,
  token: 0,
  leaseUntil: undefined,
  createdAt: NOW,
  startedAt: undefined,
  finishedAt: undefined,
  lastActivityAt: undefined,
  cancelRequestedAt: undefined,
  cancelledBy: undefined,
  outcome: undefined,
  usage: undefined,
  outputFile: undefined,
  scriptSha256: undefined,
  isSuspect: false,
  input: undefined,
};

const node: NodeRecord = {
  id: "node-1",
  name: "host-a:42",
  hostId: "host",
  bootId: "boot",
  pid: 42,
  startTime: "1",
  version: "0.1.0",
  startedAt: NOW,
  lastSeenAt: NOW,
  lastPassAt: NOW,
  clockOffsetMs: 0,
  stoppingAt: undefined,
  stoppedAt: undefined,
  maxParallelRuns: 8,
  liveRuns: 0,
  url: undefined,
  lastError: undefined,
};

const facts: ExplainFacts = {
  now: NOW,
  nodes: [node],
  nodesUp: [node],
  job: { state: "scheduled", stateReason: null },
  openRuns: [],
};

const other = {
  id: "other-run",
  state: "running",
  reason: undefined,
  slot: NOW - 1,
  attempt: 1,
  trigger: "schedule",
  createdAt: NOW,
} as const;

describe("explain says in one sentence why a run is not running", () => {
  test.each<[string, Partial<Run>, Partial<ExplainFacts>, string, string]>([
    ["no node is up", {}, { nodesUp: [] }, "nodeDown", "No node is up"],
    [
      "its job is paused",
      {},
      { job: { state: "paused", stateReason: "holiday (by me)" } },
      "paused",
      "Its job is paused: holiday (by me).",
    ],
    [
      "back-off",
      { state: "waiting", reason: "retry", readyAt: NOW + 90_000, attempt: 2 },
      {},
      "backoff",
      "It tries again in 1m30s, at 2026-11-29T06:01:30Z, as attempt 2.",
    ],
    [
      "its jitter has not passed",
      { readyAt: NOW + 60_000 },
      {},
      "notDue",
      "It is due in 1m, at 2026-11-29T06:01:00Z,",
    ],
    [
      "T7: another run of the job is live",
      {},
      { openRuns: [other] },
      "overlap",
      "Run other-run of the same job is still running",
    ],
    [
      "T7: another run of the job is live, on a node that is up",
      {},
      { openRuns: [other], blocker: { ...run, id: "other-run", state: "running", owner: "node-1" } },
      "overlap",
      "Run other-run of the same job is still running on node host-a:42; its overlap",
    ],
    [
      "L4, T7: the node of the run it waits for is gone, while another is up",
      {},
      {
        nodes: [node, { ...node, id: "node-2", name: "host-b:7" }],
        openRuns: [other],
        blocker: { ...run, id: "other-run", state: "running", owner: "node-2", leaseUntil: NOW + 30_000 },
      },
      "lease",
      "node host-b:7, which holds it, seems gone; its lease ends in 30s, at 2026-11-29T06:00:30Z",
    ],
    ["L12: all places are taken", {}, { nodesUp: [{ ...node, liveRuns: 8 }] }, "nodesFull", "All 8 places"],
    [
      "L12: no node can prepare it",
      { state: "waiting", reason: "node" },
      { lacks: "the script a.sh is not here" },
      "node",
      "the script a.sh is not here",
    ],
    [
      "L4: the lease of a node that is gone",
      { state: "running", owner: "node-1", leaseUntil: NOW + 30_000 },
      { nodesUp: [] },
      "lease",
      "Its node host-a:42 seems gone; the lease it holds ends in 30s",
    ],
    [
      "it runs",
      { state: "running", owner: "node-1", startedAt: NOW },
      {},
      "running",
      "It is running on node host-a:42",
    ],
    [
      "its task waits for a person",
      { state: "running", owner: "node-1", startedAt: NOW },
      {
        questions: [
          { id: "run-a", unit: "ask", isApproval: true },
          { id: "run-b", unit: "mail", isApproval: false },
        ],
      },
      "question",
      "its task ask waits for a person's word: `nightshift run resolve run-a`, where `--as succeeded` approves, `--as failed` refuses. So do mail (run-b).",
    ],
    [
      "it has ended",
      { state: "skipped", reason: "overlap", finishedAt: NOW },
      {},
      "finished",
      "It ended as skipped (overlap)",
    ],
    ["nothing holds it", {}, {}, "due", "the next pass of a node will claim it"],
  ])("%s", (_title, runPatch, factPatch, because, sentence) => {
    const explanation = explainRun({ ...run, ...runPatch }, { ...facts, ...factPatch });

    expect(explanation.because).toBe(because);
    expect(explanation.sentence).toContain(sentence);
  });

  test("U2: a run by hand does not wait for a paused job", () => {
    const paused = { job: { state: "paused", stateReason: null } } as const;
    expect(explainRun({ ...run, trigger: "manual" }, { ...facts, ...paused }).because).toBe("due");
  });
});

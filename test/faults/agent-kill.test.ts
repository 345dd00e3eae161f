// kill -9 and a stop amid an agent's run: what is known of it afterwards, what was spent, and that nothing is left of it.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunShowDocument } from "../../src/app/turn-documents.ts";
import { processesWith } from "../mcp/clients.ts";
import {
  callTools,
  type ModelServer,
  type Step,
  say,
  stallAfter,
  startModelServer,
} from "../support/model-server.ts";
import { hasPostgres, postgresDatabase } from "../support/postgres.ts";
import { type FaultHome, type FaultJob, faultHome, marked, rowsOf, untilTrue } from "./fault-home.ts";
import { isRun, startNode } from "./node-process.ts";

const MCP_SERVER = join(import.meta.dirname, "../support/mcp-tools-server.mjs");
const NODE = process.env.NIGHTSHIFT_TEST_NODE ?? process.execPath;

const sh = (command: string, usage = { input: 700, output: 30 }) =>
  callTools([{ name: "terminal", arguments: { command } }], { usage });

/** The rows of slots that did not find the job complete already. */
async function began(home: FaultHome) {
  return (await rowsOf(home)).filter(({ state }) => state !== "skipped");
}

interface Scene {
  home: FaultHome;
  server: ModelServer;
  run(): Promise<RunShowDocument>;
  /** The kinds of lines in the log of the run, in order. */
  logged(runId: string): Promise<string[]>;
}

/** A home with one model and, where asked, an MCP server, and an agent job that is due at once and once. */
async function scene(
  steps: readonly Step[],
  {
    job = {},
    agent = {},
    hasMcp = false,
  }: Partial<{ job: Partial<FaultJob>; agent: object; hasMcp: boolean }>,
): Promise<Scene> {
  const server = await startModelServer(steps);
  const home = await faultHome({ config: configFor(server, hasMcp) });
  await home.jobFiles([
    { id: "thinker", repeat: 1, run: { agent: { prompt: "Look about.", ...agent } }, ...job } as FaultJob,
  ]);
  return {
    home,
    server,
    async run() {
      const rows = await began(home);
      const { stdout } = await home.cli("run", "show", rows[0]?.id ?? "");
      return JSON.parse(stdout);
    },
    async logged(runId) {
      const { stdout } = await home.cli("run", "logs", runId);
      return stdout
        .trim()
        .split("\n")
        .map((line): string => JSON.parse(line).kind);
    },
  };
}

/** The MCP servers of this scene: their command line names its port. */
const helpers = ({ port }: ModelServer) => processesWith(`mcp-tools-server.mjs ${port}`);

function configFor({ baseUrl, port }: ModelServer, hasMcp: boolean): string {
  const model = `{provider: openai-compatible, id: scripted, baseUrl: "${baseUrl}", price: {input: 10, output: 100}}`;
  const servers = JSON.stringify({ helper: { command: NODE, args: [MCP_SERVER, String(port)] } });
  return `timezone: UTC
limits: {quarantine: false}
models: {named: {main: ${model}}}
${hasMcp ? `mcpServers: ${servers}\n` : ""}`;
}

test("L6: a node killed amid an answer leaves an unknown run whose log and usage tell all until then", {
  timeout: 40_000,
}, async () => {
  const { home, server, ...scened } = await scene([sh("echo seen"), stallAfter("I was just about to ")], {});
  const first = await startNode({ home: home.path });
  await server.arrived(2);
  const [row] = await began(home);
  await untilTrue("the first turn is in the log", async () =>
    (await scened.logged(row?.id ?? "")).includes("turn-finished"),
  );

  first.signal("SIGKILL");
  await first.exited;
  const second = await startNode({ home: home.path });
  await untilTrue("the run is unknown", async () => (await began(home))[0]?.state === "unknown");
  second.signal("SIGTERM");
  await second.exited;

  const run = await scened.run();
  expect(run).toMatchObject({ state: "unknown", reason: expect.stringContaining("died") });
  // Nothing limited it, so no budget counted: its log does.
  expect(run.usage).toEqual({ tokensIn: 700, tokensOut: 30, costUsd: 0.01, modelCalls: 1, turns: 2 });
  expect(run.turns).toMatchObject([
    { turn: 1, tools: [{ name: "terminal", error: null }], calls: [{ end: "done", inputTokens: 700 }] },
  ]);
  expect(await scened.logged(run.id)).toEqual(
    expect.arrayContaining(["agent-started", "tool-finished", "processes-ended", "run-finished"]),
  );
  expect(marked(home.deedsFile)).toEqual([]);
  expect(server.requests, "nobody says that thinking is safe to repeat").toHaveLength(2);
});

test("S3: what a killed agent had set aside for its call counts as spent", { timeout: 40_000 }, async () => {
  const { home, server, ...scened } = await scene([sh("echo seen"), stallAfter("I was just about to ")], {
    agent: { budget: { tokens: 1_000_000 } },
  });
  const first = await startNode({ home: home.path });
  await server.arrived(2);

  first.signal("SIGKILL");
  await first.exited;
  await home.cli("tick");

  const run = await scened.run();
  expect(run).toMatchObject({ state: "unknown", usage: { tokensIn: 700, tokensOut: 30 } });
  expect(run.usage?.tokensReserved).toBeGreaterThan(700);
});

test("L6, L10: a node killed amid a tool's command leaves no process, MCP servers included; a safe job thinks again", {
  timeout: 60_000,
}, async () => {
  const { home, server } = await scene([sh("setsid sleep 300 & sleep 301"), say("Nothing to see.")], {
    hasMcp: true,
    job: { effects: "idempotent" },
  });
  const first = await startNode({ home: home.path });
  // The command's shell and both sleeps.
  await untilTrue("the command runs", () => marked(home.deedsFile).length >= 3);
  expect(helpers(server)).toHaveLength(1);

  first.signal("SIGKILL");
  await first.exited;
  const second = await startNode({ home: home.path });
  const again = await second.when((event) => isRun(event) && event.run.state === "succeeded");
  const rows = await began(home);
  second.signal("SIGTERM");
  await second.exited;

  expect(again).toMatchObject({ run: { attempt: 2, outcome: { output: "Nothing to see." } } });
  expect(rows).toMatchObject([
    { state: "unknown", attempt: 1 },
    { state: "succeeded", attempt: 2, trigger: "rerun" },
  ]);
  expect([...marked(home.deedsFile), ...helpers(server)]).toEqual([]);
  expect(server.requests).toHaveLength(2);
});

test("L13: a stopped node gives an agent its grace, then keeps the part of an answer there is and the conversation", {
  timeout: 40_000,
}, async () => {
  const { home, server, ...scened } = await scene([sh("echo seen"), stallAfter("So far, ", "so good.")], {});
  const node = await startNode({ home: home.path, args: ["--grace", "300ms"] });
  await server.arrived(2);

  node.signal("SIGINT");
  expect(await node.exited).toEqual({ code: 0, signal: null });

  const run = await scened.run();
  expect(run).toMatchObject({
    state: "cancelled",
    reason: "nodeStopped",
    outcome: { output: "So far, so good." },
    usage: { turns: 2 },
  });
  const folder = join(home.path, "output", "thinker");
  expect((await readdir(folder)).filter((name) => name.includes("trajectory"))).toHaveLength(1);
  expect(marked(home.deedsFile)).toEqual([]);
  expect(await began(home)).toHaveLength(1);
});

test("L13: an agent that is safe to repeat is queued again when its node stops, and the next node runs it", {
  timeout: 40_000,
}, async () => {
  const { home, server } = await scene([stallAfter("Half"), say("Whole.")], { job: { effects: "none" } });
  const node = await startNode({ home: home.path, args: ["--grace", "100ms"] });
  await server.arrived(1);

  node.signal("SIGINT");
  await node.exited;
  expect(await began(home)).toMatchObject([{ state: "cancelled" }, { state: "queued", attempt: 2 }]);

  const next = await startNode({ home: home.path });
  const { run } = await next.when(isRun);
  expect(run).toMatchObject({ state: "succeeded", attempt: 2, outcome: { output: "Whole." } });
  next.signal("SIGTERM");
  await next.exited;
});

test.skipIf(!hasPostgres)(
  "L2: two nodes on one PostgreSQL run one agent job once [needs postgres]",
  { timeout: 60_000 },
  async () => {
    const server = await startModelServer([say("Once.")]);
    const store = await postgresDatabase();
    const homes = await Promise.all([1, 2].map(() => faultHome({ store, config: configFor(server, false) })));
    const [home, other] = homes as [FaultHome, FaultHome];
    const nodes = await Promise.all(homes.map(({ path, env }) => startNode({ home: path, env })));
    await home.apply([{ id: "once", repeat: 1, run: { agent: { prompt: "Say it once." } } } as FaultJob]);

    await untilTrue("it has run", async () => (await began(home))[0]?.state === "succeeded");
    for (const node of nodes) node.signal("SIGTERM");
    for (const node of nodes) await node.exited;

    expect(await began(other)).toMatchObject([{ jobId: "once", state: "succeeded", attempt: 1 }]);
    expect(server.requests).toHaveLength(1);
  },
);

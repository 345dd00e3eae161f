// With a node up: waiting, following, stopping. Every wait here ends by an event, never by a pause.

import { type AddressInfo, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { type CliHome, cliHome, oneLine, type Running } from "./run-cli.ts";

interface RunRow {
  id: string;
  state: string;
  trigger: string;
}

/** A node without HTTP that says when it is ready. */
async function nodeUp(home: CliHome): Promise<Running> {
  const node = home.start(["up", "--no-http", "--grace", "1s", "--json"]);
  await node.said(/"event":"ready"/);
  return node;
}

/** A script that goes on until the file `go` is there, so that a test decides when it ends. */
const GATED = 'echo begun\nwhile [ ! -e "$GO_FILE" ]; do sleep 0.05; done\necho over\n';

async function gatedHome(): Promise<CliHome> {
  const home = await cliHome();
  await home.write("scripts/gated.sh", GATED);
  await home.write(
    "jobs/gated.yaml",
    `run: {script: gated.sh}\noverlap: allow\nenv: {GO_FILE: ${home.path}/go}\n`,
  );
  await home.write("jobs/fail.yaml", "run: {script: fail.sh}\n");
  await home.write("jobs/hi.yaml", "run: {script: hi.sh}\n");
  return home;
}

describe("with a node up", () => {
  test("U1, U2: job run queues; --wait answers 0, 1, or 4 when it runs out; Ctrl-C ends the wait with 130, not the run", async () => {
    const home = await gatedHome();
    const node = await nodeUp(home);

    const queued = await home.run(["job", "run", "hi"]);
    const [succeeded, failed, ranOut] = await Promise.all([
      home.run(["job", "run", "hi", "--wait"]),
      home.run(["job", "run", "fail", "--wait", "30s", "--json"]),
      home.run(["job", "run", "gated", "--wait", "1s", "--json"]),
    ]);
    const waiting = home.start(["job", "run", "gated", "--wait"]);
    const before = await waitForRuns(home, 2);
    waiting.child.kill("SIGINT");
    const interrupted = await waiting.ended;
    const after = await home.json<RunRow[]>("run", "list", "--job", "gated");

    expect(queued.stdout).toMatch(/^Queued as run \w{26}\. See `nightshift run show/);
    expect([succeeded.exitCode, succeeded.stdout]).toEqual([0, expect.stringContaining("hi from hi")]);
    expect([failed.exitCode, JSON.parse(failed.stdout).state]).toEqual([1, "failed"]);
    expect([ranOut.exitCode, JSON.parse(ranOut.stdout).finishedAt]).toEqual([4, null]);
    expect(interrupted.exitCode).toBe(130);
    expect(after.map(({ state }) => state)).toEqual(before.map(() => "running"));
    await home.write("go", "");
    node.child.kill("SIGINT");
    expect((await node.ended).exitCode).toBe(0);
  });

  test("run logs -f follows a run live and ends by itself with it; run show and explain say the same", async () => {
    const home = await gatedHome();
    const node = await nodeUp(home);
    const { id } = JSON.parse((await home.run(["job", "run", "gated", "--json"])).stdout) as RunRow;
    const follow = home.start(["run", "logs", id, "-f"]);
    await follow.said(/begun/);

    const explained = await home.run(["run", "explain", id.slice(0, 20)]);
    await home.write("go", "");
    const { exitCode, stdout } = await follow.ended;
    const shown = await home.json<RunRow>("run", "show", id);

    expect(explained.stdout).toMatch(/running/i);
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(/ begun\n[\s\S]* over\n[\s\S]*run-finished state=succeeded/),
    ]);
    expect(shown.state).toBe("succeeded");
    node.child.kill("SIGINT");
    await node.ended;
  });

  test("logs -f waits for a log that is not there yet, filters by level and ends with Ctrl-C", async () => {
    const home = await gatedHome();
    await home.run(["status"]);
    const follow = home.start(["logs", "-f", "--json"]);
    const node = await nodeUp(home);
    const ended = home.run(["job", "run", "hi", "--wait"]);
    await follow.said(/"event":"\S+"/);
    follow.child.kill("SIGINT");

    expect((await follow.ended).exitCode).toBe(130);
    expect(await ended).toMatchObject({ exitCode: 0 });
    node.child.kill("SIGINT");
    await node.ended;
  });

  test("L13: status and node list show the node while it is up and as stopped, with no live run, afterwards", async () => {
    const home = await gatedHome();
    const node = await nodeUp(home);
    const up = await home.run(["status"]);
    node.child.kill("SIGTERM");
    await node.ended;
    const nodes = await home.json<{ state: string; liveRuns: number }[]>("node", "list");

    expect(up.stdout).toMatch(/^node +\S+ up, 0\/\d+ runs/m);
    expect(nodes.map(({ state, liveRuns }) => [state, liveRuns])).toEqual([["stopped", 0]]);
  });
});

/** Asks until so many runs of `gated` run; each answer is a process, so this needs no pause. */
async function waitForRuns(home: CliHome, count: number): Promise<RunRow[]> {
  for (let asked = 0; asked < 60; asked++) {
    const runs = await home.json<RunRow[]>("run", "list", "--job", "gated", "--state", "running");
    if (runs.length === count) return runs;
  }
  throw new Error(`there were never ${count} runs`);
}

describe("without a node", () => {
  test("U1: runs are paged newest first with --limit and --before; a run's exit code is the work's", async () => {
    const home = await gatedHome();
    const codes: (number | null)[] = [];
    for (const job of ["hi", "fail", "hi"]) codes.push((await home.run(["job", "run", job])).exitCode);

    const all = await home.json<RunRow[]>("run", "list");
    const first = await home.json<RunRow[]>("run", "list", "--limit", "2");
    const rest = await home.json<RunRow[]>("run", "list", "--limit", "2", "--before", first.at(-1)?.id ?? "");
    const failed = await home.json<RunRow[]>("run", "list", "--state", "failed", "--since", "1h");

    expect(codes).toEqual([0, 1, 0]);
    expect([...first, ...rest]).toEqual(all);
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
    expect(failed.map(({ state }) => state)).toEqual(["failed"]);
  });

  test("L6: run retry queues and says that no node is up; cancel ends it; neither touches what has ended", async () => {
    const home = await gatedHome();
    await home.run(["job", "run", "fail"]);
    const [ended] = await home.json<RunRow[]>("run", "list");
    const retried = await home.run(["run", "retry", ended?.id ?? ""]);
    const id = /run (\w{26})/.exec(retried.stdout)?.[1] ?? "";
    const why = await home.run(["run", "explain", id]);
    const cancelled = await home.run(["run", "cancel", id]);
    const twice = await home.run(["run", "cancel", id]);
    const resolved = await home.run(["run", "resolve", id, "--as", "failed"]);

    expect(retried.stderr).toMatch(/^No node is up to run it/);
    expect(why.stdout).toMatch(/No node is up/);
    expect(cancelled.stdout).toMatch(/is cancelled\.$/m);
    expect(oneLine(twice)).toMatch(/has already ended as cancelled\. Nothing is left to cancel\.$/);
    expect(oneLine(resolved)).toMatch(/is cancelled, not unknown/);
  });

  test("T1: --home, --profile and NIGHTSHIFT_HOME are three homes; tick fires what is due in its own only", async () => {
    const home = await gatedHome();
    const other = `${home.path}-other`;

    const at = await Promise.all(
      [["--home", other], ["--profile", "work"], []].map((flags) =>
        home.json<{ home: string }>(...flags, "status"),
      ),
    );
    await home.run(["--profile", "work", "job", "list"]);
    const tick = await home.json<{ started: string[] }>("tick");

    expect(at.map((status) => status.home)).toEqual([other, `${home.path}/profiles/work`, home.path]);
    expect(tick.started).toEqual([]);
    expect(await home.json("--profile", "work", "job", "list")).toEqual([]);
  });

  test("a reader that closes the pipe early is no error", async () => {
    const home = await gatedHome();
    const list = home.start(["schedule", "every 1s", "--count", "10000"]);
    list.child.stdout.destroy();

    const { stderr } = await list.ended;

    expect(stderr).toBe("");
  });
});

test("T4: schedule says what a text means, in its zone, across the spring gap, quoted or not", async () => {
  const home = await cliHome();

  const words = await home.run([
    "schedule",
    "every",
    "monday",
    "9am",
    "--timezone",
    "Europe/Berlin",
    "--count",
    "1",
  ]);
  const gap = await home.json<{ kind: string; timezone: string; next: string[] }>(
    "schedule",
    "30 2 * * *",
    "--timezone",
    "America/New_York",
    "--from",
    "2026-03-07",
    "--count",
    "2",
  );

  expect(words.stdout).toMatch(/^at 09:00 on Monday, Europe\/Berlin\n {2}\S+Z\n$/);
  expect(gap).toMatchObject({
    kind: "cron",
    timezone: "America/New_York",
    next: ["2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z"],
  });
});

test("T4, T6: plan folds the slots of many jobs, says what an outage does to them, and is right across DST", async () => {
  const home = await cliHome();
  await home.write(
    "jobs/often.yaml",
    "schedule: '*/15 * * * *'\ntimezone: America/New_York\nrun: {script: hi.sh}\n",
  );
  await home.write(
    "jobs/night.yaml",
    "schedule: '30 2 * * *'\ntimezone: America/New_York\nrun: {script: hi.sh}\n",
  );

  const { slots } = await home.json<{
    slots: { jobId: string; count: number; fate: string; first: string }[];
  }>(
    "plan",
    "--from",
    "2026-11-01T04:00:00Z",
    "--days",
    "1",
    "--down",
    "2026-11-01T06:00:00Z..2026-11-01T08:00:00Z",
  );

  const of = (jobId: string) => slots.filter((slot) => slot.jobId === jobId);
  expect(of("often").reduce((sum, { count }) => sum + count, 0)).toBe(96);
  expect(new Set(of("often").map(({ fate }) => fate))).toEqual(new Set(["onTime", "missed"]));
  expect(of("night").map(({ first, fate }) => [first, fate])).toEqual([["2026-11-01T07:30:00Z", "late"]]);
});

describe("what `up` cannot serve", () => {
  test("S5: a refused address or a busy port refuses the start before a node exists or anything fires", async () => {
    const home = await cliHome();
    const taken = createServer();
    await new Promise<void>((resolve) => {
      taken.listen(0, "127.0.0.1", resolve);
    });
    const { port } = taken.address() as AddressInfo;

    const open = await home.run(["up", "--bind", "0.0.0.0", "--port", "0"]);
    const busy = await home.run(["up", "--port", String(port)]);
    await new Promise((resolve) => {
      taken.close(resolve);
    });
    const nodes = await home.json<{ state: string }[]>("node", "list");

    expect([open.exitCode, open.stderr]).toEqual([2, expect.stringContaining("add --insecure")]);
    expect([busy.exitCode, busy.stderr]).toEqual([1, expect.stringContaining(`Port ${port}`)]);
    expect(nodes).toEqual([]);
  });
});

describe("the stdout target", () => {
  test("is accepted at creation; who sends prints it, on stderr where --json keeps stdout for documents", async () => {
    const home = await cliHome();
    const added = await home.run(["job", "add", "manual", "--script", "hi.sh", "--deliver", "stdout"]);
    const plain = await home.run(["job", "run", "hi"]);
    const json = await home.run(["job", "run", "hi", "--json"]);

    expect(added.stdout).toContain("goes to stdout");
    expect(plain.stdout.match(/hi from hi/g)?.length).toBeGreaterThan(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ state: "succeeded" });
    expect(json.stderr).toContain("hi from hi");
  });
});

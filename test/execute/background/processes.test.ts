// Background processes of one run, over the real local environment.

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  LONGEST_WAIT_MS,
  MOST_TRACKED,
  makeProcesses,
  type ProcessesDeps,
} from "../../../src/execute/background/processes.ts";
import { launchTerminal } from "../../../src/execute/environments/launch-terminal.ts";
import { openLocal } from "../../../src/execute/environments/local.ts";
import { isSameProcess, readProcess } from "../../../src/execute/process-table.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import type { BackgroundProcess, Processes } from "../../../src/records/background.ts";
import { contractDeps } from "../../contract/environment/local-harness.ts";
import { manualClock } from "../../support/clock.ts";
import { tempFolder } from "../../support/temp.ts";
import { newId, realClock } from "../room.ts";

const never = new AbortController().signal;

async function openBench(changes: Partial<ProcessesDeps> = {}) {
  const folder = await tempFolder();
  const deps = contractDeps(folder);
  const environment = await openLocal(deps);
  onTestFinished(async () => void (await environment.dispose()));
  const exits: BackgroundProcess[] = [];
  const processes = makeProcesses({
    clock: realClock,
    log: silentLog,
    newId,
    redact: (text) => text.replaceAll("s3cret-value", "[redacted]"),
    environment,
    ownerRunId: "run-1",
    logFileOf: (id) => join(deps.tempFolder, `${id}.log`),
    graceMs: 300,
    onExit: (process) => void exits.push(process),
    ...changes,
  });
  onTestFinished(async () => void (await processes.dispose()));
  return { processes, environment, deps, exits };
}

/** Until the process's kept output holds this text. */
async function untilPrinted(processes: Processes, id: string, text: string): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if ((await processes.log(id, { lines: 1_000 })).output.includes(text)) return;
    await sleep(10);
  }
  throw new Error(`never printed: ${text}`);
}

describe("a background process", () => {
  test("is known at once, runs on, and ends as itself: id, pid, times, exit code, output", async () => {
    const { processes, deps, exits } = await openBench();
    const started = await processes.start(
      { command: 'read line; echo "got $line"; echo bad >&2; exit 3' },
      never,
    );
    expect(started).toMatchObject({
      id: expect.stringMatching(/^proc_[0-9a-z]{12}$/),
      cwd: deps.workdir,
      environment: "local",
      ownerRunId: "run-1",
      state: "running",
      exitCode: undefined,
      endedAt: undefined,
    });
    expect(readProcess(started.pid!)).toBeDefined();

    await processes.write(started.id, "夜\n");
    const answer = await processes.wait(started.id, { timeoutMs: 20_000, signal: never });

    expect(answer.status).toBe("exited");
    expect(answer.process).toMatchObject({ state: "exited", exitCode: 3, outputBytes: 12 });
    expect(answer.output.split("\n").sort()).toEqual(["", "bad", "got 夜"]);
    expect(answer.process.endedAt).toBeGreaterThanOrEqual(answer.process.startedAt);
    expect(exits).toEqual([answer.process]);
  });

  test("poll has no side effect and shows the newest part; ids may be shortened while they are unique", async () => {
    const { processes } = await openBench();
    const { id } = await processes.start({ command: "seq 1 400; echo last; sleep 60" }, never);
    await untilPrinted(processes, id, "last");
    const first = await processes.poll(id, { characters: 5 });
    expect([first.output, first.process.state]).toEqual(["last\n", "running"]);
    expect(await processes.poll(id, { characters: 5 })).toEqual(first);
    expect((await processes.poll(id.slice(5, 16), { characters: 0 })).output).toBe("");
    expect((await processes.poll(id.slice(0, 14))).process.id).toBe(id);

    await processes.start({ command: "sleep 60" }, never);
    await expect(processes.poll("proc_")).rejects.toMatchObject({ code: "input.ambiguous" });
    await expect(processes.poll("proc_zzzz")).rejects.toMatchObject({ code: "process.unknown" });
    await expect(processes.poll("")).rejects.toMatchObject({ code: "process.unknown" });
  });

  test("log pages from the end, or from a line counted from the head", async () => {
    const { processes } = await openBench();
    const { id } = await processes.start({ command: "seq 1 300; printf unfinished" }, never);
    await processes.wait(id, { timeoutMs: 20_000, signal: never });
    const byDefault = await processes.log(id);
    expect([byDefault.output.split("\n").length, byDefault.isCut]).toEqual([200, true]);
    expect((await processes.log(id, { lines: 2 })).output).toBe("300\nunfinished");
    expect((await processes.log(id, { offset: 0, lines: 2 })).output).toBe("1\n2\n");
    expect((await processes.log(id, { offset: 999 })).output).toBe("");
    expect(await processes.log(id, { lines: 1_000 })).toMatchObject({ isCut: false });
  });

  test("a character that a chunk's edge cuts is whole, and a byte that is none becomes U+FFFD", async () => {
    const { processes } = await openBench();
    const { id } = await processes.start(
      {
        command:
          "printf '\\345\\244'; sleep 0.2; printf '\\234 \\377 \\360\\237'; sleep 0.2; printf '\\214\\231'",
      },
      never,
    );
    const { output } = await processes.wait(id, { timeoutMs: 20_000, signal: never });
    expect(output).toBe("夜 \uFFFD 🌙");
  });

  test("a secret is hidden in the command, in every answer and in the log file, also over a chunk's edge", async () => {
    const { processes, deps } = await openBench();
    const { id } = await processes.start(
      { command: "A=s3cret-value; printf s3cret; sleep 0.2; echo -value" },
      never,
    );
    const { output, process } = await processes.wait(id, { timeoutMs: 20_000, signal: never });
    const file = join(deps.tempFolder, `${id}.log`);
    expect([output, process.command]).toEqual([
      "[redacted]\n",
      "A=[redacted]; printf s3cret; sleep 0.2; echo -value",
    ]);
    expect(await readFile(file, "utf8")).toBe("[redacted]\n");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test("wait is clamped, refuses no time at all, and can be interrupted", async () => {
    const clock = manualClock(1_000);
    const { processes } = await openBench({ clock });
    const { id } = await processes.start({ command: "sleep 60" }, never);
    await expect(processes.wait(id, { timeoutMs: 0, signal: never })).rejects.toMatchObject({
      code: "input.invalid",
    });

    const waiting = processes.wait(id, { timeoutMs: Number.MAX_SAFE_INTEGER, signal: never });
    await clock.whenSleeping();
    await clock.advance(LONGEST_WAIT_MS);
    expect(await waiting).toMatchObject({ status: "timeout", process: { state: "running" } });

    const controller = new AbortController();
    const interrupted = processes.wait(id, { timeoutMs: 1_000, signal: controller.signal });
    controller.abort();
    expect((await interrupted).status).toBe("interrupted");
  });

  test("an orphan that holds the pipe does not delay the exit", async () => {
    const { processes } = await openBench();
    const { id } = await processes.start({ command: "sleep 60 & echo started; exit 4" }, never);
    const { process, output } = await processes.wait(id, { timeoutMs: 20_000, signal: never });
    expect([process.exitCode, output]).toEqual([4, "started\n"]);
  });

  test("kill ends the whole tree, counts survivors, and says what was dead already", async () => {
    const { processes, exits } = await openBench();
    const { id } = await processes.start(
      { command: "trap '' TERM; sleep 60 & echo $!; sh -c 'setsid sleep 60 & echo $!; wait'" },
      never,
    );
    await untilPrinted(processes, id, "\n");
    let pids: number[] = [];
    for (let turn = 0; turn < 200 && pids.length < 2; turn++) {
      pids = (await processes.log(id)).output.trim().split("\n").map(Number);
      await sleep(10);
    }
    const known = pids.map((pid) => readProcess(pid)!);

    expect(await processes.kill(id)).toMatchObject({
      survivors: 0,
      wasRunning: true,
      process: { state: "killed" },
    });
    expect(await processes.kill(id)).toMatchObject({
      survivors: 0,
      wasRunning: false,
      process: { state: "killed" },
    });

    expect(known.length).toBe(2);
    expect(known.some(isSameProcess)).toBe(false);
    expect(exits).toEqual([]);
    await expect(processes.write(id, "x")).rejects.toMatchObject({ code: "input.conflict" });
  });

  test("`yes` without end costs at most 20 MB and no other work's turn; its tail is kept, its file stops at the cap and says so", async () => {
    const { processes, deps } = await openBench({ maxFileBytes: 100_000 });
    const { id } = await processes.start({ command: "yes 'a line that repeats'" }, never);
    const printed = async () => (await processes.poll(id)).process.outputBytes;
    // The most that is in use meanwhile: pieces that were read wait for the next collection, some tens of MB at a time.
    const peakUntil = async (bytes: number) => {
      let peak = 0;
      for (let turn = 0; turn < 2_000 && (await printed()) < bytes; turn++) {
        peak = Math.max(peak, process.memoryUsage.rss());
        await sleep(10);
      }
      return peak;
    };
    // What the first pieces cost once (compiled code, the kept tail, a young generation of its full size) is not growth.
    const before = await peakUntil(80_000_000);
    const delays = monitorEventLoopDelay({ resolution: 5 });
    delays.enable();
    const grown = (await peakUntil(180_000_000)) - before;
    delays.disable();
    const all = await printed();
    await processes.kill(id);

    expect(all).toBeGreaterThan(180_000_000);
    expect(grown).toBeLessThan(20_000_000);
    expect(delays.percentile(90) / 1e6, "ms until another's turn").toBeLessThan(100);
    const { output } = await processes.wait(id, { timeoutMs: 1_000, signal: never });
    expect(output.length).toBeLessThanOrEqual(200_000);
    expect(output.startsWith("a line that repeats\n")).toBe(true);
    const file = await readFile(join(deps.tempFolder, `${id}.log`), "utf8");
    expect(file.length).toBeLessThan(100_100);
    expect(file.endsWith("\n[the log ends here: 100000 bytes]\n")).toBe(true);
  });

  test("at a terminal: what is typed is shown and read, a closed stdin is its end, and `yes` there costs no memory either", async () => {
    const { processes } = await openBench();
    const talks = await processes.start(
      { command: "test -t 0 && cat; echo over; sleep 0.5; exit 4", pty: true },
      never,
    );
    await processes.write(talks.id, "hello 夜\n");
    await untilPrinted(processes, talks.id, "hello 夜\r\nhello 夜");
    await processes.closeStdin(talks.id);
    const ended = await processes.wait(talks.id, { timeoutMs: 20_000, signal: never });
    expect(ended).toMatchObject({ status: "exited", process: { exitCode: 4 } });
    expect(ended.output).toContain("over");

    const floods = await processes.start({ command: "yes 'a line that repeats'", pty: true }, never);
    const printed = async () => (await processes.poll(floods.id)).process.outputBytes;
    const until = async (bytes: number) => {
      for (let turn = 0; turn < 1_000 && (await printed()) < bytes; turn++) await sleep(10);
    };
    await until(5_000_000);
    const before = process.memoryUsage.rss();
    await until(15_000_000);
    expect(await printed()).toBeGreaterThan(15_000_000);
    expect(process.memoryUsage.rss() - before).toBeLessThan(20_000_000);
    expect(await processes.kill(floods.id)).toMatchObject({ survivors: 0 });
  });

  test("a terminal that cannot be had is refused with what to install", async () => {
    const launch = { argv: ["tty"], env: {}, columns: 80, rows: 24, package: "@lydell/not-there" };
    await expect(launchTerminal(launch)).rejects.toMatchObject({
      code: "environment.unusable",
      hint: "Install @lydell/not-there beside Nightshift, or start the command without a terminal.",
    });
  });
});

describe("the registry", () => {
  test(`tracks ${MOST_TRACKED}: the oldest finished one makes room, a running one never does`, async () => {
    const { processes } = await openBench();
    const first = await processes.start({ command: "sleep 60" }, never);
    const second = await processes.start({ command: "true" }, never);
    await processes.wait(second.id, { timeoutMs: 20_000, signal: never });
    for (let count = 2; count < MOST_TRACKED; count++) await processes.start({ command: "sleep 60" }, never);

    const newest = await processes.start({ command: "sleep 60" }, never);
    const listed = (await processes.list()).map(({ id }) => id);
    expect([listed.length, listed[0], listed.at(-1)]).toEqual([MOST_TRACKED, newest.id, first.id]);
    expect(listed).not.toContain(second.id);
    await expect(processes.start({ command: "true" }, never)).rejects.toMatchObject({
      code: "input.conflict",
    });
  });

  test("dispose ends all that run, says how many, and lets nothing start any more", async () => {
    const { processes } = await openBench();
    const done = await processes.start({ command: "true" }, never);
    await processes.wait(done.id, { timeoutMs: 20_000, signal: never });
    const running = [
      await processes.start({ command: "sleep 60" }, never),
      await processes.start({ command: "trap '' TERM; sleep 60; sleep 60" }, never),
    ];
    expect(await processes.dispose()).toEqual({ ended: 2, survivors: 0 });
    expect(await processes.dispose()).toEqual({ ended: 2, survivors: 0 });
    expect(running.some(({ pid }) => readProcess(pid!)?.isZombie === false)).toBe(false);
    await expect(processes.start({ command: "true" }, never)).rejects.toMatchObject({
      code: "environment.unusable",
    });
  });
});

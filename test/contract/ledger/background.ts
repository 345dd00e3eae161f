// Rules of background processes as far as the ledger keeps them (DESIGN §8, L10).

import { expect, test } from "vitest";
import type { BackgroundRecord } from "../../../src/records/background.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import { type Bench, delivery, HOST, manualRun, START, whenFree } from "./fixtures.ts";

export function backgroundRules(open: () => Promise<Bench>): void {
  test("L10: a process is remembered as it was put, with all that tells it from another one", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const notify = {
      onExit: true,
      to: { kind: "targets", targets: ["local"] },
      watch: [{ regex: "^夜" }],
    } as const;
    const one = record("aaaa", { notify, ownerRunId: "run-1", progress: '{"n":1}' });
    const bare = record("bbbb", { pid: undefined, startTime: undefined, processGroup: undefined });
    expect([await ledger.putBackground(one, 64), await ledger.putBackground(bare, 64)]).toEqual([
      "put",
      "put",
    ]);
    expect(await ledger.background("proc_aaaa")).toEqual(one);
    expect(await ledger.background("bb")).toEqual(bare);
    expect(await ledger.background("cc")).toBeUndefined();
    expect(await ledger.background("")).toBeUndefined();
    await ledger.putBackground(record("aabb"), 64);
    expect(await ledger.background("aa")).toEqual({ ambiguous: ["proc_aaaa", "proc_aabb"] });
  });

  test("lists are by owner, session and state, newest first", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putBackground(record("a", { ownerRunId: "run-1", session: "run" }), 64);
    await ledger.putBackground(record("b", { startedAt: START + 1 }), 64);
    await ledger.putBackground(record("c", { session: "mcp:1", startedAt: START + 2 }), 64);
    await ledger.endBackground(ending("b"));
    const idsOf = async (filter: Parameters<Ledger["backgrounds"]>[0]) =>
      (await ledger.backgrounds(filter)).map(({ id }) => id.slice(5));
    expect(await idsOf({})).toEqual(["c", "b", "a"]);
    expect(await idsOf({ ownerRunId: "run-1" })).toEqual(["a"]);
    expect(await idsOf({ ownerRunId: null })).toEqual(["c", "b"]);
    expect(await idsOf({ session: "mcp:1" })).toEqual(["c"]);
    expect(await idsOf({ state: ["exited", "lost"] })).toEqual(["b"]);
    expect(await idsOf({ limit: 1 })).toEqual(["c"]);
  });

  test("an owner's running processes are bounded; ended ones and other owners' do not count", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putBackground(record("a"), 2);
    await ledger.putBackground(record("b"), 2);
    expect(await ledger.putBackground(record("c"), 2)).toBe("full");
    expect(await ledger.putBackground(record("c", { ownerRunId: "run-1" }), 2)).toBe("put");
    await ledger.endBackground(ending("a"));
    expect(await ledger.putBackground(record("d"), 2)).toBe("put");
  });

  test("of many who notice an end one is first, and an end that is recorded does not change", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.putBackground(record("a"), 64);
    const race = Array.from({ length: 20 }, (_, n) =>
      whenFree(() => (n % 2 === 0 ? a : b).endBackground(ending("a", { exitCode: n }))),
    );
    expect((await Promise.all(race)).filter(Boolean)).toHaveLength(1);
    const before = await a.background("proc_a");
    expect(await b.endBackground(ending("a", { state: "lost", exitCode: undefined }))).toBe(false);
    expect(await b.background("proc_a")).toEqual(before);
  });

  test("hermes#10156, hermes#15276: an end is told of once or seen once, never both, whoever is faster", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    for (let round = 0; round < 6; round++) {
      const id = `r${round}`;
      await a.putBackground(record(id), 64);
      expect(await a.consumeBackground(`proc_${id}`, START)).toBe(false);
      expect(await a.noticeBackground(notice(id))).toBe(false);
      await a.endBackground(ending(id));
      const answers = await Promise.all([
        whenFree(() => a.noticeBackground(notice(id))),
        whenFree(() => b.noticeBackground(notice(id))),
        whenFree(() => b.consumeBackground(`proc_${id}`, START)),
        whenFree(() => a.consumeBackground(`proc_${id}`, START)),
      ]);
      expect(answers.filter(Boolean)).toHaveLength(1);
      const put = await a.deliveries({});
      expect(put.filter(({ key }) => key === `process/proc_${id}`)).toHaveLength(
        answers[0] || answers[1] ? 1 : 0,
      );
    }
  });

  test("news is put with the progress it was decided on: who is late puts nothing", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putBackground(record("a"), 64);
    const news = (from: string | undefined, to: string) =>
      ledger.noticeBackground({
        ...{ id: "proc_a", at: START, kind: "news", progress: { from, to } },
        deliveries: [delivery({ key: `news/${to}` })],
      });
    expect([await news(undefined, "1"), await news(undefined, "x"), await news("1", "2")]).toEqual([
      true,
      false,
      true,
    ]);
    expect((await ledger.deliveries({})).map(({ key }) => key).toSorted()).toEqual(["news/1", "news/2"]);
  });

  test("a notice for a run is a line of its log, in the same transaction", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const run = manualRun(bench);
    await ledger.enqueue([run]);
    await ledger.putBackground(record("a", { ownerRunId: run.id }), 64);
    await ledger.endBackground(ending("a"));
    const event = { runId: run.id, data: { processId: "proc_a" } };
    const told = { ...notice("a"), deliveries: [], event };
    expect([await ledger.noticeBackground(told), await ledger.noticeBackground(told)]).toEqual([true, false]);
    const events = await ledger.events({ runId: run.id, limit: 100 });
    expect(events.filter(({ kind }) => kind === "process-notice")).toMatchObject([{ data: event.data }]);
  });

  test("a handed-off process has another owner; a request to end it is kept; what runs is never forgotten", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.putBackground(record("a", { ownerRunId: "child", session: "run" }), 64);
    await ledger.putBackground(record("b"), 64);
    expect(await ledger.handOffBackground("proc_a", { ownerRunId: "parent", session: "run" })).toBe(true);
    expect(await ledger.handOffBackground("proc_x", { ownerRunId: undefined, session: "cli" })).toBe(false);
    await ledger.requestBackgroundKill("proc_a", START + 5);
    expect(await ledger.background("a")).toMatchObject({ ownerRunId: "parent", killRequestedAt: START + 5 });
    await ledger.endBackground(ending("b"));
    await ledger.removeBackgrounds(["proc_a", "proc_b"]);
    expect((await ledger.backgrounds({})).map(({ id }) => id)).toEqual(["proc_a"]);
  });
}

function record(id: string, parts: Partial<BackgroundRecord> = {}): BackgroundRecord {
  return {
    id: `proc_${id}`,
    ownerRunId: undefined,
    session: "cli",
    environment: "local",
    command: "sleep 1",
    cwd: "/tmp",
    hostId: HOST.hostId,
    machineId: HOST.machineId,
    bootId: HOST.bootId,
    pid: 4_711,
    startTime: "123456",
    processGroup: 4_711,
    holderPid: 12,
    holderStartTime: "99",
    isSupervised: true,
    persist: false,
    state: "running",
    exitCode: undefined,
    startedAt: START,
    endedAt: undefined,
    outputBytes: 0,
    logFile: "/home/processes/output.0",
    notify: undefined,
    progress: undefined,
    consumedAt: undefined,
    noticedAt: undefined,
    killRequestedAt: undefined,
    ...parts,
  };
}

type Ending = Parameters<Ledger["endBackground"]>[0];

function ending(id: string, parts: Partial<Ending> = {}): Ending {
  return {
    id: `proc_${id}`,
    state: "exited",
    exitCode: 0,
    endedAt: START + 9,
    outputBytes: 12,
    ...parts,
  };
}

function notice(id: string) {
  return {
    id: `proc_${id}`,
    at: START + 10,
    kind: "exit",
    deliveries: [delivery({ key: `process/proc_${id}` })],
  } as const;
}

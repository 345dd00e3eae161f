import { describe, expect, test } from "vitest";
import { causeOf, normaliseCause } from "../../src/deliver/cause.ts";
import { type SettleInput, settleRun } from "../../src/deliver/settle.ts";
import { makeRedact } from "../../src/kernel/redact.ts";
import type { Streak } from "../../src/records/definition.ts";
import type { Outcome } from "../../src/records/outcome.ts";
import type { Run } from "../../src/records/run.ts";
import { chat, context, failure, redact, runRow, success } from "./fixtures.ts";

const CALM: Streak = { failures: 0, cause: undefined, isAlerted: false };
const job: SettleInput["job"] = {
  id: "disk-watch",
  name: "disk-watch",
  timezone: "Europe/Berlin",
  deliver: [{ kind: "target", target: chat("1") }],
  onFailure: [{ kind: "target", target: chat("alerts") }],
};

interface Ending extends Partial<Omit<SettleInput, "run" | "outcome">> {
  run?: Partial<Run>;
  outcome?: Outcome;
}

function settle({ run, outcome = success("disk 91 %"), ...input }: Ending = {}, hide = redact) {
  const row = runRow({ state: outcome.state, ...run });
  return settleRun(
    { job, streak: CALM, isLastAttempt: true, ...input, run: row, outcome },
    { route: context(), redact: hide },
  );
}

const kinds = (ending: Ending) =>
  settle(ending).deliveries.map(({ kind, target }) => `${kind} ${target.text}`);

describe("what the end of a run means for people", () => {
  test("a success is one row with the output verbatim, keyed by run, kind, target and part (O1)", () => {
    expect(settle()).toEqual({
      streak: CALM,
      deliveries: [
        {
          key: "job/disk-watch/2026-11-29T06:00:00Z|result|chat:1|0",
          runId: "01kb7c3v5m8q2n4r6t8w0y2z4a",
          jobId: "disk-watch",
          kind: "result",
          target: chat("1"),
          part: 0,
          body: "disk 91 %",
          repeatability: "blind",
          state: "queued",
        },
      ],
    });
  });

  test("silence sends nothing, and neither does an empty output", () => {
    expect(kinds({ outcome: success("kept", true) })).toEqual([]);
    expect(kinds({ outcome: success(" \n") })).toEqual([]);
  });

  test("a long result becomes parts in order, each with its own key", () => {
    const output = `${"a".repeat(1_500)}\n${"b".repeat(1_500)}\n`;

    const { deliveries } = settle({ outcome: success(output) });

    expect(deliveries.map(({ part, body }) => [part, body])).toEqual([
      [0, `${"a".repeat(1_500)}\n(1/2)`],
      [1, `${"b".repeat(1_500)}\n(2/2)`],
    ]);
    expect(new Set(deliveries.map(({ key }) => key)).size).toBe(2);
  });

  test("a result that had to be cut says where the whole is, and it is there", () => {
    const output = "word ".repeat(20_000);

    const { deliveries } = settle({ outcome: success(output) });

    expect(deliveries).toHaveLength(21);
    expect(deliveries[19]?.body).toMatch(
      /\n\n\[cut: the whole text is kept on the node, in local \(nightshift run show \w+\)\]\n\(20\/20\)$/,
    );
    expect(deliveries[20]).toMatchObject({ target: { text: "local" }, body: output, state: "queued" });
  });

  test("U2: `local` has a result whose archived file is whole before the closing: no other try is made", () => {
    const both = {
      ...job,
      deliver: ["local", "chat:1"].map((text) => ({
        kind: "target" as const,
        target: { platform: text.split(":")[0] ?? "", text },
      })),
    };
    const run = { outputFile: "output/disk-watch/1.md", finishedAt: 5 };
    expect(settle({ job: both, run }).deliveries).toMatchObject([
      { target: { text: "local" }, state: "delivered", receipt: { id: run.outputFile, at: 5 } },
      { target: { text: "chat:1" }, state: "queued" },
    ]);
  });

  test("O4: a target that cannot be resolved is dead from birth, and the text is in local", () => {
    const lost = { ...job, deliver: [{ kind: "home", platform: "chat" } as const] };

    expect(settle({ job: lost }).deliveries).toMatchObject([
      { target: { text: "local" }, state: "queued", body: "disk 91 %" },
      {
        target: { text: "chat" },
        state: "dead",
        error: "noHome: chat has no home channel",
        body: "disk 91 %",
      },
    ]);
  });

  test.each<[string, Outcome, Partial<Run>, RegExp]>([
    ["a failure", failure("exited with code 3", { exitCode: 3 }), {}, /failed: exited with code 3/],
    [
      "an idle time-out",
      { state: "timedOut", limit: "idle", limitMs: 600_000, lastActivity: "stdout", lastActivityAt: 0 },
      {},
      /nothing happened for 10m \(last: stdout\)/,
    ],
    ["an unknown", { state: "unknown", why: "its node died" }, {}, /--as succeeded\|failed\|rerun/],
    [
      "a blocked slot",
      failure("script is missing"),
      { state: "blocked" },
      /blocked before it began: script is/,
    ],
    [
      "a run its node took along (L13)",
      { state: "cancelled", by: "nodeStopped" },
      {},
      /cancelled: nodeStopped/,
    ],
  ])("O1: %s alerts the onFailure targets, with how to look further", (_name, outcome, run, text) => {
    const { deliveries, streak } = settle({ outcome, run });
    const body = deliveries.map((row) => row.body).join("");

    expect(new Set(deliveries.map(({ kind, target }) => `${kind} ${target.text}`))).toEqual(
      new Set(["alert chat:alerts"]),
    );
    expect(body).toMatch(text);
    expect(body).toMatch(/2026-11-29 07:00:00 \S+ \(Europe\/Berlin\)/);
    expect(body).toContain("nightshift run show 01kb7c3v5m8q2n4r6t8w0y2z4a");
    expect(streak).toMatchObject({ failures: 1, isAlerted: true });
  });

  test("an alert carries the end of stderr", () => {
    const { deliveries } = settle({
      outcome: failure("exited with code 1", { stderrTail: "df: no such disk\n" }),
    });

    expect(deliveries.map(({ body }) => body).join("")).toContain(
      "stderr ends with:\n```\ndf: no such disk\n```\n",
    );
  });

  test("O1: an attempt that will be retried says nothing and leaves the streak alone", () => {
    const streak: Streak = { failures: 2, cause: "x", isAlerted: true };

    expect(settle({ outcome: failure("no"), streak, isLastAttempt: false })).toEqual({
      streak,
      deliveries: [],
    });
  });

  test("a person's cancel is neither failure nor success", () => {
    expect(settle({ outcome: { state: "cancelled", by: "ada" } })).toEqual({ streak: CALM, deliveries: [] });
  });

  test("O1: [] means no alert, and then no recovery either", () => {
    const quiet = { ...job, onFailure: [] };

    const failed = settle({ job: quiet, outcome: failure("no") });
    expect(failed.deliveries).toEqual([]);
    expect(settle({ job: quiet, streak: failed.streak }).deliveries.map(({ kind }) => kind)).toEqual([
      "result",
    ]);
  });

  test("O1: equal failures in a row alert once, then on change, then on recovery, even a silent one", () => {
    const first = failure("exited with code 1", {
      exitCode: 1,
      stderrTail: "connect 10.0.0.7:443 failed after 31 ms",
    });
    const again = failure("exited with code 1", {
      exitCode: 1,
      stderrTail: "connect 10.0.0.7:443 failed after 9 ms",
    });
    const other = failure("exited with code 2", { exitCode: 2 });
    const told: string[] = [];
    let streak = CALM;

    for (const outcome of [first, again, again, other, success("", true), success("fine")]) {
      const settlement = settle({ outcome, streak });
      streak = settlement.streak;
      told.push([...new Set(settlement.deliveries.map(({ kind }) => kind))].join() || "-");
    }

    expect(told).toEqual(["alert", "-", "-", "alert", "recovery", "result"]);
    expect(streak).toEqual(CALM);
  });

  test("a recovery arrives before the result and says after how many failures", () => {
    const streak: Streak = { failures: 4, cause: "x", isAlerted: true };

    const { deliveries } = settle({ streak });

    expect(deliveries[0]?.kind).toBe("recovery");
    expect(deliveries.at(-1)?.kind).toBe("result");
    expect(deliveries.map(({ body }) => body).join("")).toContain("works again after 4 failures in a row");
  });

  test("a rerun of an unknown that then fails is another fact: its alert has another key", () => {
    const unknown = settle({ outcome: { state: "unknown", why: "its node died" } });
    const rerun = settle({ outcome: failure("no"), run: { attempt: 2 }, streak: unknown.streak });

    expect(rerun.deliveries[0]?.key).not.toBe(unknown.deliveries[0]?.key);
  });

  test("openclaw#27921: the same closing decided twice makes the same keys, so it is put once", () => {
    expect(settle().deliveries.map(({ key }) => key)).toEqual(settle().deliveries.map(({ key }) => key));
  });

  test("a mirror gets a copy that says what it is; a place that got the result gets none", () => {
    const mirror = [chat("1"), chat("9")].map((target) => ({ kind: "target", target }) as const);
    const settled = (outcome: Outcome) => {
      const run = runRow({ state: outcome.state });
      const input = { job, run, outcome, streak: CALM, isLastAttempt: true };
      return settleRun(input, { route: context(), redact, mirror }).deliveries;
    };

    expect(settled(success("disk 91 %")).map(({ kind, target, body }) => [kind, target.text, body])).toEqual([
      ["result", "chat:1", "disk 91 %"],
      ["mirror", "chat:9", `[Copy: the result of ${job.name}, sent to chat:1]\n\ndisk 91 %`],
    ]);
    expect(settled(success("kept", true))).toEqual([]);
    expect(settled(failure("no")).filter(({ kind }) => kind === "mirror")).toEqual([]);
  });

  test("secrets are redacted before the text is split, so none hides on a seam", () => {
    const secret = "s3cr3t-s3cr3t-s3cr3t";
    const output = `${"a".repeat(1_985)} ${secret}${secret}`;

    const { deliveries } = settle({ outcome: success(output) }, makeRedact([secret]));

    expect(deliveries.map(({ body }) => body)).toEqual([
      `${"a".repeat(1_985)}\n(1/2)`,
      "[redacted][redacted]\n(2/2)",
    ]);
  });
});

describe("causes", () => {
  test.each([
    ["read /tmp/build-x81/a.log failed", "read /tmp/build-q7/b.log failed"],
    ["at 2026-11-29T06:00:00Z: no answer", "at 2026-11-30 07:12:44,120: no answer"],
    ["request 4f9d2c1ab3e7 refused", "request 0b1c2d3e4f5a refused"],
    ["run 550e8400-e29b-41d4-a716-446655440000 lost", "run 123e4567-e89b-12d3-a456-426614174000 lost"],
    ["waited 12.5 s", "waited 9 s"],
  ])("%j and %j are one cause", (one, other) => {
    expect(normaliseCause(one)).toBe(normaliseCause(other));
  });

  test("different words, exit codes and states are different causes", () => {
    const cause = (outcome: Outcome) => causeOf(runRow({ state: outcome.state }), outcome);

    const causes = [
      cause(failure("exited", { exitCode: 1 })),
      cause(failure("exited", { exitCode: 2 })),
      cause(failure("exited", { exitCode: 1, stderrTail: "disk full" })),
      cause(failure("exited", { exitCode: 1, stderrTail: "network down" })),
      cause({ state: "unknown", why: "exited" }),
    ];
    expect(new Set(causes).size).toBe(causes.length);
  });
});

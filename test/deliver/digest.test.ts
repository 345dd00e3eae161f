import { describe, expect, test } from "vitest";
import { adapterTable } from "../../src/deliver/adapter-table.ts";
import { type DigestJob, digestUnknowns, makeDigest } from "../../src/deliver/digest.ts";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import type { CloseSlots, JobView } from "../../src/records/ledger/slots.ts";
import { chat, chatAdapter, context, redact, runRow, START } from "./fixtures.ts";

const wide = context({
  adapters: adapterTable([...context().adapters.values(), chatAdapter({ maxLength: 4_096 })]),
});
const rows = () => ({ route: wide, redact });

function digestJob(id: string, ...chats: string[]): DigestJob {
  const onFailure = chats.map((name) => ({ kind: "target", target: chat(name) }) as const);
  return { id, name: id, timezone: "UTC", onFailure, origin: undefined };
}

function closed(jobId: string, changes: Partial<CloseSlots> = {}) {
  const definition = { jobId, zone: "UTC" } as JobView["definition"];
  const slots: CloseSlots = {
    kind: "close",
    state: "missed",
    reason: "pastGrace",
    first: START,
    last: START + HOUR,
    count: 13,
    isCountAtLeast: false,
    ...changes,
  };
  const view = { definition, openRuns: [] } as unknown as JobView;
  return { view, runId: `run-${jobId}`, dedupeKey: `job/${jobId}/${slots.first}`, slots };
}

function digest(...jobs: DigestJob[]) {
  return makeDigest({
    jobOf: (view) => jobs.find(({ id }) => id === view.definition.jobId),
    contextFor: rows,
  });
}

describe("digests", () => {
  test("O1: the misses of one pass are one message per target, each with its own jobs", () => {
    const make = digest(digestJob("a", "ops"), digestJob("b", "ops", "boss"));

    const put = make([closed("a"), closed("b", { count: 1, last: START })], START + 2 * HOUR);

    expect(put.map(({ target, kind }) => `${kind} ${target.text}`)).toEqual([
      "missed chat:ops",
      "missed chat:boss",
    ]);
    expect(put[0]?.body).toBe(
      [
        "14 slots of 2 jobs did not run.",
        "- a: 13 slots, 2026-11-29 06:00:00 UTC (UTC) to 2026-11-29 07:00:00 UTC (UTC): pastGrace",
        "- b: 1 slot, 2026-11-29 06:00:00 UTC (UTC): pastGrace",
        "",
        "Look further: nightshift run list --state missed",
      ].join("\n"),
    );
    expect(put[0]).toMatchObject({ runId: undefined, jobId: undefined });
    expect(put[1]).toMatchObject({ runId: "run-b", jobId: "b" });
  });

  test("a skipped slot is no news", () => {
    expect(digest(digestJob("a", "ops"))([closed("a", { state: "skipped" })], START)).toEqual([]);
  });

  test("O1: [] means none, and a job whose document is unreadable is told to local", () => {
    expect(digest(digestJob("a"))([closed("a")], START)).toEqual([]);
    expect(digest()([closed("a")], START)).toMatchObject([{ target: { text: "local" }, state: "queued" }]);
  });

  test("the same pass decided again makes the same keys; another pass makes others", () => {
    const make = digest(digestJob("a", "ops"));
    const keys = (first: number) => make([closed("a", { first })], START).map(({ key }) => key);

    expect(keys(START)).toEqual(keys(START));
    expect(keys(START)).not.toEqual(keys(START + MINUTE));
  });

  test("a thousand jobs make one bounded message that counts the rest", () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `job-${index}`);
    const make = digest(...names.map((name) => digestJob(name, "ops")));

    const put = make(
      names.map((name) => closed(name)),
      START,
    );

    const body = put.map((row) => row.body).join("");
    expect(body).toContain("13000 slots of 1000 jobs did not run.");
    expect(body).toContain("- and 960 more jobs");
    expect(body.length).toBeLessThan(6_000);
  });

  test("O4: a target that cannot be resolved is dead with its reason, and the digest is in local", () => {
    const job = { ...digestJob("a"), onFailure: [{ kind: "home", platform: "chat" } as const] };

    expect(digest(job)([closed("a")], START)).toMatchObject([
      { target: { text: "local" }, state: "queued" },
      { target: { text: "chat" }, state: "dead", error: "noHome: chat has no home channel" },
    ]);
  });

  test("O1: unknowns found at a start are one alert per target, with what a person can decide", () => {
    const outcome = { state: "unknown", why: "its node died" } as const;
    const unknowns = ["a", "b"].map((id) => {
      const run = runRow({ id: `run-${id}`, jobId: id, dedupeKey: `job/${id}/x`, state: "unknown" });
      return { job: digestJob(id, "ops"), run, outcome };
    });

    const put = digestUnknowns(unknowns, rows);

    expect(put).toHaveLength(1);
    expect(put[0]).toMatchObject({ kind: "alert", target: chat("ops") });
    expect(put[0]?.body).toContain("- a ended unknown: its node died (run-a)\n- b ended unknown");
    expect(put[0]?.body).toContain("run resolve");
  });
});

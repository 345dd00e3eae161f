import { describe, expect, test } from "vitest";
import { type Fault, isFault } from "../../src/kernel/errors.ts";
import { readHermesJobs } from "../../src/records/hermes-jobs.ts";
import { formatJobDocument, parseJobDocument } from "../../src/records/job-document.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");
const TIME = { now: NOW, systemZone: "America/New_York" };

/** A script job as Hermes writes it today. */
const SCRIPT_JOB = {
  id: "a1b2c3d4e5f6",
  name: "Disk watch",
  prompt: "",
  skills: [],
  skill: null,
  model: null,
  provider: null,
  provider_snapshot: "openrouter",
  model_snapshot: "some/model",
  base_url: null,
  script: "disk.sh",
  no_agent: true,
  context_from: null,
  schedule: { kind: "cron", expr: "0 9 * * 1-5", display: "0 9 * * 1-5" },
  schedule_display: "0 9 * * 1-5",
  repeat: { times: null, completed: 4 },
  enabled: true,
  state: "scheduled",
  paused_at: null,
  paused_reason: null,
  created_at: "2026-11-01T09:00:00-05:00",
  next_run_at: "2026-11-30T09:00:00-05:00",
  last_run_at: "2026-11-27T09:00:00-05:00",
  last_status: "ok",
  deliver: "telegram:-1001:17,slack",
  origin: { platform: "telegram", chat_id: "-1001", thread_id: "17", chat_name: "Ops", user_id: "5" },
  enabled_toolsets: null,
  workdir: "/srv/app",
  run_claim: { pid: 1 },
};
const AGENT_JOB = {
  id: "0f0f0f0f0f0f",
  name: "Morning brief",
  prompt: "Summarise the news",
  skills: ["news", "writing"],
  model: "some/model",
  provider: "openrouter",
  base_url: "https://openrouter.ai/api/v1/",
  script: "/home/me/.hermes/scripts/feeds/fetch.py",
  context_from: ["a1b2c3d4e5f6"],
  schedule: { kind: "interval", minutes: 90, display: "every 90m" },
  repeat: { times: 5, completed: 2 },
  state: "scheduled",
  next_run_at: "2026-11-29T13:00:00+00:00",
  deliver: "origin",
  failure_deliver: "local",
  origin: null,
  enabled_toolsets: ["web"],
  reasoning_effort: "high",
};

const importJobs = (...jobs: object[]) => readHermesJobs(JSON.stringify({ jobs, updated_at: "x" }), TIME);
function only(job: object) {
  const found = importJobs({
    id: "x1",
    prompt: "",
    script: "a.sh",
    no_agent: true,
    schedule: "every 5m",
    ...job,
  }).jobs[0];
  if (!found) throw new Error("no job");
  return found;
}
function faultOf(text: string): Fault {
  try {
    readHermesJobs(text, TIME);
  } catch (error) {
    if (isFault(error)) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

describe("a record of jobs.json", () => {
  test("a script job is carried over whole; claims and history stay behind", () => {
    expect(importJobs(SCRIPT_JOB).jobs).toEqual([
      {
        document: {
          id: "a1b2c3d4e5f6",
          name: "Disk watch",
          schedule: { kind: "cron", cron: "0 9 * * 1-5" },
          timezone: "America/New_York",
          run: { script: "disk.sh" },
          deliver: ["telegram:-1001:17", "slack"],
          workdir: "/srv/app",
          origin: { platform: "telegram", chat: "-1001", thread: "17" },
        },
        warnings: [
          "origin.user_id was not carried over.",
          "Copy its script disk.sh to scripts/disk.sh in this home.",
        ],
      },
    ]);
  });

  test("an agent job is imported with its content, and says what to copy", () => {
    const [job] = importJobs(AGENT_JOB).jobs;

    expect(job?.document).toEqual({
      id: "0f0f0f0f0f0f",
      name: "Morning brief",
      schedule: { kind: "every", every: "1h30m", anchor: "2026-11-29T11:30:00Z" },
      timezone: "America/New_York",
      run: {
        agent: {
          prompt: "Summarise the news",
          model: { provider: "openrouter", id: "some/model", baseUrl: "https://openrouter.ai/api/v1" },
          skills: ["news", "writing"],
          toolsets: ["web"],
          script: "feeds/fetch.py",
          contextFrom: ["a1b2c3d4e5f6"],
          reasoningEffort: "high",
        },
      },
      deliver: ["local"],
      onFailure: [],
      repeat: 3,
    });
    expect(job?.paused).toBeUndefined();
    expect(job?.warnings).toContain("Copy its skills (news, writing) to skills/ in this home.");
    expect(job?.warnings.join("\n")).toContain('It delivers to "origin" but names none');
  });

  test("hermes#80450: half a model pin is not carried, for it would send the job elsewhere; nor are words without a counterpart", () => {
    const pinned = (pin: Record<string, unknown>) =>
      importJobs({ ...AGENT_JOB, provider: null, ...pin }).jobs[0];

    const half = pinned({
      base_url: "https://llm.example",
      enabled_toolsets: ["file", "vision"],
      reasoning_effort: "xhigh",
    });
    const custom = pinned({ provider: "nous", base_url: null });

    expect(half?.document.run.agent).toMatchObject({ toolsets: ["files"] });
    for (const job of [half, custom]) expect(job?.document.run.agent).not.toHaveProperty("model");
    expect(half?.document.run.agent).not.toHaveProperty("reasoningEffort");
    const told = half?.warnings.join("\n");
    expect(told).toContain("Its model (some/model, https://llm.example) cannot be carried");
    expect(told).toContain("Its toolsets vision have no counterpart here.");
    expect(told).toContain('Its reasoning effort "xhigh" has no counterpart here.');
  });

  test("every document is one that our own codec accepts and reads back", () => {
    for (const { document } of importJobs(SCRIPT_JOB, AGENT_JOB, { name: "bare", schedule: "@daily" }).jobs)
      expect(parseJobDocument(formatJobDocument(document), { file: "x", defaultId: "x" }).document).toEqual(
        document,
      );
  });

  test.each([
    [
      "future one-shot",
      { kind: "once", run_at: "2026-12-24T18:00:00+01:00" },
      { kind: "at", at: "2026-12-24T17:00:00Z" },
    ],
    [
      "naive stamp, system-local",
      { kind: "once", run_at: "2026-12-24T18:00:00.123456" },
      { kind: "at", at: "2026-12-24T23:00:00.123Z" },
    ],
    [
      "T4: naive stamp inside the spring gap",
      { kind: "once", run_at: "2027-03-14T02:30:00" },
      { kind: "at", at: "2027-03-14T07:00:00Z" },
    ],
    ["cron without a kind", { expr: "*/5 * * * *" }, { kind: "cron", cron: "*/5 * * * *" }],
    ["cron as a text", "0 9 * * *", "0 9 * * *"],
    ["weekday words as a text", "every monday 9am", "every monday 9am"],
    ["ISO text", "2026-12-24T18:00:00Z", { kind: "at", at: "2026-12-24T18:00:00Z" }],
    ["interval as a text", "every 2h", { kind: "every", every: "2h", anchor: "2026-11-29T12:00:00Z" }],
    [
      "bare duration as a text: recurring, as Hermes reads it today",
      "30m",
      { kind: "every", every: "30m", anchor: "2026-11-29T12:00:00Z" },
    ],
    [
      "object with nothing but a display",
      { display: "every 1h" },
      { kind: "every", every: "1h", anchor: "2026-11-29T12:00:00Z" },
    ],
  ])("schedule: %s", (_, schedule, expected) => {
    const job = only({ schedule });

    expect(job.document.schedule).toEqual(expected);
    expect(job.completed).toBeUndefined();
  });

  test("T3: a past one-shot is imported completed, never fired, whether it ran or not", () => {
    const past = { kind: "once", run_at: "2026-11-29T11:59:59Z" };

    expect(only({ schedule: past }).completed).toBe(
      "its time, 2026-11-29T11:59:59Z, passed before the import",
    );
    expect(only({ schedule: past, last_run_at: "2026-11-29T12:00:00Z" }).completed).toBe(
      "it ran under Hermes at 2026-11-29T12:00:00Z",
    );
    expect(only({ schedule: { kind: "once", run_at: "garbage" } })).toMatchObject({
      completed: "the instant it was meant for cannot be read",
    });
  });

  test.each([
    ["scheduled", {}, {}],
    [
      "paused, with its reason",
      { state: "paused", paused_reason: "holidays", enabled: false },
      { paused: "holidays" },
    ],
    ["in error", { state: "error", last_error: "boom" }, { paused: "in error under Hermes: boom" }],
    ["completed", { state: "completed", enabled: false }, { completed: "completed under Hermes" }],
    ["running when Hermes died", { state: "running", fire_claim: {} }, {}],
  ])("state: %s", (_, record, expected) => {
    const { paused, completed, document } = only(record);

    expect({ paused, completed }).toEqual({ paused: undefined, completed: undefined, ...expected });
    expect(document.enabled).toBeUndefined();
  });

  test("disabled without being paused stays disabled: that belongs to the person (D4)", () => {
    expect(only({ enabled: false, state: "scheduled" }).document.enabled).toBe(false);
  });

  test.each([
    [{ times: 3, completed: 1 }, 2, undefined],
    [{ times: null, completed: 9 }, undefined, undefined],
    ["forever", undefined, undefined],
    ["", undefined, undefined],
    ["1x", 1, undefined],
    ["12", 12, undefined],
    [7, 7, undefined],
    [0, undefined, undefined],
    [{ times: 2, completed: 2 }, undefined, "it had run 2 of 2 times under Hermes"],
  ])("repeat %j leaves %s", (repeat, left, completed) => {
    expect(only({ repeat }).document.repeat).toBe(left);
    expect(only({ repeat }).completed).toBe(completed);
  });

  test("a repeat that cannot be read is reported, not guessed", () => {
    expect(only({ repeat: "often" }).warnings).toContain(
      'Its repeat "often" could not be read; it repeats without end.',
    );
  });

  test.each([
    ["local", ["local"]],
    ["origin", ["origin"]],
    ["all", ["all"]],
    ["telegram, slack:#ops ,telegram", ["telegram", "slack:#ops"]],
    ["discord:@user", ["discord:@user"]],
    [
      ["telegram", "email:a@b.c"],
      ["telegram", "email:a@b.c"],
    ],
    ["bot-chat:work", ["local"]],
    ["", undefined],
    [null, undefined],
  ])("deliver %j becomes %j", (deliver, expected) => {
    expect(only({ deliver, origin: { platform: "telegram", chat_id: 5 } }).document.deliver).toEqual(
      expected,
    );
  });

  test("O5: a long chat id written as a number keeps every digit", () => {
    const text =
      '{"jobs":[{"id":"x","script":"a.sh","origin":{"platform":"discord","chat_id":-123456789012345678901,"x":0.12345678901234567}}]}';

    expect(readHermesJobs(text, TIME).jobs[0]?.document.origin).toEqual({
      platform: "discord",
      chat: "-123456789012345678901",
    });
  });

  test("an origin that is no object counts as missing", () => {
    expect(only({ origin: "telegram", deliver: "origin" }).document).toMatchObject({ deliver: ["local"] });
  });

  test("unknown keys, a profile and monitors are named in the report", () => {
    const { warnings } = only({
      profile: "work",
      monitor_url: "http://x",
      shiny: { new: 1 },
      attach_to_session: false,
    });

    expect(warnings).toEqual(
      expect.arrayContaining([
        'profile: "work" was not carried over.',
        'monitor_url: "http://x" was not carried over.',
        'shiny: {"new":1} was not carried over.',
      ]),
    );
    expect(warnings.join()).not.toContain("attach_to_session");
  });

  test.each([
    ["disk.sh", "disk.sh"],
    ["~/.hermes/scripts/a/disk.sh", "a/disk.sh"],
    ["/opt/tools/disk.sh", "disk.sh"],
    ["../../etc/passwd", "passwd"],
    ["a/disk.sh", "a/disk.sh"],
  ])("the script %s is looked for at scripts/%s", (script, expected) => {
    expect(only({ script }).document.run).toEqual({ script: expected });
  });

  test("a partial old record is shown as what it has", () => {
    const [job] = importJobs({
      id: "abc",
      name: null,
      prompt: "Do it\nnow",
      schedule_display: null,
      schedule: "@daily",
    }).jobs;

    expect(job?.document).toMatchObject({
      id: "abc",
      name: "Do it",
      run: { agent: { prompt: "Do it\nnow" } },
    });
  });
});

describe("the shapes of the file", () => {
  const ids = (text: string) => readHermesJobs(text, TIME).jobs.map((job) => job.document.id);
  const record = { script: "a.sh", no_agent: true, schedule: "@daily" };

  test.each([
    ["an object with jobs", JSON.stringify({ jobs: [{ id: "a", ...record }], updated_at: "x" })],
    ["a bare list", JSON.stringify([{ id: "a", ...record }])],
    ["an id map", JSON.stringify({ a: record })],
    ["an id map below jobs", JSON.stringify({ jobs: { a: record } })],
    ["the job_id alias", JSON.stringify([{ job_id: "a", ...record }])],
    ["a byte-order mark", `\uFEFF${JSON.stringify([{ id: "a", ...record }])}`],
    [
      "raw control characters in a text",
      `[{"id":"a","script":"a.sh","prompt":"two\nlines\t\u0001 \\"quoted\\""}]`,
    ],
    ["CRLF", JSON.stringify([{ id: "a", ...record }], null, 2).replaceAll("\n", "\r\n")],
  ])("%s is read", (_, text) => {
    expect(ids(text)).toEqual(["a"]);
  });

  test("an empty list is an empty list", () => {
    expect(ids('{"jobs": []}')).toEqual([]);
    expect(ids("[]")).toEqual([]);
  });

  test("one id twice, an id that is no slug, and no id at all: each record gets one of its own", () => {
    const found = readHermesJobs(
      JSON.stringify([
        { id: "a", ...record },
        { id: "a", ...record },
        { id: "../Evil Id", ...record },
        { name: "Über job", ...record },
      ]),
      TIME,
    );

    expect(found.jobs.map((job) => job.document.id)).toEqual(["a", "a-2", "evil-id", "uber-job"]);
    expect(found.jobs[2]?.warnings).toContain('Its id "../Evil Id" became evil-id.');
  });

  test("an entry that is no record is left out and named", () => {
    const found = readHermesJobs(JSON.stringify([{ id: "a", ...record }, null, 7]), TIME);

    expect(found.jobs).toHaveLength(1);
    expect(found.warnings).toEqual([
      "Entry 2 is no job record and was left out.",
      "Entry 3 is no job record and was left out.",
    ]);
  });

  test.each([
    ["truncated", '{"jobs": [{"id": "a"'],
    ["empty", ""],
    ["blank", " \n"],
    ["binary", "\u0000\u0001\u0002"],
    ["a number", "7"],
    ["null", "null"],
    ["an object of something else", '{"version": 3}'],
    ["a list of nothing useful", "[1, 2]"],
    ["jobs that is no list", '{"jobs": "none"}'],
  ])("hermes#6797: a %s file is a fault, never an empty list", (_, text) => {
    expect(faultOf(text)).toMatchObject({
      code: "input.invalid",
      hint: expect.stringContaining("not touched"),
    });
  });
});

import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { addScript, BY_HAND, serve, YEARLY } from "./server.ts";

const YAML = { type: "application/yaml" };
const COMMENTED = `# watches the disk
id: disk
schedule: every 5m   # often enough
run: hello.sh
`;

describe("adding a job", () => {
  test("law 10: the answer says what was understood, when it fires next and where its result goes", async () => {
    const { call, context } = await serve();
    const reply = await call("POST", "/api/jobs", { body: YEARLY });
    expect(reply.status).toBe(201);
    expect(reply.headers.get("location")).toBe("/api/jobs/yearly");
    expect(reply.headers.get("etag")).toBe('"1"');
    expect(reply.json).toMatchObject({
      id: "yearly",
      run: { script: "hello.sh" },
      state: "scheduled",
      version: 1,
      deliverTo: ["local"],
      warnings: ["no node is up to run it: start one with `nightshift up`."],
    });
    expect(reply.json.nextSlots).toHaveLength(3);
    expect(reply.json.nextSlots[0]).toBe(reply.json.next);
    const file = await readFile(`${context.home.paths.root}/${reply.json.source}`, "utf8").catch(() =>
      readFile(reply.json.source, "utf8"),
    );
    expect(file).toContain("hello.sh");
  });

  test("a YAML body is kept as the person wrote it, comments included", async () => {
    const { call } = await serve();
    expect((await call("POST", "/api/jobs", { body: COMMENTED, ...YAML })).status).toBe(201);
    const text = await call("GET", "/api/jobs/disk/text");
    expect([text.status, text.headers.get("content-type")]).toEqual([200, "application/yaml; charset=utf-8"]);
    expect(text.text).toContain("# watches the disk");
    expect(text.text).toContain("# often enough");
  });

  test("without an id it is named as the command line would name it", async () => {
    const { call } = await serve();
    expect((await call("POST", "/api/jobs", { body: { run: "hello.sh" } })).json.id).toBe("hello");
    expect((await call("POST", "/api/jobs", { body: { name: "Tell Me!", run: "hello.sh" } })).json.id).toBe(
      "tell-me",
    );
  });

  test("a dry run understands and adds nothing", async () => {
    const { call } = await serve();
    const reply = await call("POST", "/api/jobs?dryRun=1", { body: YEARLY });
    expect([reply.status, reply.json.version, reply.json.nextSlots.length]).toEqual([200, 0, 3]);
    expect((await call("GET", "/api/jobs")).json).toEqual([]);
  });

  test("born paused, no slot can slip in between", async () => {
    const { call } = await serve();
    const reply = await call("POST", "/api/jobs?paused=not+yet", {
      body: { ...YEARLY, schedule: "every 1s" },
    });
    expect(reply.json).toMatchObject({ state: "paused", next: null, nextSlots: [] });
    expect(reply.json.stateReason).toMatch(/^not yet \(by http/);
  });

  test("a known id is a conflict and the job that has it stays as it was", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    const reply = await call("POST", "/api/jobs", { body: { ...BY_HAND, name: "other" } });
    expect([reply.status, reply.json.error.code, reply.json.error.message]).toEqual([
      409,
      "input.conflict",
      'There is a job "hello" already.',
    ]);
    expect((await call("GET", "/api/jobs/hello")).json.name).toBeUndefined();
  });

  test.each([
    [
      "an unknown key",
      { ...BY_HAND, scedule: "every 5m" },
      422,
      "job.invalid",
      /unknown key "scedule"; did you mean "schedule"\?/,
    ],
    [
      "a number as text",
      { ...BY_HAND, repeat: "3" },
      422,
      "job.invalid",
      /repeat is a number in quotes; write 3/,
    ],
    ["an impossible cron", { ...YEARLY, schedule: "0 0 31 2 *" }, 422, "schedule.never-fires", /./],
    ["an unreadable schedule", { ...YEARLY, schedule: "now and then" }, 422, "schedule.unreadable", /./],
    ["an unknown zone", { ...YEARLY, timezone: "Mars/Base" }, 422, "schedule.zone", /Mars\/Base/],
    ["a past instant", { ...YEARLY, schedule: "2001-01-01T00:00:00Z" }, 422, "schedule.past", /has passed/],
    ["a script outside scripts/", { ...BY_HAND, run: "../../etc/passwd" }, 422, "script.path", /./],
    ["a script that is not there", { ...BY_HAND, run: "gone.sh" }, 422, "script.missing", /gone\.sh/],
    ["an unknown target", { ...BY_HAND, deliver: "pigeon:1" }, 422, "target.unknown", /pigeon/],
    ["no work", { id: "idle" }, 422, "job.invalid", /run is missing/],
    ["no map", [1, 2], 422, "job.invalid", /./],
  ])("bad input gets the command line's own sentence: %s", async (_, body, status, code, message) => {
    const { call } = await serve();
    const reply = await call("POST", "/api/jobs", { body });
    expect([reply.status, reply.json.error.code]).toEqual([status, code]);
    expect(reply.json.error.message).toMatch(message as RegExp);
    expect(reply.json.error.hint).not.toBe("");
    expect((await call("GET", "/api/jobs")).json).toEqual([]);
  });

  test("unreadable YAML is placed by line and column", async () => {
    const { call } = await serve();
    const reply = await call("POST", "/api/jobs", { body: "id: a\nrun: [hello.sh\n", ...YAML });
    expect([reply.status, reply.json.error.code]).toEqual([400, "job.yaml"]);
    expect(reply.json.error.place.line).toBeGreaterThan(1);
  });
});

describe("reading jobs", () => {
  test("by id, by name, by state; an unknown one and an ambiguous name are told apart", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: { ...BY_HAND, id: "a", name: "Twin" } });
    await call("POST", "/api/jobs", { body: { ...YEARLY, id: "b", name: "twin" } });
    await call("POST", "/api/jobs?paused", { body: { ...YEARLY, id: "c", name: "Über 1" } });
    expect((await call("GET", "/api/jobs")).json.map((job: { id: string }) => job.id)).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect((await call("GET", "/api/jobs?state=paused")).json).toMatchObject([{ id: "c" }]);
    expect((await call("GET", `/api/jobs/${encodeURIComponent("Über 1")}`)).json.id).toBe("c");
    const twin = await call("GET", "/api/jobs/twin");
    expect([twin.status, twin.json.error.details]).toEqual([409, { candidates: ["a", "b"] }]);
    const nobody = await call("GET", "/api/jobs/nobody");
    expect([nobody.status, nobody.json.error.message]).toEqual([404, 'There is no job "nobody".']);
  });

  test("the next slots are counted, and a count that is none is refused by name", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: YEARLY });
    expect((await call("GET", "/api/jobs/yearly/next?count=2")).json.next).toHaveLength(2);
    const bad = await call("GET", "/api/jobs/yearly/next?count=two");
    expect([bad.status, bad.json.error.message]).toEqual([
      400,
      'count "two" is not a whole number from 1 to 1000.',
    ]);
    const twice = await call("GET", "/api/jobs/yearly/next?count=2&count=3");
    expect(twice.json.error.message).toBe("count is given 2 times.");
    const unknown = await call("GET", "/api/jobs/yearly/next?cuont=2");
    expect([unknown.status, unknown.json.error.hint]).toEqual([400, 'Did you mean "count"?']);
  });
});

describe("changing a job", () => {
  test("D3: a patch changes the keys named, null removes one, comments and order stay", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: `${COMMENTED}name: Disk\n`, ...YAML });
    const reply = await call("PATCH", "/api/jobs/disk", {
      body: { name: null, catchUp: "latest", deliver: "local" },
    });
    expect([reply.status, reply.headers.get("etag")]).toEqual([200, '"2"']);
    expect(reply.json).toMatchObject({ version: 2, catchUp: "latest", deliver: ["local"] });
    expect(reply.json.name).toBeUndefined();
    const { text } = await call("GET", "/api/jobs/disk/text");
    expect(text.startsWith("# watches the disk\nid: disk\n")).toBe(true);
    expect(text).toContain("# often enough");
  });

  test("D3: If-Match with an old version changes nothing (412); with the current one it changes", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    const patch = (version: string, name: string) =>
      call("PATCH", "/api/jobs/hello", { body: { name }, headers: { "if-match": version } });
    expect((await patch('"1"', "one")).status).toBe(200);
    const late = await patch('"1"', "two");
    expect([late.status, late.json.error.code]).toEqual([412, "input.conflict"]);
    expect(late.json.error.message).toBe(
      'Job "hello" is at version 2 now, not at version 1; nothing was changed.',
    );
    const put = await call("PUT", "/api/jobs/hello", { body: BY_HAND, headers: { "if-match": '"1"' } });
    expect(put.status).toBe(412);
    expect((await call("GET", "/api/jobs/hello")).json).toMatchObject({ name: "one", version: 2 });
    expect((await patch("*", "three")).status).toBe(200);
    expect((await patch("yesterday", "four")).status).toBe(400);
  });

  test("D3: of two changes that began with the same version exactly one wins", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    const replies = await Promise.all(
      ["a", "b", "c", "d"].map((name) =>
        call("PATCH", "/api/jobs/hello", { body: { name }, headers: { "if-match": '"1"' } }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    expect((await call("GET", "/api/jobs/hello")).json.version).toBe(2);
  });

  test("a whole text replaces the old one; another id inside it is refused and nothing is lost", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: COMMENTED, ...YAML });
    const text = "# anew\nid: disk\nschedule: every 10m\nrun: hello.sh\n";
    const reply = await call("PUT", "/api/jobs/disk", { body: text, ...YAML });
    expect([reply.status, reply.json.version]).toEqual([200, 2]);
    const renamed = await call("PUT", "/api/jobs/disk", {
      body: text.replace("id: disk", "id: risk"),
      ...YAML,
    });
    expect([renamed.status, renamed.json.error.message]).toEqual([
      409,
      'The id of job "disk" cannot become "risk".',
    ]);
    expect((await call("GET", "/api/jobs/disk/text")).text).toContain("# anew");
  });

  test.each([
    ["nothing", {}, "Nothing to change was named."],
    ["an unknown key", { nmae: "x" }, '"nmae"'],
    ["what the machine owns", { state: "paused" }, '"state"'],
  ])("a patch with %s is refused", async (_, body, message) => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    const reply = await call("PATCH", "/api/jobs/hello", { body });
    expect([400, 422]).toContain(reply.status);
    expect(reply.json.error.message).toContain(message);
    expect((await call("GET", "/api/jobs/hello")).json.version).toBe(1);
  });

  test("D4: pause, until an instant, and resume; a reason that is no text is refused with its place", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: YEARLY });
    const body = { reason: "holidays", until: "2098-06-01T00:00:00Z" };
    const paused = await call("POST", "/api/jobs/yearly/pause", { body });
    expect(paused.json).toMatchObject({ state: "paused", next: "2099-01-01T00:00:00Z" });
    expect(paused.json.stateReason).toContain("holidays (by http, until 2098-06-01T00:00:00Z)");
    expect((await call("POST", "/api/jobs/yearly/resume")).json).toMatchObject({
      state: "scheduled",
      stateReason: null,
    });
    const bad = await call("POST", "/api/jobs/yearly/pause", { body: { reason: 3, until: "soon" } });
    expect([bad.status, bad.json.error.code, bad.json.error.place]).toEqual([
      400,
      "input.invalid",
      { file: "body", line: 1, column: 11 },
    ]);
    expect(bad.json.error.message).toContain(
      "until is no instant with an offset; write 2026-12-24T18:00:00Z",
    );
    expect((await call("GET", "/api/jobs/yearly")).json.state).toBe("scheduled");
  });

  test("D3: a removed job is gone, its text is kept, its history stays", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    await call("POST", "/api/jobs/hello/run");
    const reply = await call("DELETE", "/api/jobs/hello?cancel=1");
    expect(reply.json).toEqual({ id: "hello", keptAt: expect.stringContaining(".trash") });
    expect((await call("GET", "/api/jobs/hello")).status).toBe(404);
    expect((await call("GET", "/api/runs")).json).toMatchObject([{ jobId: "hello", state: "cancelled" }]);
    expect((await call("DELETE", "/api/jobs/hello")).status).toBe(404);
  });
});

describe("jobs in bulk", () => {
  test("one that is refused stops no other, and the status says that one was", async () => {
    const { call } = await serve();
    const reply = await call("POST", "/api/apply", {
      body: [BY_HAND, { id: "bad", run: "gone.sh" }, YEARLY],
    });
    expect(reply.status).toBe(422);
    expect(reply.json.map(({ action }: { action: string }) => action)).toEqual([
      "created",
      "refused",
      "created",
    ]);
    expect(reply.json[1].error).toContain("gone.sh");
  });

  test("a YAML stream changes what differs and leaves what is equal; a dry run does neither", async () => {
    const { call } = await serve();
    const stream = `${COMMENTED}---\nid: hello\nrun: hello.sh\n`;
    expect((await call("POST", "/api/apply?dryRun=1", { body: stream, ...YAML })).json).toMatchObject([
      { id: "disk", action: "created" },
      { id: "hello", action: "created" },
    ]);
    expect((await call("GET", "/api/jobs")).json).toEqual([]);
    expect((await call("POST", "/api/apply", { body: stream, ...YAML })).status).toBe(200);
    const again = await call("POST", "/api/apply", { body: "id: hello\nrun: hello.sh\n", ...YAML });
    expect(again.json).toMatchObject([{ id: "hello", action: "unchanged" }]);
    const changed = await call("POST", "/api/apply", {
      body: "id: hello\nname: New\nrun: hello.sh\n",
      ...YAML,
    });
    expect(changed.json).toMatchObject([{ id: "hello", action: "changed" }]);
  });
});

test("a job whose file is gone answers 404 with what to do, and the others go on", async () => {
  const { call, context } = await serve();
  await addScript(context, "other.sh", "#!/bin/sh\n");
  await call("POST", "/api/jobs", { body: BY_HAND });
  await context.source.remove(
    context.source.sourceFor("hello"),
    (await context.source.read(context.source.sourceFor("hello")))!.digest,
  );
  const reply = await call("GET", "/api/jobs/hello/text");
  expect([reply.status, reply.json.error.code]).toEqual([404, "input.not-found"]);
  expect((await call("POST", "/api/jobs", { body: { id: "other", run: "other.sh" } })).status).toBe(201);
});

test("a path that is known with another method says which (405); an unknown one is 404", async () => {
  const { call } = await serve();
  const reply = await call("PUT", "/api/jobs");
  expect([reply.status, reply.headers.get("allow"), reply.json.error.code]).toEqual([
    405,
    "GET, POST",
    "input.method",
  ]);
  expect((await call("GET", "/api/jbos")).json.error.code).toBe("input.not-found");
});

test("law 9: a change of a held file's job is refused in the file's own words, its bytes untouched", async () => {
  const { call, context } = await serve();
  await call("POST", "/api/jobs", { body: BY_HAND });
  const file = `${context.home.paths.jobsFolder}/hello.yaml`;
  await writeFile(file, "id: hello\nrun: [hello.sh\n");
  const reply = await call("PATCH", "/api/jobs/hello", { body: { name: "x" } });
  expect([reply.status, reply.json.error.code]).toEqual([400, "job.yaml"]);
  expect(await readFile(file, "utf8")).toBe("id: hello\nrun: [hello.sh\n");
});

// Jobs from the command line: what is echoed, what is written, what survives a change.

import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { hasPostgres, postgresDatabase } from "../support/postgres.ts";
import { type CliHome, cliHome, oneLine } from "./run-cli.ts";

interface JobRow {
  id: string;
  state: string;
  stateReason: string | null;
  version: number;
  next: string | null;
}

test("T1, T2, U2: creating a job echoes its meaning, three fires, where its result goes and that no node is up", async () => {
  const home = await cliHome();

  const added = await home.run([
    "job",
    "add",
    "weekdays at 18:00",
    "--script",
    "hi.sh",
    "--name",
    "Say hi",
    "--timezone",
    "Europe/Berlin",
  ]);
  const dry = await home.json<{ id: string; nextSlots: string[] }>(
    "job",
    "add",
    "in 30m",
    "--script",
    "hi.sh",
    "--dry-run",
  );

  expect(added.stdout).toMatch(
    /^Added job say-hi: at 18:00 on Monday to Friday, Europe\/Berlin\n {2}next +(\S+Z, ){2}\S+Z\n {2}result +goes to local\n/,
  );
  expect(added.stdout).toContain("no node is up to run it");
  expect(await home.read("jobs/say-hi.yaml")).toContain("timezone: Europe/Berlin");
  expect([dry.id, dry.nextSlots.length]).toEqual(["hi", 1]);
  expect(await home.list("jobs")).toEqual(["say-hi.yaml"]);
});

test("O4: the origin comes from --origin, else from NIGHTSHIFT_ORIGIN_*, and is written into the job", async () => {
  const home = await cliHome();
  const env = {
    NIGHTSHIFT_ORIGIN_PLATFORM: "telegram",
    NIGHTSHIFT_ORIGIN_CHAT: "-1001",
    NIGHTSHIFT_ORIGIN_THREAD: "17",
  };
  const add = ["job", "add", "manual", "--script", "hi.sh", "--deliver", "local", "--on-failure", "none"];

  await home.run([...add, "--id", "by-env"], { env });
  await home.run([...add, "--id", "by-flag", "--origin", "slack:C01"], { env });

  expect(await home.read("jobs/by-env.yaml")).toMatch(
    /origin: \{platform: telegram, chat: "-1001", thread: "17"\}/,
  );
  expect(await home.read("jobs/by-flag.yaml")).toMatch(/origin: \{platform: slack, chat: C01\}/);
});

test("S1: inside a run every verb that changes jobs is refused, reading is not; the config can allow it", async () => {
  const home = await cliHome();
  await home.write("jobs/one.yaml", "run: {script: hi.sh}\n");
  await home.write("stream.yaml", "id: two\nrun: {script: hi.sh}\n");
  const env = { NIGHTSHIFT_RUN_ID: "01aaaaaaaaaaaaaaaaaaaaaaaa" };
  const verbs = [
    ["job", "add", "manual", "--script", "hi.sh"],
    ["job", "update", "one", "--name", "x"],
    ["job", "edit", "one"],
    ["job", "pause", "one"],
    ["job", "resume", "one"],
    ["job", "remove", "one"],
    ["job", "apply", "-f", `${home.path}/stream.yaml`],
  ];

  const said = await Promise.all(verbs.map(async (args) => oneLine(await home.run(args, { env }))));
  const list = await home.run(["job", "list"], { env });
  await home.write("config.yaml", "http: {allowRunsToSchedule: true}\n");
  const allowed = await home.run(["job", "pause", "one"], { env });

  expect(new Set(said)).toEqual(
    new Set([
      "run 01aaaaaaaaaaaaaaaaaaaaaaaa may not change jobs. Do it outside of a run, or allow it with `http.allowRunsToSchedule: true` in config.yaml.",
    ]),
  );
  expect([list.exitCode, allowed.exitCode]).toEqual([0, 0]);
});

describe("job edit (D3)", () => {
  test("EDITOR may have arguments; comments stay; an unchanged text and a failed editor change nothing", async () => {
    const home = await cliHome();
    await home.write("jobs/one.yaml", "# mine\nschedule: every 1h # hourly\nrun: {script: hi.sh}\n");
    const edit = (EDITOR: string, ...more: string[]) =>
      home.run(["job", "edit", "one", ...more], { env: { EDITOR } });

    const changed = await edit("sed -i s/hourly/HOURLY/");
    const unchanged = await edit("true");
    const failed = await edit("false");
    const absent = await edit("no-such-editor");
    const emptied = await edit("rm");

    expect(changed.stdout).toContain("Changed job one: every hour");
    expect([unchanged.exitCode, unchanged.stdout, unchanged.stderr]).toEqual([
      0,
      "",
      "Nothing was changed in job one.\n",
    ]);
    expect(oneLine(failed)).toBe(
      'The editor "false" ended with 1; nothing was changed. Set EDITOR to a program that works here.',
    );
    expect(absent.exitCode).toBe(2);
    expect(emptied.stderr).toBe("Nothing was changed in job one.\n");
    expect(await home.read("jobs/one.yaml")).toBe(
      "# mine\nschedule: every 1h # HOURLY\nrun: {script: hi.sh}\n",
    );
  });

  test("an invalid text is refused with line and column and kept; a held job is mended by editing it", async () => {
    const home = await cliHome();
    await home.write("jobs/one.yaml", "run: {script: hi.sh}\n");
    await home.run(["job", "list"]);
    const broken = await home.run(["job", "edit", "one"], { env: { EDITOR: "sed -i s/hi.sh}/hi.sh/" } });
    const kept = /Your text is kept in (\S+yaml)\.$/.exec(oneLine(broken))?.[1] ?? "";
    await home.write("jobs/one.yaml", "run: {script: hi.sh\n");
    const held = await home.json<JobRow[]>("job", "list", "--state", "held");

    const mended = await home.run(["job", "edit", "one"], { env: { EDITOR: "sed -i s/hi.sh/hi.sh}/" } });

    expect(broken.stderr).toMatch(/one\.yaml:2:1: not valid YAML/);
    expect(await readFile(kept, "utf8")).toBe("run: {script: hi.sh\n");
    expect(held.map(({ id }) => id)).toEqual(["one"]);
    expect(mended.stdout).toMatch(/^Changed job one/);
    expect((await home.json<JobRow>("job", "show", "one")).state).toBe("scheduled");
  });
});

test("D3: update changes only the keys named, under a version check; the same again changes nothing", async () => {
  const home = await cliHome();
  await home.write("jobs/one.yaml", "name: One   # keep me\nrun: {script: hi.sh}\n");
  await home.run(["job", "list"]);

  const first = await home.json<JobRow>("job", "update", "one", "--retry", "2", "--if-version", "1");
  const again = await home.json<JobRow>("job", "update", "one", "--retry", "2");
  const stale = await home.run(["job", "update", "one", "--name", "x", "--if-version", "1"]);
  const unknown = await home.run(["job", "update", "one", "--unset", "retyr"]);

  expect([first.version, again.version]).toEqual([2, 2]);
  expect(oneLine(stale)).toMatch(/^Job "one" is at version 2 now, not at version 1; nothing was changed\./);
  expect(oneLine(unknown)).toBe('A job has no key "retyr". Did you mean "retry"?');
  expect(await home.read("jobs/one.yaml")).toBe(
    "name: One   # keep me\nrun: {script: hi.sh}\nretry: {max: 2}\n",
  );
});

test("D4: pause for two hours from now, resume, remove to the trash; the job's history stays", async () => {
  const home = await cliHome();
  await home.write("jobs/one.yaml", "schedule: every 1h\nrun: {script: hi.sh}\n");
  await home.run(["job", "run", "one"]);

  const paused = await home.json<JobRow>("job", "pause", "one", "--reason", "holiday", "--until", "2h");
  const resumed = await home.json<JobRow>("job", "resume", "one");
  const removed = await home.json<{ keptAt: string }>("job", "remove", "one");
  const runs = await home.json<{ jobId: string }[]>("run", "list");

  expect(paused).toMatchObject({
    state: "paused",
    stateReason: expect.stringMatching(/^holiday \(by cli:ada, until /),
  });
  expect(resumed).toMatchObject({ state: "scheduled", next: expect.stringMatching(/Z$/) });
  expect(removed.keptAt).toMatch(/^jobs\/\.trash\/.*one\.yaml$/);
  expect(oneLine(await home.run(["job", "show", "one"]))).toBe(
    'There is no job "one". See `nightshift job list`.',
  );
  expect(runs.map(({ jobId }) => jobId)).toEqual(["one"]);
});

const STREAM = `# the first
id: a
schedule: every 1h   # hourly
run: {script: hi.sh}
---
id: b
schedule: 0 9 * * 1-5
timezone: Europe/Berlin
run: {script: hi.sh}
---
id: c
run: {script: nope.sh}
`;

async function applyAndExport(home: CliHome): Promise<void> {
  await home.write("in/stream.yaml", STREAM);
  await home.write("in/list.json", '[{"id":"d","run":{"script":"hi.sh"}}]');
  await home.write("in/named.yaml", "run: {script: hi.sh}\n");
  const files = ["in/stream.yaml", "in/list.json", "in/named.yaml"].map((name) => `${home.path}/${name}`);

  const dry = await home.run([
    "job",
    "apply",
    "--dry-run",
    "--json",
    ...files.flatMap((file) => ["-f", file]),
  ]);
  const none = await home.json<JobRow[]>("job", "list");
  const applied = await home.run(["job", "apply", "-f", ...files]);
  const again = await home.run(["job", "apply", "--json", "-f", ...files]);
  const exported = await home.run(["job", "export", "b", "a"]);
  const back = await home.run(["job", "apply", "--json", "-f", "-"], { stdin: exported.stdout });

  expect(JSON.parse(dry.stdout).map((one: { action: string }) => one.action)).toEqual([
    "created",
    "created",
    "refused",
    "created",
    "created",
  ]);
  expect(none).toEqual([]);
  expect(applied.exitCode).toBe(2);
  expect(applied.stdout).toMatch(/^refused +c: script "nope\.sh" does not exist\. Put it at/m);
  expect(
    JSON.parse(again.stdout).map((one: { id: string; action: string }) => `${one.id} ${one.action}`),
  ).toEqual(["a unchanged", "b unchanged", "c refused", "d unchanged", "named unchanged"]);
  expect(exported.stdout).toMatch(/^id: b\n[\s\S]*\n---\n# the first\nid: a\nschedule: .* {3}# hourly\n/);
  expect(JSON.parse(back.stdout).map((one: { action: string }) => one.action)).toEqual([
    "unchanged",
    "unchanged",
  ]);
  expect((await home.json<JobRow[]>("job", "list")).map(({ id }) => id)).toEqual(["a", "b", "d", "named"]);
}

describe("apply and export", () => {
  test("several files at once: each document by itself, a dry run writes nothing, twice moves nothing (D3)", async () => {
    await applyAndExport(await cliHome());
  });

  test.skipIf(!hasPostgres)(
    "L12: the same where jobs live in PostgreSQL; edit, update, remove work there, and files in jobs/ are named by status",
    async () => {
      const home = await cliHome({ env: { NIGHTSHIFT_STORE: await postgresDatabase() } });
      await applyAndExport(home);

      const edited = await home.run(["job", "edit", "a"], { env: { EDITOR: "sed -i s/hourly/HOURLY/" } });
      const updated = await home.json<JobRow>("job", "update", "b", "--retry", "1");
      await home.run(["job", "remove", "d"]);
      await home.write("jobs/dropped.yaml", "run: {script: hi.sh}\n");
      const status = await home.run(["status"]);
      const ran = await home.run(["job", "run", "named"]);

      expect(edited.stdout).toMatch(/^Changed job a: every hour/);
      expect(updated.version).toBe(2);
      expect((await home.run(["job", "export", "a"])).stdout).toContain("# HOURLY");
      expect((await home.json<JobRow[]>("job", "list")).map(({ id }) => id)).toEqual(["a", "b", "named"]);
      expect(status.stdout).toMatch(/jobs\/dropped\.yaml: jobs live in the database.*job apply -f/);
      expect([ran.exitCode, ran.stdout]).toEqual([0, expect.stringContaining("hi from named")]);
      expect(await home.list("jobs")).toEqual([".trash", "dropped.yaml"].filter((name) => name !== ".trash"));
    },
  );
});

// Bad input: one clear line (what, where, what to do), exit 2, nothing changed. Each command is a real process.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import { cliHome, oneLine } from "./run-cli.ts";

describe("what a person typed wrong", () => {
  test("U1: an unknown command, noun, option or argument names the nearest known one", async () => {
    const home = await cliHome();
    const said = await Promise.all(
      [["stats"], ["job", "lst"], ["job", "add", "every 5m", "--scrpt", "hi.sh"], ["job", "add"]].map(
        async (args) => oneLine(await home.run(args)),
      ),
    );

    expect(said).toEqual([
      '"stats" is no command. Did you mean `nightshift status`?',
      '"job lst" is no command. Did you mean `nightshift job list`?',
      "Unknown option '--scrpt' (Did you mean --script?) Add --help to see what belongs here.",
      "Missing required argument 'schedule'. Add --help to see what belongs here.",
    ]);
  });

  test("U1: with --json an error is a document on stderr, and stdout stays empty", async () => {
    const home = await cliHome();
    const answers = await Promise.all([
      home.run(["job", "show", "nobody", "--json"]),
      home.run(["--json", "job", "add"]),
      home.run(["job", "lst", "--json"]),
    ]);

    expect(answers.map(({ exitCode, stdout }) => [exitCode, stdout])).toEqual([
      [2, ""],
      [2, ""],
      [2, ""],
    ]);
    expect(answers.map(({ stderr }) => JSON.parse(stderr).error.code)).toEqual([
      "input.not-found",
      "input.usage",
      "input.usage",
    ]);
  });

  test.each([
    [
      "T2: a cron that never fires",
      ["0 0 31 2 *", "--script", "hi.sh"],
      /"0 0 31 2 \*" never fires: no month has such a day\. Name a day that exists/,
    ],
    [
      "T2: a schedule that means nothing names the accepted forms",
      ["sometimes", "--script", "hi.sh"],
      /"sometimes" is not understood.*every 5m.*0 9 \* \* 1-5/,
    ],
    [
      "T1: an unknown zone",
      ["daily at 7am", "--script", "hi.sh", "--timezone", "Mars/Olympus"],
      /time zone "Mars\/Olympus" is not known\. Use an IANA name such as/,
    ],
    [
      "T3: a past instant",
      ["2020-01-01T00:00:00Z", "--script", "hi.sh"],
      /the instant 2020-01-01T00:00:00Z has passed; it is now .*\. Name an instant to come/,
    ],
    [
      "a script outside scripts/",
      ["every 5m", "--script", "../../etc/passwd"],
      /script path "\.\.\/\.\.\/etc\/passwd" holds \.\. .*scripts/,
    ],
    [
      "a script that does not exist",
      ["every 5m", "--script", "nope.sh"],
      /script "nope\.sh" does not exist\. Put it at .*scripts\/nope\.sh\.$/,
    ],
    [
      "an unknown target names the known platforms",
      ["every 5m", "--script", "hi.sh", "--deliver", "pigeon:7"],
      /no platform is called "pigeon"\. Known: .*local.*webhook/,
    ],
    [
      "O4: origin without an origin",
      ["every 5m", "--script", "hi.sh", "--deliver", "origin"],
      /`origin` cannot be resolved.*--origin platform:chat/,
    ],
    [
      "a number that is none",
      ["every 5m", "--script", "hi.sh", "--retry", "many"],
      /--retry cannot be "many"\. Write a whole number from 0 to 1000\.$/,
    ],
    [
      "an id that is no slug, without a place in a text nobody wrote",
      ["every 5m", "--script", "hi.sh", "--id", "Bad Id"],
      /^id is no slug; write lower-case letters/,
    ],
    ["a job without work", ["every 5m"], /The job has no work\. Add --script FILE/],
  ])("job add refuses %s", async (_, args, message) => {
    const home = await cliHome();

    expect(oneLine(await home.run(["job", "add", ...args]))).toMatch(message);
    expect(await home.list("jobs")).toEqual([]);
  });

  test("a name that two jobs have is refused with both ids; an id that is taken, with what to do", async () => {
    const home = await cliHome();
    await home.write("jobs/one.yaml", "name: Twin\nrun: {script: hi.sh}\n");
    await home.write("jobs/two.yaml", "name: twin\nrun: {script: hi.sh}\n");

    expect(oneLine(await home.run(["job", "run", "TWIN"]))).toBe(
      '"TWIN" names 2 jobs: one, two. Use the id.',
    );
    expect(oneLine(await home.run(["job", "add", "manual", "--script", "hi.sh", "--id", "one"]))).toBe(
      'There is a job "one" already. Choose another --id, or change it with `nightshift job update one`.',
    );
  });

  test("a pause that would end in the past, a page behind no id and a stretch that is none are refused", async () => {
    const home = await cliHome();
    await home.write("jobs/one.yaml", "run: {script: hi.sh}\n");
    const said = await Promise.all(
      [
        ["job", "pause", "one", "--until", "2020-01-01"],
        ["run", "list", "--before", "page2"],
        ["plan", "--down", "at night"],
        ["run", "list", "--since", "yesterday"],
      ].map(async (args) => oneLine(await home.run(args))),
    );

    expect(said.map((line) => line.replace(/\. .*$/, ""))).toEqual([
      '--until cannot be "2020-01-01"',
      '--before cannot be "page2"',
      '--down "at night" is no stretch of time',
      '--since cannot be "yesterday"',
    ]);
  });
});

describe("job files that cannot become a job", () => {
  const BROKEN: [file: string, text: string | Uint8Array, reason: RegExp][] = [
    [
      "typo.yaml",
      "run: {script: hi.sh}\ncatchup: skip\n",
      /typo\.yaml:2:1: unknown key "catchup"; did you mean "catchUp"/,
    ],
    [
      "number.yaml",
      'run: {script: hi.sh}\nrepeat: "3"\n',
      /number\.yaml:2:9: repeat is a number in quotes; write 3/,
    ],
    ["yaml.yaml", "run: {script: hi.sh\n", /yaml\.yaml:2:1: not valid YAML/],
    ["at.yaml", "schedule: @daily\nrun: {script: hi.sh}\n", /at\.yaml:1:11: .*quote the schedule/],
    ["star.yaml", "schedule: */5 * * * *\nrun: {script: hi.sh}\n", /star\.yaml:1:15: .*quote the schedule/],
    ["past.yaml", 'schedule: "2020-01-01T00:00:00Z"\nrun: {script: hi.sh}\n', /its time has already passed/],
    ["double.yaml", "id: good\nrun: {script: hi.sh}\n", /the id good belongs to jobs\/good\.yaml/],
    ["binary.yaml", Uint8Array.from([0, 1, 2, 255, 254]), /binary\.yaml/],
  ];

  test("each is named with its reason by status, doctor and job list, the others go on, no byte is touched", async () => {
    const home = await cliHome();
    await home.write("jobs/good.yaml", "schedule: every 5m # mine\nrun: {script: hi.sh}\n");
    await home.run(["job", "list"]);
    for (const [file, text] of BROKEN) await home.write(`jobs/${file}`, text);
    const before = await Promise.all(BROKEN.map(([file]) => home.read(`jobs/${file}`)));

    const status = await home.json<{ jobs: object; unusedFiles: { source: string; why: string }[] }>(
      "status",
    );
    const doctor = await home.run(["doctor"]);
    const list = await home.run(["job", "list"]);

    expect(status.jobs).toEqual({ scheduled: 1 });
    for (const [file, , reason] of BROKEN) {
      const { why } = status.unusedFiles.find(({ source }) => source === `jobs/${file}`) ?? {
        why: "(not named)",
      };
      expect(`${file} ${why}`).toMatch(reason);
      expect(doctor.stdout).toContain(`jobs/${file} is not used`);
      expect(list.stderr).toContain(`jobs/${file}`);
    }
    expect(doctor.exitCode).toBe(1);
    expect(await Promise.all(BROKEN.map(([file]) => home.read(`jobs/${file}`)))).toEqual(before);
  });

  test("D2, D4: a known job whose file breaks is held with the reason and fires again once it is mended", async () => {
    const home = await cliHome();
    await home.write("jobs/one.yaml", "schedule: every 5m\nrun: {script: hi.sh}\n");
    await home.run(["job", "list"]);

    await home.write("jobs/one.yaml", "schedule: every 5m\nrun: [\n");
    const held = await home.run(["job", "list", "--state", "held"]);
    const status = await home.run(["status"]);
    await home.write("jobs/one.yaml", "schedule: every 5m\nrun: {script: hi.sh}\n");
    const mended = await home.json<{ state: string }[]>("job", "list");

    expect(held.stdout).toMatch(/^held +one: invalid: jobs\/one\.yaml:3:1/m);
    expect(status.stdout.match(/jobs\/one\.yaml/g)).toHaveLength(1);
    expect(mended.map(({ state }) => state)).toEqual(["scheduled"]);
  });
});

describe("what would be dropped unseen", () => {
  test("an option that only agents heed is refused for a script job, in add and in update", async () => {
    const home = await cliHome();
    const added = await home.run(["job", "add", "every 5m", "--script", "hi.sh", "--skill", "web"]);
    await home.run(["job", "add", "every 5m", "--script", "hi.sh"]);
    const updated = await home.run(["job", "update", "hi", "--model", "gpt"]);

    expect(oneLine(added)).toMatch(/^--skill is for agent jobs, and no prompt is given\./);
    expect(oneLine(updated)).toMatch(/^Job "hi" is no agent job\. Leave out model,/);
  });
});

describe("a file of somebody else's", () => {
  test("one that is no JSON, or is not there, is one line with what to do, though its own text has several", async () => {
    const home = await cliHome();
    await home.write("hermes.json", "nope\nnor this\n");

    expect(oneLine(await home.run(["job", "import-hermes", join(home.path, "hermes.json")]))).toMatch(
      /this jobs\.json cannot be read: .*nothing was imported and the file was not touched\.$/,
    );
    expect(oneLine(await home.run(["job", "import-hermes", join(home.path, "none.json")]))).toMatch(
      /none\.json cannot be read/,
    );
  });
});

describe("homes and stores that cannot be used", () => {
  test("a database of a newer Nightshift is refused with exit 2 and left as it is", async () => {
    const home = await cliHome();
    await home.run(["status"]);
    const connection = await openSqlite(join(home.path, "ledger.db"));
    await connection.run(`UPDATE "meta" SET "value" = '9999' WHERE "key" = 'schemaVersion'`);
    await connection.close();

    expect(oneLine(await home.run(["job", "list"]))).toMatch(/newer/);
  });

  test("a config with a mistake stops every command with file, line and column; check-config says the same", async () => {
    const home = await cliHome();
    await home.write("config.yaml", "timezone: UTC\nlimit:\n  maxParallelRuns: 3\n");
    const line = `${home.path}/config.yaml:2:1: unknown key "limit"; did you mean "limits"?`;

    const said = await Promise.all(
      [["check-config"], ["up", "--validate-config"], ["job", "list"], ["up"]].map(async (args) =>
        oneLine(await home.run(args)),
      ),
    );
    const other = join(home.path, "other.yaml");
    await writeFile(other, "limits: {maxParallelRuns: 3}\n");
    const valid = await home.run(["up", "--config", other, "--validate-config"]);

    expect(said).toEqual([line, line, line, line]);
    expect(valid).toMatchObject({ exitCode: 0, stdout: `${other} is valid.\n` });
  });

  test("an audit of what is to come, no slots at all, and a file that never was a job say what is wrong", async () => {
    const home = await cliHome();
    await home.write("jobs/broken.yaml", "schedule: every 5m\nrun: {script: hi.sh}\noverlop: skip\n");

    expect(oneLine(await home.run(["run", "audit", "--since", "2999-01-01T00:00:00Z"]))).toMatch(
      /2999-01-01T00:00:00Z is still to come; .* Name an instant that has passed/,
    );
    expect(oneLine(await home.run(["schedule", "every 5m", "--count", "0"]))).toMatch(/--count.*from 1 to/);
    expect(oneLine(await home.run(["job", "show", "broken"]))).toMatch(
      /"broken" is held and was never a job: .*overlop.*overlap.*Correct jobs\/broken\.yaml/,
    );
    const applied = await home.run(["job", "apply", "-f", join(home.path, "jobs/broken.yaml")]);
    expect(applied.exitCode).toBe(2);
    expect(applied.stdout.split("broken.yaml")).toHaveLength(2);
  });

  test("a home that is a file, a bad profile and a bad store address say what to do", async () => {
    const home = await cliHome();
    const file = join(home.path, "scripts/hi.sh");

    expect(oneLine(await home.run(["--home", file, "status"]))).toMatch(
      /is not a directory\. Move that file away/,
    );
    expect(oneLine(await home.run(["--profile", "../x", "status"]))).toMatch(/is no profile's name/);
    expect(oneLine(await home.run(["status"], { env: { NIGHTSHIFT_STORE: "mysql://x" } }))).toMatch(
      /Set NIGHTSHIFT_STORE to a postgres:\/\/ address/,
    );
    expect(
      oneLine(await home.run(["status"], { env: { NIGHTSHIFT_STORE: "postgres://127.0.0.1:1/x" } }), 1),
    ).toMatch(/the ledger cannot be reached/);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Fault, isFault } from "../../src/kernel/errors.ts";
import type { JobDocument } from "../../src/records/job.ts";
import {
  defaultJobId,
  formatJobDocument,
  jobDocumentToJson,
  parseJobDocument,
} from "../../src/records/job-document.ts";

const read = (text: string) => parseJobDocument(text, { file: "jobs/disk.yaml", defaultId: "disk" });

function faultOf(text: string): Fault {
  try {
    read(text);
  } catch (error) {
    if (isFault(error)) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

describe("a job document", () => {
  test("every key of DESIGN §6 is read, in either spelling, and printed in canonical order", () => {
    const reading = read(`
overlap: queue
catch_up: latest
catch_up_limit: 3
on_failure: [telegram]
id: disk-watch
schedule: every 5m
timezone: Europe/Berlin
run: {script: disk-watch.sh, args: ["--limit", "90"]}
deliver: [origin, {platform: telegram, chat: -1001, thread: "017"}]
environment: local
timeout: {idle: 60m, total: 0}
effects: idempotent
retry: {max: 2, max_delay: 1h, not_on: ["exit:2"]}
jitter: 10s
repeat: 9
until: 2027-01-01T00:00:00Z
env: {my_var: "1"}
workdir: /srv
enabled: false
origin: {platform: telegram, chat: "-1001", thread: 17}
`);

    expect(jobDocumentToJson(reading.document)).toEqual({
      id: "disk-watch",
      schedule: "every 5m",
      timezone: "Europe/Berlin",
      run: { script: "disk-watch.sh", args: ["--limit", "90"] },
      deliver: ["origin", { platform: "telegram", chat: "-1001", thread: "017" }],
      onFailure: ["telegram"],
      environment: "local",
      timeout: { idle: "60m", total: 0 },
      catchUp: "latest",
      catchUpLimit: 3,
      overlap: "queue",
      effects: "idempotent",
      retry: { max: 2, maxDelay: "1h", notOn: ["exit:2"] },
      jitter: "10s",
      repeat: 9,
      until: "2027-01-01T00:00:00Z",
      env: { my_var: "1" },
      workdir: "/srv",
      enabled: false,
      origin: { platform: "telegram", chat: "-1001", thread: "17" },
    });
    expect(Object.keys(jobDocumentToJson(reading.document)).slice(0, 4)).toEqual([
      "id",
      "schedule",
      "timezone",
      "run",
    ]);
    expect(reading).toMatchObject({
      hasExplicitId: true,
      warnings: ["catchUpLimit has a meaning only with catchUp: all."],
    });
  });

  test("shorthands are written out: a text is a script, one target is a list, none is no target, a number is retry.max", () => {
    const { document, hasExplicitId } = read("run: disk.sh\ndeliver: local\nonFailure: none\nretry: 3\n");

    expect(document).toEqual({
      id: "disk",
      run: { script: "disk.sh" },
      deliver: ["local"],
      onFailure: [],
      retry: { max: 3 },
    });
    expect(hasExplicitId).toBe(false);
    expect(read("run: [disk.sh, -v]").document.run).toEqual({ script: "disk.sh", args: ["-v"] });
    expect(read("run: {agent: say hello}").document.run).toEqual({ agent: { prompt: "say hello" } });
  });

  test("JSON is read as well, tabs included", () => {
    expect(read('{\n\t"run": {"script": "a.sh"},\n\t"schedule": "@daily"\n}').document).toEqual({
      id: "disk",
      schedule: "@daily",
      run: { script: "a.sh" },
    });
  });

  test("keys of user data keep their spelling: params and env are never turned into camelCase", () => {
    const { document } = read(
      "run: {task: {executor: x, params: {max_items: 1, maxItems: 2}}}\nenv: {a_b: c}\n",
    );

    expect(document.run.task?.params).toEqual({ max_items: 1, maxItems: 2 });
    expect(document.env).toEqual({ a_b: "c" });
  });

  test("a byte-order mark, CRLF and emoji are no obstacle", () => {
    expect(read("\uFEFFname: 🚀 go\r\nrun: a.sh\r\n").document).toEqual({
      id: "disk",
      name: "🚀 go",
      run: { script: "a.sh" },
    });
  });
});

describe("a refused job document", () => {
  test.each([
    [
      "an unknown key names the nearest known one",
      "run: a\ntiemout: {idle: 5m}",
      '2:1: unknown key "tiemout"; did you mean "timeout"?',
    ],
    [
      "an unknown key inside a map, too",
      "run: a\nretry: {mx: 2}",
      '2:9: unknown key "mx"; did you mean "max"?',
    ],
    [
      "both spellings of one key at once",
      "run: a\ncatchUp: skip\ncatch_up: all",
      '3:1: unknown key "catch_up"',
    ],
    [
      "a number written as a string",
      'run: a\nretry: {max: "3"}',
      '2:14: retry.max is a number in quotes; write 3, not "3"',
    ],
    [
      "a boolean written as a string",
      'run: a\nenabled: "true"',
      '2:10: enabled is a text; write true, not "true"',
    ],
    [
      "a duration without a unit",
      "run: a\ntimeout: {idle: 60}",
      "2:17: timeout.idle is not a limit; write a duration such as 30m",
    ],
    [
      "a schedule without a unit",
      "run: a\nschedule: 30",
      '2:11: schedule is a number without a unit; write "in 30m" or "every 30m"',
    ],
    [
      "a word outside the list",
      "run: a\ncatchUp: lates",
      '2:10: catchUp must be one of skip, latest, all, not "lates"; write latest',
    ],
    ["two kinds of work", "run: {script: a, agent: b}", "1:1: run names script and agent; keep exactly one"],
    ["no work", "run: {}", "1:1: run names no work; keep exactly one of script, agent, workflow, task"],
    [
      "L6: effects on a workflow job",
      "run: {workflow: w.yaml}\neffects: none",
      "2:1: effects on a workflow job; declare effects on the workflow's tasks",
    ],
    [
      "DESIGN §5: profile",
      "run: a\nprofile: work",
      "2:1: one home is one profile, a job has none; put the job into that profile's home",
    ],
    [
      "O5: an id with a leading zero",
      "run: a\ndeliver: [{platform: t, chat: 017}]",
      '2:31: deliver.0.chat is an id that YAML reads as another number; quote it: "017"',
    ],
    [
      "O5: an id beyond 2^53",
      "run: a\norigin: {platform: t, chat: 9007199254740993}",
      'quote it: "9007199254740993"',
    ],
    ["O5: an id in scientific notation", "run: a\ndeliver: {platform: t, chat: 1e5}", 'quote it: "1e5"'],
    [
      "an environment variable that is a number",
      "run: a\nenv: {PORT: 80}",
      '2:13: env.PORT must be a text, not a number; quote it: "80"',
    ],
    [
      "an unknown kind of schedule",
      "run: a\nschedule: {kind: evry, every: 5m}",
      '2:18: schedule.kind must be every, not "evry"; write every',
    ],
    ["an id that is no slug", "run: a\nid: My Job", "2:5: id is no slug"],
    ["a list in place of a map", "- run: a", "1:1: this is not a map of keys and values"],
    ["an empty file", "", "1:1: the file is empty"],
    ["a naive until", "run: a\nuntil: 2027-01-01", "2:8: until is no instant with an offset"],
    ["an empty value", "run: a\ntimezone:\n", "timezone is empty; give it a value or remove the key"],
    ["a key named like an object's own", "run: a\n__proto__: {x: 1}", 'unknown key "__proto__"'],
  ])("%s is named with its place", (_, text, message) => {
    const fault = faultOf(text);

    expect(fault.code).toBe("job.invalid");
    expect(fault.message).toContain(message);
    expect(fault.message.split("\n")[0]).toMatch(/^jobs\/disk\.yaml:\d+:\d+: .+; .+$/);
    expect(fault.place).toMatchObject({ file: "jobs/disk.yaml" });
  });

  test.each([
    [
      "W2: @daily",
      "run: a\nschedule: @daily\n",
      '2:11: YAML cannot read this schedule without quotes; quote the schedule: "@daily"',
    ],
    [
      "W2: a cron that begins with a star",
      "schedule: */5 * * * *\nrun: a\n",
      'quote the schedule: "*/5 * * * *"',
    ],
    [
      "W2: a cron inside a map",
      "schedule: {kind: cron, cron: */5 * * * *}\nrun: a\n",
      'quote the schedule: "*/5 * * * *"',
    ],
    ["a key given twice", "run: a\nrun: b\n", "2:1: this key appears twice; keep one of the two"],
    ["a tab as indentation", "run:\n\tscript: a\n", "indent with spaces"],
    ["an alias to nothing", "run: *x\n", "1:"],
    ["two documents", "run: a\n---\nrun: b\n", "keep one document in a file"],
    ["half a file", 'run: {script: "a.s', "not valid YAML"],
  ])("%s is refused by YAML with line and column", (_, text, message) => {
    const fault = faultOf(text);

    expect(fault.code).toBe("job.yaml");
    expect(fault.message).toContain(message);
    expect(fault.place?.line).toBeGreaterThan(0);
  });

  test("all mistakes are reported together, in the order of the file", () => {
    const fault = faultOf('run: {script: a, agent: b}\nretry: {max: "3"}\nenabled: "no"\nfoo: 1\n');

    expect(fault.message.split("\n").map((line) => line.split(":")[1])).toEqual(["1", "2", "3", "4"]);
    expect(fault.details?.issues).toHaveLength(4);
    expect(fault.place).toEqual({ file: "jobs/disk.yaml", line: 1, column: 1 });
  });

  test("binary junk and deep alias bombs end in a fault, never in anything else", () => {
    const bomb = `a: &a [x, x]\n${"bcdefgh"
      .split("")
      .map((name, index) => `${name}: &${name} [${`*${"abcdefg"[index]},`.repeat(9)}]`)
      .join("\n")}\nrun: a\n`;

    expect(faultOf(bomb).code).toBe("job.yaml");
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        try {
          read(text);
        } catch (error) {
          expect(isFault(error), String(error)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("formatJobDocument", () => {
  const word = fc.oneof(
    fc.string({ minLength: 1, maxLength: 20 }),
    fc.constantFrom("@daily", "*/5 * * * *", "017", "no", "a: b", "two\nlines\n", "🚀", "# x"),
  );
  const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
  const document: fc.Arbitrary<JobDocument> = fc.record({
    id: fc.constantFrom("a", "disk-watch"),
    name: maybe(word),
    schedule: maybe(fc.oneof(word, fc.record({ kind: fc.constant("cron" as const), cron: word }))),
    run: fc.oneof(
      fc.record({ script: word, args: fc.array(word) }),
      fc.record({ agent: fc.record({ prompt: word }) }),
    ),
    deliver: maybe(
      fc.array(
        fc.oneof(
          word.filter((text) => text !== "none"),
          fc.record({ platform: word, chat: word }),
        ),
        { maxLength: 3 },
      ),
    ),
    timeout: maybe(fc.record({ idle: fc.constantFrom("5m", 0 as const) })),
    env: maybe(fc.dictionary(fc.constantFrom("A", "b_c", "HOME"), fc.string())),
    enabled: maybe(fc.boolean()),
  }) as fc.Arbitrary<JobDocument>;

  test("what is written is read back unchanged, whatever texts are in it", () => {
    fc.assert(
      fc.property(document, (job) => {
        const text = formatJobDocument(job);

        expect(jobDocumentToJson(read(text).document)).toEqual(jobDocumentToJson(job));
        expect(read(text).warnings).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("a new file is short and pleasant", () => {
    const text = formatJobDocument({
      run: { script: "disk-watch.sh" },
      enabled: true,
      id: "disk-watch",
      schedule: "*/5 * * * *",
      deliver: ["telegram", "local"],
    });

    expect(text).toBe(
      'id: disk-watch\nschedule: "*/5 * * * *"\nrun: {script: disk-watch.sh}\ndeliver: [telegram, local]\nenabled: true\n',
    );
  });
});

test.each([
  ["jobs/disk-watch.yaml", "disk-watch"],
  ["Disk Watch.yml", "disk-watch"],
  ["🚀.yaml", "job"],
  ["a_b.yaml", "a_b"],
])("the file %s gives the id %s", (file, id) => {
  expect(defaultJobId(file)).toBe(id);
});

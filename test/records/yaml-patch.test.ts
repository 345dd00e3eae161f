import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { isFault } from "../../src/kernel/errors.ts";
import { patchYaml } from "../../src/records/yaml-patch.ts";

const JOB = `# Watches the disk of the build machine.
id: disk-watch


schedule:   "every 5m"   # often enough
run:
  # kept in the repository
  script: 'disk-watch.sh'
  args: [ --limit,  "90" ]

deliver:
  - telegram   # the family chat
  - local
# overlap: queue
timeout: {idle: 60m, total: 0}
catch_up: skip
enabled: true
# the end
`;

describe("patchYaml", () => {
  test("a changed scalar keeps its quotes, its spacing and the comment behind it", () => {
    const text = patchYaml(JOB, { schedule: "every 10m" });

    expect(text).toBe(JOB.replace('"every 5m"', '"every 10m"'));
  });

  test("inside a nested map only the member that differs is touched", () => {
    const text = patchYaml(JOB, { run: { script: "other.sh", args: ["--limit", "90"] } });

    expect(text).toBe(JOB.replace("'disk-watch.sh'", "'other.sh'"));
  });

  test("a key written in snake_case is found under its camelCase name", () => {
    expect(patchYaml(JOB, { catchUp: "latest" })).toBe(JOB.replace("catch_up: skip", "catch_up: latest"));
  });

  test("a block list stays a block list, a flow map stays a flow map", () => {
    expect(patchYaml(JOB, { deliver: ["slack"] })).toBe(
      JOB.replace("  - telegram   # the family chat\n  - local", "  - slack"),
    );
    expect(patchYaml(JOB, { timeout: { idle: "5m", total: 0 } })).toBe(
      JOB.replace("idle: 60m", 'idle: "5m"'),
    );
  });

  test("a removed key takes its lines along and leaves the comments around it", () => {
    expect(patchYaml(JOB, { deliver: undefined })).toBe(
      JOB.replace("deliver:\n  - telegram   # the family chat\n  - local\n", ""),
    );
  });

  test("a new key is put behind the last one, before the closing comment", () => {
    expect(patchYaml(JOB, { overlap: "queue" })).toBe(
      JOB.replace("enabled: true\n", "enabled: true\noverlap: queue\n"),
    );
  });

  test("CRLF line ends and the byte-order mark survive", () => {
    const windows = `\uFEFF${JOB.replaceAll("\n", "\r\n")}`;

    const text = patchYaml(windows, { enabled: false, retry: { max: 3 }, deliver: ["a", "b"] });

    expect(text.startsWith("\uFEFF# Watches")).toBe(true);
    expect(text.replaceAll("\r\n", "")).not.toContain("\n");
    expect(parse(text.slice(1))).toMatchObject({ enabled: false, retry: { max: 3 }, deliver: ["a", "b"] });
  });

  test("JSON stays JSON, with its indentation", () => {
    const json = '{\n\t"id": "a",\n\t"run": {"script": "a.sh"}\n}\n';

    const text = patchYaml(json, { id: "b", enabled: false });

    expect(text).toBe('{\n\t"id": "b",\n\t"run": {"script": "a.sh"},\n\t"enabled": false\n}\n');
    expect(JSON.parse(patchYaml(json, { id: undefined }))).toEqual({ run: { script: "a.sh" } });
  });

  test("a text of several lines, an emoji and a value that looks like a number are read back as they were", () => {
    const patch = { name: "🚀 launch", description: "two\nlines\n", until: "0123" };

    expect(parse(patchYaml(JOB, patch))).toMatchObject(patch);
  });

  test("a value that an alias points to is not lost: the alias gets what it stood for, or the patch is refused", () => {
    const anchored = "a: &x {k: 1}\nb: *x\n";

    let outcome: unknown;
    try {
      outcome = parse(patchYaml(anchored, { a: 2 }));
    } catch (error) {
      outcome = isFault(error) ? error.code : error;
    }

    expect([JSON.stringify({ a: 2, b: { k: 1 } }), '"job.yaml"']).toContain(JSON.stringify(outcome));
  });

  test("an empty document and one of comments only take the new keys", () => {
    expect(patchYaml("", { timezone: "UTC" })).toBe("timezone: UTC\n");
    expect(patchYaml("# mine\n", { timezone: "UTC" })).toBe("# mine\ntimezone: UTC\n");
  });
});

describe("patchYaml, for any document", () => {
  const key = fc.constantFrom("alpha", "beta", "gamma", "delta", "epsilon");
  const scalar = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.integer(),
    fc.boolean(),
    fc.constantFrom(
      "@daily",
      "*/5 * * * *",
      "a: b",
      "- x",
      "# no",
      "\n",
      "x\ny",
      " ",
      "null",
      "017",
      "🚀",
      "it's",
    ),
  );
  const value = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("one", "two", "three"), scalar, { maxKeys: 3 }),
  );
  const style = fc.constantFrom("flow", "spaced", "block");
  const member = fc.tuple(
    value,
    style,
    fc.constantFrom("", "   # why", " # 🚀"),
    fc.constantFrom("", "\n", "# above\n"),
  );
  const render = ([item, form, comment, above]: [unknown, string, string, string], name: string) => {
    // A block scalar that keeps its blank lines (`|+`) owns those that follow it: no edit beside it can leave both alone.
    const keepsBlankLines = /\\n"/.test(JSON.stringify(item));
    if (form === "block" && !keepsBlankLines) return `${above}${stringify({ [name]: item }, { indent: 4 })}`;
    return `${above}${name}:${form === "spaced" ? "   " : " "}${JSON.stringify(item)}${comment}\n`;
  };

  test("nothing but the named keys changes: every other line is there, byte for byte, in order", () => {
    fc.assert(
      fc.property(
        fc.dictionary(key, member, { minKeys: 1, maxKeys: 5 }),
        fc.dictionary(key, fc.option(value, { nil: undefined }), { maxKeys: 3 }),
        fc.constantFrom("\n", "\r\n"),
        (members, patch, eol) => {
          const chunks = Object.entries(members).map(
            ([name, parts]) => [name, render(parts, name).replaceAll("\n", eol)] as const,
          );
          const source = chunks.map(([, text]) => text).join("");

          const result = patchYaml(source, patch);

          const expected: Record<string, unknown> = { ...parse(source) };
          for (const [name, item] of Object.entries(patch))
            if (item === undefined) delete expected[name];
            else expected[name] = item;
          expect(parse(result) ?? {}).toEqual(JSON.parse(JSON.stringify(expected)));
          let from = 0;
          for (const [name, text] of chunks) {
            if (Object.hasOwn(patch, name)) continue;
            const at = result.indexOf(text, from);
            expect(at, `${name} in ${JSON.stringify(result)}`).toBeGreaterThanOrEqual(from);
            from = at + text.length;
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

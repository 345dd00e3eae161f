import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linkAbort } from "../../src/kernel/abort.ts";
import { backoffMs } from "../../src/kernel/backoff.ts";
import { makeBatch } from "../../src/kernel/batch.ts";
import { Fault, isFault, nearestWord } from "../../src/kernel/errors.ts";
import { isId, makeId, slugify } from "../../src/kernel/ids.ts";
import { isSecretName, makeRedact } from "../../src/kernel/redact.ts";
import {
  DAY,
  formatDuration,
  formatInstant,
  HOUR,
  MINUTE,
  parseDuration,
  parseInstant,
} from "../../src/kernel/time.ts";
import { seededRandom } from "../support/random.ts";

describe("time", () => {
  test.each([
    ["30m", 30 * MINUTE],
    ["1h30m", 90 * MINUTE],
    ["2 days", 2 * DAY],
    ["hour", HOUR],
    ["500ms", 500],
  ])("duration %s is %d ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(["", "30", "m30", "30x", "-5m", "1.5h", "5 minutes ago"])("T2: %j is no duration", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  test("a formatted duration reads back as itself", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 400 * DAY }), (ms) => parseDuration(formatDuration(ms)) === ms),
    );
  });

  test("T1: instants are ISO-8601 in UTC on the wire, and a text without an offset is none", () => {
    expect(formatInstant(Date.UTC(2026, 10, 29, 6))).toBe("2026-11-29T06:00:00Z");
    expect(parseInstant("2026-11-29T07:00:00+01:00")).toBe(Date.UTC(2026, 10, 29, 6));
    expect(parseInstant("2026-11-29T07:00:00")).toBeUndefined();
    expect(parseInstant("2026-13-29T07:00:00Z")).toBeUndefined();
  });
});

describe("ids", () => {
  test("sort by birth, so that lists page by id (U1)", () => {
    const random = seededRandom(7);
    const ids = [1, 2, 1_000, 1_700_000_000_000, 1_700_000_000_001].map((now) => makeId(now, random));
    expect([...ids].sort()).toEqual(ids);
    expect(ids.every(isId)).toBe(true);
  });

  test.each([
    ["Disk Watch!", "disk-watch"],
    ["Überprüfung täglich", "uberprufung-taglich"],
    ["每天总结", "job"],
    ["a".repeat(80), "a".repeat(48)],
  ])("slug of %j is %j", (text, slug) => {
    expect(slugify(text, "job")).toBe(slug);
  });
});

describe("redaction", () => {
  test("hides known values and well-known shapes, and leaves ordinary text alone", () => {
    const redact = makeRedact(["hunter2hunter2", "abc"]);
    expect(redact("pw hunter2hunter2 abc")).toBe("pw [redacted] abc");
    // Put together here so that no scanner takes the sample for a real key.
    const key = ["sk", "ant", "a1".repeat(15)].join("-");
    expect(redact(`key ${key} end`)).toBe("key [redacted] end");
    expect(redact("Authorization: Bearer abcdefghijklmnop1234")).toBe("Authorization: Bearer [redacted]");
    expect(redact("postgres://me:secret@db/x")).toBe("postgres://me:[redacted]@db/x");
    expect(redact("the bearer of news")).toBe("the bearer of news");
  });

  test("is idempotent on any text", () => {
    const redact = makeRedact(["topsecretvalue"]);
    fc.assert(fc.property(fc.string(), (text) => redact(redact(text)) === redact(text)));
  });

  test.each(["OPENAI_API_KEY", "GH_TOKEN", "DB_PASSWORD"])("%s names a secret", (name) => {
    expect(isSecretName(name)).toBe(true);
  });
});

describe("faults", () => {
  test("are known by their brand and name the nearest word", () => {
    expect(isFault(new Fault("input.usage", "no", { hint: "Do." }))).toBe(true);
    expect(isFault(new Error("no"))).toBe(false);
    expect(nearestWord("shedule", ["schedule", "timezone"])).toBe("schedule");
    expect(nearestWord("zzzz", ["schedule"])).toBeUndefined();
  });
});

describe("batch", () => {
  test("calls made in one turn share one flush, and each gets its own answer", async () => {
    const flushes: number[][] = [];
    const add = makeBatch<number, number>(async (items) => {
      flushes.push(items);
      return items.map((item) => item * 2);
    });
    expect(await Promise.all([add(1), add(2), add(3)])).toEqual([2, 4, 6]);
    expect(flushes).toEqual([[1, 2, 3]]);
  });

  test("a failed flush rejects exactly its own items, later ones go on", async () => {
    const add = makeBatch<number, number>(async (items) => {
      if (items.includes(1)) throw new Error("disk full");
      return items;
    });
    await expect(add(1)).rejects.toThrow("disk full");
    expect(await add(2)).toBe(2);
  });

  test("a flush that gathers first carries what came while it waited", async () => {
    const carried: number[][] = [];
    const asked: number[] = [];
    let isGathered = () => {};
    const gathering = new Promise<void>((resolve) => {
      isGathered = resolve;
    });
    const flush = async (items: number[]) => {
      carried.push(items);
      return items;
    };
    const gather = (waiting: number) => {
      asked.push(waiting);
      return gathering;
    };
    const add = makeBatch<number, number>(flush, { gather });

    const first = add(1);
    await Promise.resolve();
    await Promise.resolve();
    expect([asked, carried]).toEqual([[1], []]);
    const second = add(2);
    isGathered();

    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(carried).toEqual([[1, 2]]);
  });
});

describe("backoff and abort", () => {
  test("delays grow by the factor up to the cap, spread by a tenth", () => {
    const policy = { delayMs: 1_000, factor: 2, maxDelayMs: 5_000 };
    expect([1, 2, 3, 4].map((attempt) => backoffMs(attempt, policy, 0.5))).toEqual([
      1_000, 2_000, 4_000, 5_000,
    ]);
    expect(backoffMs(1, policy, 0)).toBe(900);
  });

  test("a linked abort follows its parent with the same reason, and not after its release", () => {
    const parent = new AbortController();
    const [followed, released] = [linkAbort(parent.signal), linkAbort(parent.signal)];
    released.release();
    parent.abort("stop");
    expect([followed.signal.reason, released.signal.aborted]).toEqual(["stop", false]);
  });
});

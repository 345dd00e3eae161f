// Output within bounds: bytes, characters, tails and the live log.

import { describe, expect, test } from "vitest";
import { makeTail } from "../../src/execute/capture.ts";
import { makeLiveLog } from "../../src/execute/live-log.ts";
import { runScript } from "../../src/execute/run-script.ts";
import { makeRedact } from "../../src/kernel/redact.ts";
import { makeContext, openRoom, workOf } from "./room.ts";

function textOf(chunks: Uint8Array[], maxBytes = 1_000): string {
  const tail = makeTail(maxBytes);
  for (const chunk of chunks) tail.push(chunk);
  return tail.text();
}

describe("the kept tail", () => {
  test("hermes#42384: a character cut by a chunk's edge is whole, whatever the cut", () => {
    const bytes = Buffer.from("Grüße 夜班 🌙\n");
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(textOf([bytes.subarray(0, cut), bytes.subarray(cut)])).toBe("Grüße 夜班 🌙\n");
  });

  test("hermes#42384: bytes that are not UTF-8, and NUL, become U+FFFD; the rest stays", () => {
    expect(textOf([Buffer.from([0x61, 0xff, 0xc3, 0x62, 0x00, 0x63])])).toBe("a\uFFFD\uFFFDb\uFFFDc");
  });

  test("keeps the last bytes, starting at a line's start", () => {
    const tail = makeTail(20);
    for (let line = 1; line <= 100; line++) tail.push(Buffer.from(`line ${line}\n`));

    expect(tail.text()).toBe("line 99\nline 100\n");
    expect(tail.isTruncated()).toBe(true);
    expect(tail.totalBytes()).toBe(792);
  });

  test("a tail without a line's end starts at a character's start", () => {
    expect(textOf([Buffer.from("夜".repeat(100))], 10)).toBe("夜夜夜");
  });

  test("exactly the limit is not truncated", () => {
    const tail = makeTail(10);
    tail.push(Buffer.from("0123456789"));
    expect([tail.text(), tail.isTruncated()]).toEqual(["0123456789", false]);
  });

  test.each([1, 3, 7, 64, 1_000, 5_000])("chunks of %d bytes give the same tail as one", (size) => {
    const all = Buffer.from(Array.from({ length: 4_000 }, (_, index) => 97 + (index % 26)));
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < all.length; at += size) chunks.push(all.subarray(at, at + size));

    expect(textOf(chunks, 1_500)).toBe(all.subarray(all.length - 1_500).toString());
  });
});

describe("the live log", () => {
  function openLog(secrets: string[] = []) {
    const events: { text: string; leftOutBytes?: number }[] = [];
    let now = 0;
    const log = makeLiveLog({
      emit: (data) => void events.push(data),
      redact: makeRedact(secrets),
      monotonicMs: () => now,
    });
    const pass = (ms: number) => {
      now += ms;
    };
    return { events, log, pass };
  }

  test("gives whole lines, and the unfinished one at the end", () => {
    const { events, log } = openLog();
    for (const part of ["on", "e\ntw", "o\nthree"]) log.push(Buffer.from(part));
    log.end();

    expect(events).toEqual([{ text: "one\n" }, { text: "two\n" }, { text: "three" }]);
  });

  test("a secret split over two chunks is redacted", () => {
    const { events, log } = openLog(["hunter22"]);
    log.push(Buffer.from("pw=hunt"));
    log.push(Buffer.from("er22\n"));

    expect(events).toEqual([{ text: "pw=[redacted]\n" }]);
  });

  test("a flood is cut, the cut is counted, and it goes on when time has passed", () => {
    const { events, log, pass } = openLog();
    const line = Buffer.from(`${"x".repeat(999)}\n`);
    for (let index = 0; index < 1_000; index++) log.push(line);
    const shown = events.length;
    expect(shown).toBeLessThan(270);

    pass(60_000);
    log.push(line);
    log.end();

    expect(events).toHaveLength(shown + 1);
    expect(events.at(-1)).toEqual({ text: line.toString(), leftOutBytes: (1_000 - shown) * 1_000 });
  });

  test("a flood that never ends is said at the end", () => {
    const { events, log } = openLog();
    for (let index = 0; index < 100; index++) log.push(Buffer.alloc(65_536, "y"));
    log.end();

    const shown = events.reduce((sum, event) => sum + event.text.length, 0);
    const leftOut = events.reduce((sum, event) => sum + (event.leftOutBytes ?? 0), 0);
    expect(shown).toBeLessThanOrEqual(262_144);
    expect(shown + leftOut).toBe(6_553_600);
  });
});

describe("a real script", () => {
  test("hermes#42384: bytes that are not UTF-8 do not fail the run", async () => {
    const room = await openRoom();
    const script = await room.script("bytes.sh", "printf 'caf\\351 \\000 ok\\n'; printf '\\377' >&2");

    const outcome = await runScript(room.deps, workOf(script), makeContext());

    expect(outcome).toEqual({ state: "succeeded", output: "caf\uFFFD \uFFFD ok\n", isSilent: false });
  });

  test("100 MB of output is bounded, keeps its tail and takes seconds at most", async () => {
    const room = await openRoom();
    const script = await room.script(
      "flood.sh",
      "yes 0123456789abcdef | head -c 104857600; echo; echo the end",
    );
    const context = makeContext();
    const startedAt = performance.now();

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(outcome.state).toBe("succeeded");
    expect(outcome.isTruncated).toBe(true);
    expect(outcome.output?.endsWith("the end\n")).toBe(true);
    expect(outcome.output?.length).toBeLessThanOrEqual(1_000_000);
    expect(outcome.output?.length).toBeGreaterThan(990_000);
    expect(context.events.length).toBeLessThan(200);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

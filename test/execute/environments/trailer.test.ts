// The closing word in a stream: found however it is cut, taken out, and nothing else touched.

import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { remoteCommand } from "../../../src/execute/environments/ssh-arguments.ts";
import { makeTrailerFilter } from "../../../src/execute/environments/trailer.ts";

const NONCE = "01kb7c3v5m8q2n4r6t8w0y2z4a";
const word = (text: string) => `\u001e${NONCE}:${text}\u001e${NONCE}\u001e`;

function pass(bytes: Buffer, cuts: readonly number[]): { kept: Buffer; word: unknown } {
  const filter = makeTrailerFilter(NONCE);
  const kept: Uint8Array[] = [];
  let from = 0;
  for (const cut of [...new Set(cuts.map((value) => value % (bytes.length + 1)))].sort((a, b) => a - b)) {
    kept.push(filter.push(bytes.subarray(from, cut)));
    from = cut;
  }
  kept.push(filter.push(bytes.subarray(from)), filter.end());
  return { kept: Buffer.concat(kept), word: filter.word() };
}

describe("the closing word", () => {
  test("is taken out wherever chunks are cut; bytes before it pass, bytes after it are not the call's", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), fc.array(fc.nat()), (before, after, cuts) => {
        const bytes = Buffer.concat([before, Buffer.from(word("7:1:/a:b\nc 夜")), after]);
        expect(pass(bytes, cuts)).toEqual({
          kept: Buffer.from(before),
          word: { exitCode: 7, isSaved: true, cwd: "/a:b\nc 夜" },
        });
      }),
    );
  });

  test("what only begins like one passes in full", () => {
    const almost = [
      word("7:1:/x").slice(0, -1),
      `\u001e${NONCE.slice(0, 9)}`,
      `\u001e${NONCE}: ${"x".repeat(70_000)}`,
      "\u001e".repeat(100),
    ];
    for (const text of almost)
      fc.assert(
        fc.property(fc.array(fc.nat()), (cuts) => {
          const passed = pass(Buffer.from(text), cuts);
          expect([passed.kept.equals(Buffer.from(text)), passed.word]).toEqual([true, undefined]);
        }),
        { numRuns: 30 },
      );
  });
});

describe("a command as one word for the login shell of another machine", () => {
  test.each(["sh", "bash", "dash"])("%s hands every argument on unchanged", (shell) => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary" }).map((text) => text.replaceAll("\0", ""))),
        (args) => {
          const well = args.filter((text) => Buffer.from(text).toString() === text);
          const command = remoteCommand(["printf", "%s\\0", "-", ...well]);
          const printed = execFileSync(shell, ["-c", command]).toString().split("\0").slice(0, -1);
          expect(printed).toEqual(["-", ...well]);
          expect(command).not.toMatch(/[\n!\\](?!0)/);
        },
      ),
      { numRuns: 40 },
    );
  });
});

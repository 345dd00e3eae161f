import { once } from "node:events";
import { closeSync, readdirSync, writeSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { makePipePool } from "../../src/execute/pipe-pool.ts";
import { tempFolder } from "../support/temp.ts";

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

describe.runIf(process.platform === "linux")("the pool of pipes", () => {
  test("100 pipes taken at once are all different, whole, and leave neither a file nor a descriptor", async () => {
    const folder = await tempFolder();
    const before = openDescriptors();
    const pool = makePipePool(folder);

    const pairs = await Promise.all(Array.from({ length: 50 }, () => pool.take()));
    const pipes = pairs.flatMap((pair) => pair!);
    const texts = pipes.map((pipe) => {
      let text = "";
      pipe.stream.on("data", (chunk) => {
        text += String(chunk);
      });
      return once(pipe.stream, "close").then(() => text);
    });
    for (const [index, pipe] of pipes.entries()) {
      writeSync(pipe.writeEnd, `pipe ${index}`);
      closeSync(pipe.writeEnd);
    }

    expect(await Promise.all(texts)).toEqual(pipes.map((_, index) => `pipe ${index}`));
    await pool.close();
    expect(readdirSync(folder)).toEqual([]);
    // Other tests of this process may have closed some meanwhile.
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });

  test("a closed pool gives none", async () => {
    const pool = makePipePool(await tempFolder());
    await pool.close();
    expect(await pool.take()).toBeUndefined();
  });
});

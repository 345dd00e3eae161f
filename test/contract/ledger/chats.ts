// How far a chat's messages have been taken (issue D 9).

import { expect, test } from "vitest";
import { type Bench, whenFree } from "./fixtures.ts";

export function chatRules(open: () => Promise<Bench>): void {
  test("an update of a chat is taken once, by one of two nodes, and everything before it with it", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    expect(await a.chatOffset("telegram:1")).toBeUndefined();

    const answers = await Promise.all(
      [a, b].map((node) => whenFree(() => node.takeChatUpdate("telegram:1", 7))),
    );

    expect(answers.toSorted()).toEqual([false, true]);
    expect(await b.chatOffset("telegram:1")).toBe(8);
    expect([await a.takeChatUpdate("telegram:1", 6), await a.takeChatUpdate("telegram:1", 9)]).toEqual([
      false,
      true,
    ]);
    expect(await a.chatOffset("telegram:2")).toBeUndefined();
  });
}

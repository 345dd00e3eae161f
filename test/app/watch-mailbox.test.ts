import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { makeMailbox } from "../../src/app/watch-mailbox.ts";
import type { WatchCommand } from "../../src/app/watch-protocol.ts";

const add = (runId: string, token = 1): WatchCommand => ({
  kind: "add",
  runs: [{ claim: { runId, owner: "n", token }, idleTimeoutMs: 0, totalTimeoutMs: 0 }],
});
const began = (runId: string): WatchCommand => ({ kind: "began", runId, processGroup: undefined });
const remove = (...runIds: string[]): WatchCommand => ({ kind: "remove", runIds });

describe("what the watch thread is told", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function mailbox() {
    const posted: WatchCommand[][] = [];
    return { posted, ...makeMailbox((commands) => void posted.push(commands)) };
  }

  test("L5: a run is added within the turn in which it was claimed, before its work can block the event loop", async () => {
    const { put, posted } = mailbox();
    put(add("a"));
    put(add("b"));
    await Promise.resolve();
    expect(posted).toEqual([[add("a"), add("b")]]);
  });

  test("of a run that ends at once only its beginning and its end are told, and ends go out together", async () => {
    const { put, posted } = mailbox();
    put(add("a"));
    put(began("a"));
    put(remove("a"));
    put(remove("b"));
    await vi.advanceTimersByTimeAsync(100);
    expect(posted).toEqual([[add("a")], [remove("a", "b")]]);
  });

  test("L14: of a run that goes on, the beginning and its limits are told a moment later, in order", async () => {
    const limits: WatchCommand = { kind: "limits", runId: "a", idleTimeoutMs: 5, totalTimeoutMs: 0 };
    const { put, posted } = mailbox();
    put(limits);
    put(began("a"));
    await vi.advanceTimersByTimeAsync(100);
    expect(posted).toEqual([[limits, began("a")]]);
  });

  test("a run that is claimed again right after its end is not removed by that end", async () => {
    const { put, posted } = mailbox();
    put(remove("a"));
    put(add("a", 2));
    await vi.advanceTimersByTimeAsync(100);
    expect(posted).toEqual([[add("a", 2)]]);
  });

  test("after a stop nothing is posted any more", async () => {
    const { put, clear, posted } = mailbox();
    put(add("a"));
    put(began("a"));
    clear();
    await vi.advanceTimersByTimeAsync(100);
    expect(posted).toEqual([]);
  });
});

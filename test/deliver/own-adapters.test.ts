// The adapters that need no network: local, stdout, profile, and platforms known by address only.

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SendRequest, Target } from "../../src/records/delivery.ts";
import { tempFolder } from "../support/temp.ts";
import { adapters, START } from "./fixtures.ts";

const never = new AbortController().signal;

function request(target: Target, changes: Partial<SendRequest> = {}): SendRequest {
  return {
    target,
    body: "disk 91 %",
    idempotencyKey: "a1b2c3d4e5f6a1b2",
    kind: "alert",
    jobId: "disk-watch",
    runId: "run-1",
    createdAt: START,
    attempt: 1,
    ...changes,
  };
}

const toLocal = (changes: Partial<SendRequest> = {}) =>
  request({ platform: "local", text: "local" }, changes);

describe("local", () => {
  const local = (home: string, file?: string) =>
    adapters({ local: { home, outputFileOf: () => Promise.resolve(file) } }).get("local")!;

  test("a result's archived file is its delivery: nothing is written twice", async () => {
    const home = await tempFolder();

    const result = await local(home, "output/disk-watch/x.md").send(toLocal({ kind: "result" }), never);

    expect(result).toEqual({ kind: "delivered", receipt: { id: "output/disk-watch/x.md", at: START } });
    expect(await readdir(home)).toEqual([]);
  });

  test("an alert becomes a file of its own, for its owner only, and a second try writes the same one", async () => {
    const home = await tempFolder();

    const first = await local(home).send(toLocal(), never);
    const second = await local(home).send(toLocal({ attempt: 2 }), never);

    expect(first).toEqual(second);
    const path = "output/_alerts/20261129T060000Z-alert-a1b2c3d4e5f6.md";
    expect(first).toEqual({ kind: "delivered", receipt: { id: path, at: START } });
    expect(await readdir(join(home, "output/_alerts"))).toHaveLength(1);
    expect(await readFile(join(home, path), "utf8")).toBe("disk 91 %\n");
    expect((await stat(join(home, path))).mode & 0o777).toBe(0o600);
  });

  test("a home that cannot be written is tried again later, not counted as delivered", async () => {
    expect(await local("/dev/null").send(toLocal(), never)).toMatchObject({ kind: "retry" });
  });
});

describe("stdout", () => {
  const target = { platform: "stdout", text: "stdout" };

  test("prints verbatim, ending the line", async () => {
    const printed: string[] = [];
    const write = (text: string) => Promise.resolve(void printed.push(text));
    const stdout = adapters({ stdout: { write } }).get("stdout")!;

    await stdout.send(request(target), never);
    await stdout.send(request(target, { body: "two\nlines\n" }), never);

    expect(printed).toEqual(["disk 91 %\n", "two\nlines\n"]);
  });

  test("a closed pipe is refused with the reason; a process without output says so", async () => {
    const write = () => Promise.reject(new Error("EPIPE"));

    expect(await adapters({ stdout: { write } }).get("stdout")?.send(request(target), never)).toEqual({
      kind: "refused",
      error: "standard output is closed: EPIPE",
    });
    expect(adapters().get("stdout")?.unusable()).toMatch(/standard output/);
  });
});

describe("profile", () => {
  const target = { platform: "telegram", profile: "work", text: "profile:work/telegram" };

  test("O5: hands the message over with the inner target, and knows when there is no such home", async () => {
    const handed: string[] = [];
    const table = adapters({
      profile: {
        handOver: ({ profile, target: inner, request: { idempotencyKey } }) => {
          handed.push(`${profile} ${inner} ${idempotencyKey}`);
          return Promise.resolve(profile === "work" ? "put" : "noProfile");
        },
      },
    });

    expect(await table.get("profile")?.send(request(target), never)).toMatchObject({ kind: "delivered" });
    expect(handed).toEqual(["work telegram a1b2c3d4e5f6a1b2"]);
    const other = { ...target, profile: "gone", text: "profile:gone/telegram" };
    expect(await table.get("profile")?.send(request(other), never)).toEqual({
      kind: "refused",
      error: 'there is no profile "gone"',
    });
  });
});

test("O4: a platform that is not configured reads its addresses, and says what is missing", () => {
  const telegram = adapters().get("telegram")!;

  expect(telegram.unusable()).toBe("telegram is not configured: set deliver.telegram.token in config.yaml");
  expect(telegram.parseAddress("-1001:17")).toEqual({ chat: "-1001", thread: "17" });
});

import { existsSync, statSync } from "node:fs";
import { lutimes, mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  closeWorkspace,
  openWorkspace,
  sweepWorkspaces,
  WORKSPACE_KEPT_MS,
} from "../../src/execute/workspace.ts";
import { tempFolder } from "../support/temp.ts";
import { newId } from "./room.ts";

describe("a run's workspace", () => {
  test("is private and empty, also when the same run was claimed before and left something", async () => {
    const folder = join(await tempFolder(), "workspaces");
    const runId = newId();
    const first = await openWorkspace(folder, runId);
    await writeFile(join(first, "old"), "");

    const second = await openWorkspace(folder, runId);

    expect(second).toBe(first);
    expect(statSync(second).mode & 0o777).toBe(0o700);
    expect(existsSync(join(second, "old"))).toBe(false);
  });

  test.each([
    [true, "full", false],
    [true, "empty", false],
    [false, "full", true],
    [false, "empty", false],
  ])("after success=%s and %s, it is kept: %s", async (hasSucceeded, filling, isKept) => {
    const path = await openWorkspace(await tempFolder(), newId());
    if (filling === "full") await writeFile(join(path, "file"), "");

    expect(await closeWorkspace(path, hasSucceeded)).toBe(!isKept);
    expect(existsSync(path)).toBe(isKept);
  });

  test("a name that is no run's id is refused: it could point anywhere", async () => {
    await expect(openWorkspace(await tempFolder(), "../../home")).rejects.toThrow("not a run's id");
  });
});

describe("the sweep", () => {
  test("removes old workspaces, and neither open runs', young ones, foreign names nor what a link points to", async () => {
    const folder = await tempFolder();
    const elsewhere = await tempFolder();
    await writeFile(join(elsewhere, "precious"), "");
    const [old, open, young, linked] = [newId(), newId(), newId(), newId()];
    for (const id of [old, open, young]) await openWorkspace(folder, id);
    await mkdir(join(folder, "notes"));
    await symlink(elsewhere, join(folder, linked));
    const now = Date.now();
    const longAgo = new Date(now - WORKSPACE_KEPT_MS - 1_000);
    for (const name of [old, open, "notes"]) await utimes(join(folder, name), longAgo, longAgo);
    await lutimes(join(folder, linked), longAgo, longAgo);

    const removed = await sweepWorkspaces(folder, { now, isOpen: (runId) => runId === open });

    expect(new Set(removed)).toEqual(new Set([old, linked]));
    expect([old, open, young, "notes"].map((name) => existsSync(join(folder, name)))).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(existsSync(join(elsewhere, "precious"))).toBe(true);
  });

  test("a folder that is not there has nothing to sweep", async () => {
    expect(await sweepWorkspaces("/no/such/folder", { now: 0, isOpen: () => false })).toEqual([]);
  });
});

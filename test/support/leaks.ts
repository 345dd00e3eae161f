// Fails a test file that leaves a child process, a temp folder or a listening handle behind.

import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect } from "vitest";

let foldersBefore = new Set<string>();

function testFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("nightshift-test-"));
}

/** Pids whose parent is this process (Linux; elsewhere the check is left to CI). */
function childPids(): number[] {
  if (process.platform !== "linux") return [];
  const children: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(parent) === process.pid && state !== "Z") children.push(Number(name));
    } catch {
      // It ended while we looked.
    }
  }
  return children;
}

let childrenBefore: number[] = [];

beforeAll(() => {
  foldersBefore = new Set(testFolders());
  childrenBefore = childPids();
});

afterAll(async () => {
  // An exit that was just reaped may still be listed for a turn or two of the event loop.
  for (let turn = 0; turn < 50 && childPids().some((pid) => !childrenBefore.includes(pid)); turn++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(
    childPids().filter((pid) => !childrenBefore.includes(pid)),
    "child processes left behind",
  ).toEqual([]);
  const ours = `nightshift-test-${process.pid}-`;
  const left = testFolders().filter((name) => !foldersBefore.has(name) && name.startsWith(ours));
  expect(left, "temp folders left behind").toEqual([]);
});

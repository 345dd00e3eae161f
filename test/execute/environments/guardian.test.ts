// The guardian at the far end of a connection: what makes it act, here as a child of this process.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { guardianArgv } from "../../../src/execute/environments/end-inside.ts";
import { processesMarked, readProcess } from "../../../src/execute/process-table.ts";
import { newId, until } from "../room.ts";

async function guardian(beatSeconds: number) {
  const environmentId = newId();
  const [program = "", ...args] = guardianArgv(environmentId, beatSeconds);
  const guard = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
  const marked = spawn("sleep", ["60"], {
    env: { ...process.env, NIGHTSHIFT_ENVIRONMENT_ID: environmentId },
  });
  const bystander = spawn("sleep", ["60"]);
  onTestFinished(async () => {
    for (const child of [guard, marked, bystander]) child.kill("SIGKILL");
    await Promise.all([guard, marked, bystander].map(endOf));
  });
  await once(guard.stdout, "data");
  return { guard, marked, bystander, folder: `/tmp/.nightshift-${environmentId}` };
}

const endOf = async (child: ChildProcess) => {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
};
const isLive = ({ pid = 0 }: ChildProcess) => readProcess(pid)?.isZombie === false;

test("the end of its input: it ends what carries the mark, and nothing else, removes the folder and goes", async () => {
  const { guard, marked, bystander, folder } = await guardian(60);
  expect(existsSync(folder)).toBe(true);
  guard.stdin.end();
  await Promise.all([endOf(marked), endOf(guard)]);
  expect([isLive(bystander), existsSync(folder)]).toEqual([true, false]);
  await until(() => processesMarked(folder.slice(-26)).length === 0, "none of its own is left");
});

test("a connection that is silent and closes nothing: it acts after two such times, and not while lines come", async () => {
  const { guard, marked, folder } = await guardian(0.2);
  for (let beat = 0; beat < 10; beat++) {
    guard.stdin.write("\n");
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect([isLive(marked), existsSync(folder)]).toEqual([true, true]);
  await Promise.all([endOf(marked), endOf(guard)]);
  expect(existsSync(folder)).toBe(false);
});

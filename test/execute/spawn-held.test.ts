// The shim: held until released, gone when let go, and out of the way in between.

import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isSameProcess } from "../../src/execute/process-table.ts";
import { type HeldCommand, type HeldProcess, spawnHeld } from "../../src/execute/spawn-held.ts";
import { tempFolder } from "../support/temp.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";

function commandOf(changes: Partial<HeldCommand>): HeldCommand {
  return { command: "/bin/sh", args: [], cwd: "/", env: { PATH }, ...changes };
}

async function hold(changes: Partial<HeldCommand>): Promise<HeldProcess> {
  const held = await spawnHeld(commandOf(changes));
  if (held.kind === "refused") throw new Error(held.message);
  return held;
}

async function outputOf(held: HeldProcess): Promise<string> {
  const chunks: Buffer[] = [];
  held.stdout.on("data", (chunk) => void chunks.push(chunk));
  held.stderr.resume();
  held.release();
  await once(held.child, "close");
  return Buffer.concat(chunks).toString();
}

describe("a held command", () => {
  test("L10: has its identity, does nothing, and keeps pid and start time when it begins", async () => {
    const folder = await tempFolder();
    const held = await hold({ args: ["-c", "touch begun; echo $$"], cwd: folder });
    expect(isSameProcess(held.identity)).toBe(true);
    expect(held.identity.processGroup).toBe(held.identity.pid);
    expect(existsSync(join(folder, "begun"))).toBe(false);

    expect(await outputOf(held)).toBe(`${held.identity.pid}\n`);
    expect(await held.handedOver).toBe("started");
    expect(await held.exited).toEqual({ exitCode: 0, signal: undefined });
  });

  test("abandoned, it never begins and is gone; twice is once", async () => {
    const folder = await tempFolder();
    const held = await hold({ args: ["-c", "touch begun"], cwd: folder });

    await Promise.all([held.abandon(), held.abandon()]);

    expect(isSameProcess(held.identity)).toBe(false);
    expect(await held.handedOver).toBe("abandoned");
    expect(existsSync(join(folder, "begun"))).toBe(false);
  });

  test("abandoned after the release, the command is killed", async () => {
    const held = await hold({ command: "sleep", args: ["60"] });
    held.release();
    await held.handedOver;

    await held.abandon();

    expect(await held.exited).toEqual({ exitCode: undefined, signal: "SIGKILL" });
  });

  test("stdin is what was given, and empty by default", async () => {
    expect(await outputOf(await hold({ command: "cat", stdin: "夜班\n".repeat(50_000) }))).toHaveLength(
      150_000,
    );
    expect(await outputOf(await hold({ command: "cat" }))).toBe("");
  });

  test("a command that never reads its stdin does not break us", async () => {
    expect(await outputOf(await hold({ command: "true", stdin: "x".repeat(1_000_000) }))).toBe("");
  });

  test("S2: the shim adds no variable of its own", async () => {
    expect(await outputOf(await hold({ command: "env", env: { PATH, ONLY: "this" } }))).toBe(
      `PATH=${PATH}\nONLY=this\n`,
    );
  });
});

describe("a command that cannot be started is an answer", () => {
  test.each<[Partial<HeldCommand>, object]>([
    [{ command: "/no/such/program" }, { code: "missing", message: "/no/such/program does not exist" }],
    [{ command: "no-such-program" }, { code: "missing" }],
    [{ command: "/etc/passwd" }, { code: "notExecutable", message: "/etc/passwd is not executable" }],
    [{ command: "/etc" }, { code: "missing" }],
    [{ cwd: "/no/such/folder" }, { code: "cwd", message: "working folder /no/such/folder does not exist" }],
    [{ cwd: "/etc/passwd" }, { code: "cwd" }],
    [{ args: ["a\0b"] }, { code: "argument" }],
    [{ env: { PATH, A: "a\0b" } }, { code: "argument" }],
    [{ args: ["x".repeat(4_000_000)] }, { code: "spawn" }],
  ])("%#: refused, and told apart", async (changes, expected) => {
    expect(await spawnHeld(commandOf(changes))).toMatchObject({ kind: "refused", ...expected });
  });

  test.each([
    ["vanishes", "missing", 127],
    ["loses its execute permission", "notExecutable", 126],
  ])(
    "a program that %s while it is held is not mistaken for one that exited",
    async (what, answer, exitCode) => {
      const folder = await tempFolder();
      const program = join(folder, "program");
      await writeFile(program, "#!/bin/sh\nexit 0\n");
      await chmod(program, 0o755);
      const held = await hold({ command: program });
      if (what === "vanishes") await rm(program);
      else await chmod(program, 0o644);

      await outputOf(held);

      expect(await held.handedOver).toBe(answer);
      expect(await held.exited).toEqual({ exitCode, signal: undefined });
    },
  );
});

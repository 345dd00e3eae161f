// Rules of commands that outlive their call.

import { expect, test } from "vitest";
import { collect, countInside, never, uniqueSeconds, untilInside } from "./asking.ts";
import type { Bench, Harness } from "./contract.ts";

export function spawnRules(get: () => Bench, { has }: Harness): void {
  test("a spawned command is written to, closed, read apart and judged by its own exit", async () => {
    const command = await get().environment.spawn('read line; echo "got $line"; cat; echo err >&2; exit 3', {
      signal: never,
    });
    const texts = Promise.all([collect(command.stdout), collect(command.stderr!)]);
    await command.write("first 夜\n");
    await command.write(Buffer.from("rest"));
    await command.closeStdin();
    expect(await command.exited).toEqual({ exitCode: 3, signal: undefined });
    expect(await texts).toEqual(["got first 夜\nrest", "err\n"]);
    await expect(command.write("late")).rejects.toMatchObject({ code: "input.conflict" });
  });

  test("it starts where the session is and leaves the session alone", async () => {
    const { environment } = get();
    await environment.exec("cd /tmp; export SEEN=1", { signal: never });
    const command = await environment.spawn('pwd; echo "$SEEN"; cd /; export SEEN=2', { signal: never });
    expect(await collect(command.stdout)).toBe("/tmp\n1\n");
    await command.exited;
    const after = await environment.exec('pwd; echo "$SEEN"; unset SEEN', { signal: never });
    expect(Buffer.from(after.stdout).toString()).toBe("/tmp\n1\n");
  });

  test("kill ends its whole tree and says how many would not go", async () => {
    const { environment } = get();
    const seconds = uniqueSeconds();
    const command = await environment.spawn(
      `trap '' TERM; sleep ${seconds} & sleep ${seconds}; sleep ${seconds}`,
      {
        signal: never,
      },
    );
    command.stdout.resume();
    command.stderr?.resume();
    if (has.sharedProcesses) await untilInside(environment, seconds, 2);
    expect(await command.kill({ graceMs: 200 })).toEqual({ survivors: 0 });
    await command.exited;
    if (has.sharedProcesses) expect(await countInside(environment, seconds)).toBe(0);
  });

  test("an orphan that holds its pipe does not delay its exit", async () => {
    const seconds = uniqueSeconds();
    const command = await get().environment.spawn(`sleep ${seconds} & echo gone; exit 2`, { signal: never });
    command.stdout.resume();
    command.stderr?.resume();
    expect(await command.exited).toEqual({ exitCode: 2, signal: undefined });
    expect(await command.kill({ graceMs: 200 })).toEqual({ survivors: 0 });
  });

  test.skipIf(!has.terminal)(
    "at a terminal: it is one, both ways, of the size asked for; its exit is known, and it can be ended",
    async () => {
      const { environment } = get();
      const start = (command: string) =>
        environment.spawn(command, { signal: never, pty: { columns: 91, rows: 17 } });
      // It stays a moment: node-pty drops what nobody has read 200 ms after the end, which a busy machine may need.
      // An engine tells a container's terminal its size a moment after the command has begun.
      const sized = `until test "$(stty size 2>/dev/null)" = "17 91"; do sleep 0.05; done; stty size`;
      const command = await start(
        `test -t 0 && test -t 1 && echo ready; read line; ${sized}; echo got $line; sleep 0.5; exit 3`,
      );
      expect(command.stderr).toBeUndefined();
      let text = "";
      const ended = new Promise((resolve) => command.stdout.once("end", resolve));
      await new Promise<void>((resolve) =>
        command.stdout.on("data", (chunk) => {
          text += String(chunk);
          resolve();
        }),
      );
      await command.write("hello 夜\n");
      expect(await command.exited).toEqual({ exitCode: 3, signal: undefined });
      await ended;
      expect(text.replaceAll("\r", "")).toBe("ready\nhello 夜\n17 91\ngot hello 夜\n");

      const stuck = await start("echo there; sleep 60; echo woken");
      await new Promise((resolve) => stuck.stdout.once("data", resolve));
      expect(await stuck.kill({ graceMs: 200 })).toEqual({ survivors: 0 });
    },
  );
}

// Rules of single commands: their end, their streams, their text.

import { expect, test } from "vitest";
import { exec, said, textOf, uniqueSeconds, untilInside } from "./asking.ts";
import type { Bench, Harness } from "./contract.ts";

export function commandRules(get: () => Bench, { has }: Harness): void {
  test.each([
    ["true", 0],
    ["exit 7", 7],
    ["sh -c 'exit 255'", 255],
    ["no-such-command-here", 127],
    ["kill -TERM $$", has.codeOfSignal15],
    ["if", 2],
    ["false; true", 0],
    ["set -e; false; exit 9", 1],
    ["exec sh -c 'exit 5'", 5],
    ["trap 'exit 6' EXIT; true", 6],
    ["f() { exit 4; }; f", 4],
    ["", 0],
    ["# only a comment", 0],
  ])("`%s` ends with %d", async (command, exitCode) => {
    const result = await exec(get().environment, command);
    expect(result).toMatchObject({ exitCode, timedOut: false, interrupted: false, truncated: false });
    expect(result.durationMs).toBeGreaterThanOrEqual(0);
  });

  test("stdout and stderr come apart, byte for byte, also where they are not UTF-8", async () => {
    const result = await exec(get().environment, "printf '\\377\\376a\\000b'; printf '\\200\\036err' >&2");
    expect([...result.stdout]).toEqual([0xff, 0xfe, 0x61, 0, 0x62]);
    expect([...result.stderr]).toEqual([0x80, 0x1e, 0x65, 0x72, 0x72]);
  });

  test("stdin arrives whole: every byte, and more than a pipe holds", async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 256);
    const { stdout } = await exec(get().environment, "cat", { stdin: bytes });
    expect(Buffer.from(stdout).equals(Buffer.from(bytes))).toBe(true);
  });

  test("without stdin a reader gets its end at once, and one that never reads it holds nothing up", async () => {
    expect(await said(get().environment, "cat; echo done")).toBe("done\n");
    expect(await said(get().environment, "echo done", { stdin: "x".repeat(1_000_000) })).toBe("done\n");
  });

  test("100 MB of output: memory stays bounded, the tail is kept, and it is said", async () => {
    const before = process.memoryUsage().rss;
    const result = await exec(get().environment, "head -c 100000000 /dev/zero | tr '\\000' x; echo the end", {
      maxBytes: 10_000,
    });
    const text = textOf(result.stdout);
    expect([result.exitCode, result.truncated, text.length]).toEqual([0, true, 10_000]);
    expect(text.endsWith("xxx" + "the end\n")).toBe(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(80_000_000);
  });

  const hard = [
    `echo 'single "double"' "double 'single'" \\$HOME '\`no\`'`,
    "cat <<'EOF'\nline with ' and \" and $HOME\nEOF",
    "cat <<EOF\nsum $((1 + 2))\nEOF",
    "echo 夜班; echo '🌙 ночь'",
    "echo a & wait; echo b",
    "echo 'a;b' && echo c || echo d; { echo e; }",
    "printf '%s|' 'new\nline' 'tab\there' 'back\\slash'",
    "echo \"it's\" # 'an unclosed quote in a comment",
    "case x in x) echo matched;; esac",
    "echo '! not history' '%s' '\\036'",
  ];
  const expected = [
    "single \"double\" double 'single' $HOME `no`\n",
    "line with ' and \" and $HOME\n",
    "sum 3\n",
    "夜班\n🌙 ночь\n",
    "a\nb\n",
    "a;b\nc\ne\n",
    "new\nline|tab\there|back\\slash|",
    "it's\n",
    "matched\n",
    "! not history %s \\036\n",
  ];
  test.each(hard.map((command, index) => [command, expected[index]]))(
    "the text reaches the shell as it is: %j",
    async (command = "", output) => {
      expect(await said(get().environment, command)).toBe(output);
    },
  );

  test("a text of 300 kB is a command like any other", async () => {
    const long = `X='${"ab夜\n".repeat(50_000)}'; printf %s "$X" | wc -c; echo '"'`;
    expect((await said(get().environment, long)).replaceAll(" ", "")).toBe('300000\n"\n');
  });

  test("a NUL byte in a command is refused with what to do; printed, it arrives", async () => {
    await expect(exec(get().environment, "echo a\0b")).rejects.toMatchObject({ code: "input.invalid" });
    await expect(
      exec(get().environment, "true", { env: { NIGHTSHIFT_RUN_ID: "other" } }),
    ).rejects.toMatchObject({
      code: "input.invalid",
    });
  });

  test.each([
    "exec >/dev/null 2>&1; echo lost",
    "set -eux; true",
    "trap '' TERM INT; trap 'true' EXIT; true",
    "unset PATH; PATH=; true",
    "set -- a b; shift; IFS=x; true",
    "exec 3>&1 4>&2 9>&1 >&- 2>&-; true",
    "cd() { return 1; }; true",
    "set -a; made=1; true",
  ])("nothing a command does to its shell breaks the next one: %s", async (command) => {
    const { environment } = get();
    expect((await exec(environment, command)).exitCode).toBe(0);
    expect(
      await said(
        environment,
        "unset -f cd; PATH=/usr/local/bin:/usr/bin:/bin; export PATH; cd /tmp && echo well",
      ),
    ).toBe("well\n");
    expect(await said(environment, "env | grep __ns_ || true")).toBe("");
  });

  test("xtrace shows the command's own lines, none of the wrapper's", async () => {
    const { stderr } = await exec(get().environment, "set -x; echo one; exit 0");
    expect(textOf(stderr).replace(/^\++/gm, "+")).toBe("+ echo one\n+ exit 0\n");
  });

  test("a background child that holds the pipe does not hold the call, and lives on", async () => {
    const { environment } = get();
    const seconds = uniqueSeconds();
    const result = await exec(environment, `sleep ${seconds} & echo started`, { timeoutMs: 15_000 });
    expect([result.exitCode, textOf(result.stdout)]).toEqual([0, "started\n"]);
    if (!has.sharedProcesses) return;
    await untilInside(environment, seconds, 1);
    await exec(
      environment,
      `pkill -f "^sleep ${seconds.slice(0, 4)}[${seconds[4]}]" || kill $(ps -o pid,args | awk '/sleep ${seconds}/ && !/awk/ {print $1}')`,
    );
    await untilInside(environment, seconds, 0);
  });

  test("calls run side by side and each gets its own output", async () => {
    const { environment } = get();
    const calls = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        said(environment, `echo from ${index}; sleep 0.1; echo err >&2; echo to ${index}`),
      ),
    );
    expect(calls).toEqual(Array.from({ length: 6 }, (_, index) => `from ${index}\nto ${index}\n`));
  });

  test("output is told as it comes, and counts as activity", async () => {
    const pieces: string[] = [];
    const activities = new Set<string>();
    await exec(get().environment, "echo out; echo err >&2", {
      onOutput: (stream, chunk) => void pieces.push(`${stream}:${textOf(chunk)}`),
      onActivity: (activity) => void activities.add(activity),
    });
    expect(pieces.join("")).toContain("stdout:out");
    expect(pieces.join("")).toContain("stderr:err");
    expect(pieces.join("")).not.toContain("\u001e");
    expect([...activities]).toEqual(["output"]);
  });
}

// Rules of a session: what one call leaves to the next, and what it never may.

import { expect, test } from "vitest";
import { exec, said, textOf } from "./asking.ts";
import type { Bench, Harness } from "./contract.ts";

export function sessionRules(get: () => Bench, { has }: Harness): void {
  test("the directory and exported variables persist, others do not", async () => {
    const { environment } = get();
    const first = await exec(
      environment,
      `mkdir -p "/tmp/a 'b"; cd "/tmp/a 'b"; export KEPT="it's\ntwo 夜"; LOCAL=1`,
    );
    expect([first.exitCode, first.cwd]).toEqual([0, "/tmp/a 'b"]);
    expect(await said(environment, 'pwd; echo "$KEPT"; echo "[${LOCAL-}]"')).toBe(
      "/tmp/a 'b\nit's\ntwo 夜\n[]\n",
    );
    await said(environment, `unset KEPT; cd /tmp && rmdir "/tmp/a 'b"`);
    expect(await said(environment, 'pwd; echo "[${KEPT-}]"')).toBe("/tmp\n[]\n");
  });

  test.skipIf(!has.bash)("functions persist where the shell is bash", async () => {
    const { environment } = get();
    await said(environment, 'greet() { echo "hello $1\'s"; }');
    expect(await said(environment, "greet night")).toBe("hello night's\n");
    await said(environment, "unset -f greet");
  });

  test("a directory that is gone does not end the session: it starts anew at home and says so", async () => {
    const { environment } = get();
    await said(environment, "mkdir /tmp/gone-soon && cd /tmp/gone-soon && rmdir /tmp/gone-soon");
    const result = await exec(environment, "pwd");
    expect(textOf(result.stdout)).toBe(`${environment.cwd}\n`);
    expect(textOf(result.stderr)).toContain("is gone");
    expect(result.cwd).toBe(environment.cwd);
  });

  test("a call's own directory and variables are for that call", async () => {
    const { environment } = get();
    await said(environment, "cd /tmp; export MINE=session");
    const result = await exec(environment, 'pwd; echo "$MINE $ONCE"', {
      cwd: "/",
      env: { MINE: "call's", ONCE: "$once" },
    });
    expect([textOf(result.stdout), result.cwd]).toEqual(["/\ncall's $once\n", "/tmp"]);
    expect(await said(environment, 'pwd; echo "$MINE ${ONCE-none}"; unset MINE')).toBe(
      "/tmp\nsession none\n",
    );
  });

  test("a directory that does not exist is an answer, not a broken place", async () => {
    const result = await exec(get().environment, "echo never", { cwd: "/no/such/folder" });
    expect([result.exitCode, textOf(result.stdout)]).toEqual([1, ""]);
    expect(textOf(result.stderr)).toContain("/no/such/folder");
  });

  test("a call that timed out leaves the session as it was", async () => {
    const { environment } = get();
    await said(environment, "cd /tmp; export STAYS=1");
    await exec(environment, "cd /; export STAYS=2; sleep 60", { timeoutMs: 300 });
    expect(await said(environment, 'pwd; echo "$STAYS"; unset STAYS')).toBe("/tmp\n1\n");
  });

  test("a session outlives a command that set its own trap, and one that became another program", async () => {
    const { environment } = get();
    expect(await said(environment, "trap 'echo bye' EXIT; export TRAPPED=1; cd /")).toBe("bye\n");
    await said(environment, "export LOST=1; exec true");
    expect(await said(environment, 'pwd; echo "$TRAPPED ${LOST-}"; unset TRAPPED; cd /tmp')).toBe("/\n1 \n");
  });

  test("of parallel calls the last to finish leaves the session", async () => {
    const { environment } = get();
    await Promise.all([
      exec(environment, "cd /; export WHO=slow; sleep 0.4"),
      exec(environment, "cd /tmp; export WHO=quick"),
    ]);
    expect(await said(environment, 'pwd; echo "$WHO"; unset WHO; cd /tmp')).toBe("/\nslow\n");
  });

  test("S2: a command sees the allow-list and what the job named; no key of the node, in no process", async () => {
    const { environment, deps } = get();
    const variables = await said(environment, "env");
    expect(variables).toContain(`NIGHTSHIFT_RUN_ID=${deps.env.NIGHTSHIFT_RUN_ID}\n`);
    expect(variables).toContain("TZ=Europe/Berlin\n");
    expect(variables).toContain("NAMED=by the job's env\n");
    // Where there is no boundary the processes of others are there to see: those of this environment are ours to answer for.
    const command = `for file in /proc/[0-9]*/environ; do
  text=$(tr '\\000' '\\n' <"$file" 2>/dev/null)
  case $text in ${has.boundary ? "*" : '*"$NIGHTSHIFT_ENVIRONMENT_ID"*'}) printf '%s\\n' "$text" ;; esac
done 2>/dev/null`;
    const dump = await said(environment, command, { maxBytes: 10_000_000 });
    expect(dump).toContain("NIGHTSHIFT_RUN_ID=");
    for (const canary of Object.values(CANARIES)) expect(variables + dump).not.toContain(canary);
  });

  test("L10: every process of a call carries the run's, the environment's and the call's mark", async () => {
    const { environment, deps } = get();
    const marks = await said(environment, 'sh -c \'tr "\\000" "\\n" </proc/$$/environ | grep ^NIGHTSHIFT_\'');
    expect(marks).toContain(`NIGHTSHIFT_RUN_ID=${deps.env.NIGHTSHIFT_RUN_ID}\n`);
    expect(marks).toMatch(/NIGHTSHIFT_ENVIRONMENT_ID=\w{26}\n/);
    expect(marks).toMatch(/NIGHTSHIFT_CALL_ID=\w{26}\n/);
  });
}

/** In the node's environment, and nowhere else. */
export const CANARIES = {
  OPENAI_API_KEY: "canary-openai-51f0",
  ANTHROPIC_API_KEY: "canary-anthropic-51f0",
  GITHUB_TOKEN: "canary-github-51f0",
  AWS_SECRET_ACCESS_KEY: "canary-aws-51f0",
  SSH_AUTH_SOCK: "/canary/agent-51f0",
};

// Which commands would end or restart the program that runs them, and which words only speak of it.

import { describe, expect, test } from "vitest";
import { lifecycleThreat, scriptLifecycleThreat } from "../../../src/app/agent-tools/lifecycle.ts";

describe("a command that ends its own node is found wherever it stands (hermes#30719, #51976)", () => {
  test.each([
    "systemctl --user restart nightshift",
    "sudo systemctl stop nightshift.service",
    "service nightshift restart",
    "/etc/init.d/nightshift stop",
    "launchctl kickstart -k gui/501/com.example.nightshift",
    "docker compose -f stack.yml restart nightshift",
    "docker rm -f my-nightshift",
    "pm2 restart nightshift",
    "pkill -f nightshift",
    'killall -9 "nightshift"',
    "kill -9 $(cat /run/nightshift.pid)",
    "kill `pgrep nightshift`",
    "pgrep -f 'nightshift up' | xargs kill",
    "Every night at 3: run `systemctl restart nightshift` so that it stays fresh.",
    "systemctl \\\n  restart \\\n  nightshift",
  ])("%s", (text) => {
    expect(lifecycleThreat(text)).toMatch(/^it would .* its own node \(node-\w+\)$/);
    expect(scriptLifecycleThreat(text)).toBeDefined();
  });
});

describe("words about it are no command", () => {
  test.each([
    "Check the systemctl status of nightshift and tell me if I should restart it.",
    "Tell me every morning whether nightshift is up.",
    "systemctl restart nginx",
    "docker restart web; echo nightshift",
    "Explain how a service called nightshift could be stopped.",
    "kill time by reading about nightshift workers",
    "grep nightshift /var/log/syslog",
    "nightshift run list --json",
  ])("%s", (text) => {
    expect(lifecycleThreat(text)).toBeUndefined();
  });
});

describe("a script may neither start a node nor change jobs: it would schedule itself (hermes#30719)", () => {
  test.each([
    ["nightshift up &", "start another node (node-start)"],
    ["NIGHTSHIFT_HOME=/x /usr/local/bin/nightshift --home /y tick", "start another node (node-start)"],
    ['nightshift job add "in 5m" --script again.sh', "change jobs from inside a job (self-schedule)"],
    ["( nightshift job run self )", "change jobs from inside a job (self-schedule)"],
    ["kill -TERM $PPID", "kill the process that runs it (parent-kill)"],
  ])("%s", (text, does) => {
    expect(scriptLifecycleThreat(`#!/bin/sh\nset -e\n${text}\n`)).toBe(`it would ${does}`);
    expect(lifecycleThreat(text)).toBeUndefined();
  });

  test.each(["# nightshift up", "  // systemctl restart nightshift", "nightshift job list", "echo up"])(
    "but may say: %s",
    (text) => {
      expect(scriptLifecycleThreat(`#!/bin/sh\n${text}\n`)).toBeUndefined();
    },
  );
});

test("a long text without spaces is judged in a moment", () => {
  const text = `docker ${"-x ".repeat(20_000)}${"nightshift".repeat(2_000)}`;
  const begun = performance.now();
  scriptLifecycleThreat(text);
  expect(performance.now() - begun).toBeLessThan(500);
});

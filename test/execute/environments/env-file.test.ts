// Which variables go to another place, and which to the clients that carry commands there.

import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { clientEnv, exportsOf, travellingEnv } from "../../../src/execute/environments/env-file.ts";

test("S2: the clients docker and ssh get what they need of the node's environment, and no provider's key", () => {
  const needed = {
    PATH: "/bin",
    HOME: "/home/n",
    SSH_AUTH_SOCK: "/run/agent",
    DOCKER_HOST: "unix:///s",
    HTTPS_PROXY: "http://p",
    no_proxy: "localhost",
    LC_ALL: "C",
  };
  const keys = {
    OPENAI_API_KEY: "k",
    GITHUB_TOKEN: "k",
    NODE_OPTIONS: "--x",
    MY_SSH_KEY: "k",
    NIGHTSHIFT_RUN_ID: "r",
  };
  expect(clientEnv({ ...needed, ...keys })).toEqual(needed);
});

test("S2: another machine gets TZ, the run's marks and what the job named, not this machine's PATH and HOME", () => {
  const env = { PATH: "/bin", HOME: "/root", LANG: "C", TZ: "UTC", NIGHTSHIFT_RUN_ID: "r", NAMED: "v" };
  expect(travellingEnv(env, ["NAMED"])).toEqual({ TZ: "UTC", NIGHTSHIFT_RUN_ID: "r", NAMED: "v" });
  expect(travellingEnv({ ...env, PATH: "/opt/bin" }, ["PATH"])).toMatchObject({ PATH: "/opt/bin" });
});

test("a value reaches the shell as it is: quotes, newlines, dollars", () => {
  const values = { A: 'it\'s "two"\n$HOME `x` \\n', B: "", C: "夜" };
  const script = `${exportsOf(values)}printf '%s|' "$A" "$B" "$C"`;
  expect(execFileSync("/bin/sh", ["-c", script]).toString()).toBe(`${Object.values(values).join("|")}|`);
});

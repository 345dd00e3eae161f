// What a text or a map says about where commands run, and what is refused with which hint.

import { describe, expect, test } from "vitest";
import { isFault } from "../../src/kernel/errors.ts";
import { readConfig } from "../../src/records/config-document.ts";
import {
  type EnvironmentInput,
  formatEnvironment,
  type NamedEnvironments,
  parseEnvironmentSpec,
} from "../../src/records/environment-spec.ts";

function faultOf(input: EnvironmentInput, named: NamedEnvironments = {}): { message: string; hint: string } {
  try {
    parseEnvironmentSpec(input, named);
  } catch (error) {
    if (isFault(error)) return { message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error("was not refused");
}

describe("an environment as a text", () => {
  test.each([
    ["local", { backend: "local" }],
    ["docker:python:3.12-slim", { backend: "docker", image: "python:3.12-slim" }],
    [
      "docker:registry.local:5000/team/tool@sha256:ab",
      { backend: "docker", image: "registry.local:5000/team/tool@sha256:ab" },
    ],
    ["ssh:builder", { backend: "ssh", host: "builder" }],
    ["ssh:me@builder.example:2222", { backend: "ssh", user: "me", host: "builder.example", port: 2222 }],
    ["ssh:me@[fe80::1%eth0]:22", { backend: "ssh", user: "me", host: "fe80::1%eth0", port: 22 }],
    ["singularity:docker://alpine:3", { backend: "singularity", image: "docker://alpine:3" }],
    ["apptainer:tool.sif", { backend: "singularity", image: "tool.sif" }],
    ["modal:python:3.12", { backend: "modal", image: "python:3.12" }],
    ["daytona:ubuntu", { backend: "daytona", image: "ubuntu" }],
    ["vercel", { backend: "vercel" }],
    ["vercel:node22", { backend: "vercel", runtime: "node22" }],
  ])("%s", (text, spec) => {
    expect(parseEnvironmentSpec(text)).toEqual(spec);
    expect(parseEnvironmentSpec(formatEnvironment(parseEnvironmentSpec(text)))).toEqual(spec);
  });

  test.each([
    ["docker", "names no image", "Write docker:IMAGE"],
    ["docker:--privileged", "names no image", "Write docker:IMAGE"],
    ["docker:a b", "names no image", "Write docker:IMAGE"],
    ["ssh:-oProxyCommand=sh", "names no host", "ssh:user@host"],
    ["ssh:me@host:70000", "names no host", "ssh:user@host"],
    ["local:x", "says more than local takes", "Write local."],
    ["dokcer:alpine", 'no environment "dokcer:alpine"', "Did you mean docker?"],
    ["", 'no environment ""', "Write local, docker:IMAGE"],
    ["constructor", 'no environment "constructor"', "Write local"],
  ])("%j is refused: %s", (text, message, hint) => {
    const fault = faultOf(text);
    expect(fault.message).toContain(message);
    expect(fault.hint).toContain(hint);
  });
});

describe("an environment as a map", () => {
  test("says everything its backend takes, in either spelling", () => {
    const map = {
      backend: "docker",
      image: "alpine:3",
      network: "none",
      limits: { cpu: 0.5, memory_mb: 64, pids: 32 },
    };
    expect(parseEnvironmentSpec(map)).toEqual({ ...map, limits: { cpu: 0.5, memoryMb: 64, pids: 32 } });
  });

  test.each([
    [{ image: "alpine" }, "names no backend", "Write backend: local | docker"],
    [{ backend: "dcoker", image: "alpine" }, 'no backend "dcoker"', "Did you mean docker?"],
    [{ backend: "docker", imgae: "alpine", image: "x" }, 'unknown key "imgae"', 'Did you mean "image"?'],
    [{ backend: "docker" }, "image is missing", "Add it"],
    [{ backend: "docker", image: "-v/:/host" }, "begins with -", "Correct image."],
    [{ backend: "ssh", host: "-oProxyCommand=sh" }, "begins with -", "Correct host."],
    [{ backend: "ssh", host: "h", port: "22" }, "port is a number in quotes", "Write 22"],
    [{ backend: "local", sandbox: "firejail" }, "sandbox must be bubblewrap", "Write"],
  ])("%j is refused: %s", (map, message, hint) => {
    const fault = faultOf(map);
    expect(fault.message).toContain(message);
    expect(fault.hint).toContain(hint);
  });
});

describe("a named environment", () => {
  test("stands in config.yaml and may lead to another name", () => {
    const { config } = readConfig(
      "environments:\n  box: {backend: docker, image: alpine, network: none}\n  dev: box\n",
      { file: "config.yaml", env: {} },
    );
    expect(parseEnvironmentSpec("dev", config.environments)).toEqual({
      backend: "docker",
      image: "alpine",
      network: "none",
    });
  });

  test("that leads back to itself is refused, not followed for ever", () => {
    expect(faultOf("a", { a: "b", b: "a" }).message).toContain("leads back to itself");
  });

  test("a misspelt one gets the nearest name", () => {
    expect(faultOf("bxo", { box: "local" }).hint).toBe("Did you mean box?");
  });

  test("a mistake in config.yaml is refused with its place and the nearest key", () => {
    const read = () =>
      readConfig("environments:\n  box:\n    backend: docker\n    image: alpine\n    nteworks: none\n", {
        file: "config.yaml",
        env: {},
      });
    expect(read).toThrow(/config\.yaml:5:5: unknown key "nteworks"/);
  });
});

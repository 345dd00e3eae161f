// What is the clouds' own, the same for all three: accounts, refusals, losses, what is kept and what is left behind.

import { readdirSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { loadPackage } from "../../../src/execute/environments/cloud-account.ts";
import { OWNER_LABEL, SCOPE_LABEL } from "../../../src/execute/environments/cloud-sandbox.ts";
import { cloudService } from "../../../src/execute/environments/cloud-services.ts";
import { checkEnvironment, openEnvironment } from "../../../src/execute/environments/index.ts";
import { ownerOf } from "../../../src/execute/environments/owner.ts";
import type { EnvironmentDeps } from "../../../src/execute/environments/place.ts";
import { endSandboxesOf, ownerTag, reapSandboxes } from "../../../src/execute/environments/reap-sandboxes.ts";
import type { CloudSpec } from "../../../src/records/cloud-specs.ts";
import { type CloudServer, startCloud, whyNoCloud } from "../../support/cloud/server.ts";
import { collect, countInside, exec, never, said, uniqueSeconds, untilInside } from "./asking.ts";
import { cloudDeps, KEYS } from "./cloud-harness.ts";
import { contractFolder } from "./local-harness.ts";

const BACKENDS = ["modal", "daytona", "vercel"] as const;
const IMAGES = {
  modal: { image: "debian:12" },
  daytona: { image: "debian:12" },
  vercel: {},
} as const;
const VARIABLES = {
  modal: "MODAL_TOKEN_SECRET",
  daytona: "DAYTONA_API_KEY",
  vercel: "VERCEL_TOKEN",
} as const;

const SECRETS = ["MODAL_TOKEN_SECRET", "DAYTONA_API_KEY", "VERCEL_TOKEN"].map((name) => KEYS[name] ?? "");

describe.skipIf(whyNoCloud()).each(BACKENDS)("a sandbox of %s", (backend) => {
  let server: CloudServer;
  let folder: ReturnType<typeof contractFolder>;
  let deps: EnvironmentDeps;

  beforeAll(async () => {
    server = await startCloud(backend);
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    folder = contractFolder();
    deps = { ...cloudDeps(folder.path), cpuSampleMs: 200 };
    return async () => {
      await server.tell("refuse", {});
      for (const { id } of await server.sandboxes()) await server.tell("forget", { id });
      folder.remove();
    };
  });

  const specOf = (changes: Partial<CloudSpec> = {}) =>
    ({ backend, ...IMAGES[backend], apiUrl: server.url, ...changes }) as CloudSpec;
  const open = (changes: Partial<CloudSpec> = {}, more: Partial<EnvironmentDeps> = {}) =>
    openEnvironment({ ...deps, ...more }, specOf(changes));
  const shared = { scopeKey: "a home/a cloud/its spec/name/builds" };

  test("a key that is missing or wrong is told by its variable's name, never by its value; nothing is made", async () => {
    const without = { ...deps, variable: () => undefined };
    expect(await checkEnvironment(without, specOf())).toEqual({
      usable: false,
      why: expect.stringMatching(new RegExp(`not set up: .*${VARIABLES[backend]}.* not set`)),
      hint: expect.stringContaining(".env"),
    });
    const wrong = { ...deps, variable: (name: string) => KEYS[name] && "a-wrong-secret" };
    const refused = await openEnvironment(wrong, specOf()).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "environment.unusable", retry: "never" });
    expect(JSON.stringify(refused) + String(refused)).not.toContain("a-wrong-secret");
    expect(await checkEnvironment(wrong, specOf())).toMatchObject({ usable: false });
    expect(await checkEnvironment(deps, specOf())).toMatchObject({ usable: true });
    expect(await checkEnvironment(deps, specOf({ apiUrl: "http://127.0.0.1:9" }))).toMatchObject({
      usable: false,
      hint: expect.stringContaining("network"),
    });
    expect(await server.sandboxes()).toEqual([]);
  });

  test("a quota that is spent and an image that does not exist are refused with what to do", async () => {
    await server.tell("refuse", { how: "quota" });
    await expect(open()).rejects.toMatchObject({
      code: "environment.unusable",
      hint: expect.stringContaining("limits"),
    });
    await server.tell("refuse", {});
    await expect(open({ image: "absent:1" })).rejects.toMatchObject({ code: "environment.unusable" });
    expect(await server.sandboxes()).toEqual([]);
  });

  test("no key is in the sandbox: neither given at its making nor in any process", async () => {
    const environment = await open();
    const dump = await said(environment, "env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\000' '\\n'");
    const made = JSON.stringify(await server.tell("asked"));
    expect(dump).toContain("NIGHTSHIFT_RUN_ID=");
    for (const value of SECRETS) {
      expect(dump).not.toContain(value);
      expect(made).not.toContain(value);
    }
    await environment.dispose();
  });

  test("limits, a lifetime and `network: none` are asked for when it is made", async () => {
    const environment = await open({
      limits: { cpu: 2, memoryMb: 4_096 },
      network: "none",
      timeout: "30m",
    });
    const asked = JSON.stringify(await server.tell("asked"));
    for (const words of ASKED[backend]) expect(asked).toContain(words);
    await environment.dispose();
  });

  test("a sandbox that ends in a call is a lost place, not a failed command; what was written is kept", async () => {
    const environment = await open();
    const lost = exec(environment, "echo before; sleep 60", {
      onOutput: () => void server.tell("vanish"),
    });
    await expect(lost).rejects.toMatchObject({
      code: "environment.broken",
      retry: "later",
      details: { stdout: "before\n" },
    });
    await expect(exec(environment, "true")).rejects.toMatchObject({ code: "environment.broken" });
    expect(await environment.dispose()).toEqual({ survivors: 0 });
  });

  test("hermes#36266: where repeating is declared safe it is made anew, once for the call, and it says so", async () => {
    const environment = await openEnvironment(deps, specOf(), { isRepeatable: true });
    await exec(environment, "export A=1");
    await server.tell("vanish");
    const { exitCode, wasRecreated, stdout } = await exec(environment, "echo ${A-new}");
    expect([exitCode, wasRecreated, Buffer.from(stdout).toString()]).toEqual([0, true, "new\n"]);
    expect(await environment.dispose()).toEqual({ survivors: 0 });
    expect((await server.sandboxes()).filter(({ state }) => state === "running")).toEqual([]);
  });

  test("W6: with `persist` the files are there for the next run of the scope, and nothing goes on running", async () => {
    const seconds = uniqueSeconds();
    const first = await open({ persist: true }, shared);
    await said(first, `echo kept >file; echo kept >/tmp/other; setsid sleep ${seconds} >/dev/null 2>&1 &`);
    expect(await first.dispose()).toEqual({ survivors: 0 });
    expect((await server.sandboxes()).filter(({ state }) => state === "running")).toEqual([]);

    const second = await open({ persist: true }, shared);
    expect(await said(second, "cat file")).toBe("kept\n");
    expect(await countInside(second, seconds)).toBe(0);
    await said(second, "echo again >>file");
    await second.dispose();
    const third = await open({ persist: true }, shared);
    expect(await said(third, "cat file; ls -d /tmp/.nightshift-* | wc -l | tr -d ' '")).toBe(
      "kept\nagain\n1\n",
    );
    await third.dispose();

    const other = await open({ persist: true }, { scopeKey: "another" });
    expect(await said(other, "ls")).toBe("");
    await other.dispose();
    if (backend === "modal") expect(await server.tell("images")).toHaveLength(2);
  });

  test("W6: without it the sandbox goes on and the next run finds it; what an earlier user left in it is ended", async () => {
    const seconds = uniqueSeconds();
    const first = await open({}, shared);
    await said(first, "echo here >file");
    await first.dispose();
    const [sandbox] = await server.sandboxes();

    const crashed = await open({}, shared);
    await exec(crashed, `setsid sleep ${seconds} >/dev/null 2>&1 & sleep 0.2`);
    await untilInside(crashed, seconds, 1);
    const next = await open({}, shared);

    expect(await said(next, "cat file")).toBe("here\n");
    expect(await countInside(next, seconds)).toBe(0);
    expect(await server.sandboxes()).toMatchObject([
      { id: sandbox?.id, labels: { [SCOPE_LABEL]: "shared" } },
    ]);
    await next.dispose();
  });

  test("hermes#75467: a dead owner's sandbox is ended, a kept one put to rest; a living one's and another machine's stay", async () => {
    const mine = await open();
    const made = async (
      owner: Partial<ReturnType<typeof ownerOf>>,
      changes: Partial<CloudSpec> = {},
      key?: string,
    ) => {
      const environment = await open(changes, { scopeKey: key });
      const known = await server.sandboxes();
      const { id = "", labels = {} } = known.at(-1) ?? {};
      await server.tell("label", {
        id,
        labels: { ...labels, [OWNER_LABEL]: ownerTag({ ...ownerOf(), ...owner }) },
      });
      return { environment, id };
    };
    const orphan = await made({ pid: process.pid, startTime: "1" });
    const kept = await made({ bootId: "an earlier boot" }, { persist: true }, "kept");
    const elsewhere = await made({ machineId: "another machine", startTime: "1" });
    const service = await cloudService(deps, specOf());

    const reaped = await reapSandboxes(service);

    expect(reaped.map(({ runId }) => runId)).toEqual([
      deps.env.NIGHTSHIFT_RUN_ID,
      deps.env.NIGHTSHIFT_RUN_ID,
    ]);
    const running = async () =>
      (await server.sandboxes()).filter(({ state }) => state === "running").map(({ id }) => id);
    await expect.poll(running).not.toContain(orphan.id);
    await expect.poll(running).not.toContain(kept.id);
    expect(await said(mine, "echo alive")).toBe("alive\n");
    expect(await said(elsewhere.environment, "echo alive")).toBe("alive\n");

    // A run that was taken over: whoever's its sandboxes are.
    const runId = deps.env.NIGHTSHIFT_RUN_ID ?? "";
    expect(await endSandboxesOf(service, new Set(["another run"]))).toEqual([]);
    expect((await endSandboxesOf(service, new Set([runId]))).every((one) => one.runId === runId)).toBe(true);
    await expect.poll(running).toEqual([]);
    service.close();
    for (const { environment } of [{ environment: mine }, orphan, kept, elsewhere])
      await environment.dispose();
  });

  test("an opening that is interrupted leaves no sandbox", async () => {
    const controller = new AbortController();
    const opening = open({}, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(opening).rejects.toThrow("enough");
    await expect
      .poll(async () => (await server.sandboxes()).filter(({ state }) => state === "running"))
      .toEqual([]);
  });

  test("a background command's output comes whole, and waits for who reads it", async () => {
    const environment = await open();
    const command = await environment.spawn("head -c 3000000 /dev/zero | tr '\\000' x; echo end", {
      signal: never,
    });
    await exec(environment, "sleep 0.5");
    // Modal's own streams hold more than this on the way.
    if (backend !== "modal")
      expect(await Promise.race([command.exited, Promise.resolve("it waits")])).toBe("it waits");
    const text = await collect(command.stdout);
    expect([text.length, text.slice(-5)]).toEqual([3_000_004, "xend\n"]);
    expect(await command.exited).toEqual({ exitCode: 0, signal: undefined });
    await environment.dispose();
    expect(readdirSync(deps.tempFolder)).toEqual([]);
  });
});

const ASKED = {
  modal: [
    '"networkAccessType":2',
    '"milliCpu":2000',
    '"milliCpuMax":2000',
    '"memoryMbMax":4096',
    '"timeoutSecs":1800',
  ],
  daytona: ['"cpu":2', '"memory":4', '"ttlMinutes":30', '"networkBlockAll":true'],
  vercel: ['"timeout":1800000', '"resources":{"vcpus":2}', '"networkPolicy":{"mode":"deny-all"}'],
};

describe("an SDK", () => {
  test("that is not installed is asked for by name and version", async () => {
    const absent = "nightshift-no-such-package";
    await expect(loadPackage("modal", () => import(absent), "ModalClient" as never)).rejects.toMatchObject({
      code: "environment.unusable",
      message: "the package modal is not installed",
      hint: expect.stringContaining("npm install modal@0.11"),
    });
  });

  test("that is another package of the same name is not used: `npm install modal` gets a window for browsers", async () => {
    await expect(
      loadPackage("modal", async () => ({ open: 1 }), "ModalClient" as never),
    ).rejects.toMatchObject({
      code: "environment.unusable",
      hint: expect.stringContaining("npm install modal@0.11"),
    });
  });
});

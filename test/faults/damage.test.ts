// What the world does to a home: a locked database, broken job files, a read-only home, a full disk.

import { spawn, spawnSync } from "node:child_process";
import { chmod, chown, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { expectWhole, faultHome, query, untilTrue } from "./fault-home.ts";
import { lockedFor } from "./lock.ts";
import { cli, isRun, startNode } from "./node-process.ts";

test("L11: a database locked by another process for two seconds delays completions and loses none", {
  timeout: 20_000,
}, async () => {
  await lockedFor(await faultHome(), 2_000);
});

test("D2: truncated and binary job files hold their jobs, keep their bytes, and stop nobody else", {
  timeout: 30_000,
}, async () => {
  const home = await faultHome();
  await home.jobFiles([{ id: "good" }, { id: "cut" }]);
  const cutFile = join(home.path, "jobs", "cut.yaml");
  const whole = await readFile(cutFile);
  const node = await startNode({ home: home.path });
  await node.when((event) => isRun(event) && event.run.jobId === "cut");

  const binary = Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 37) % 256));
  await writeFile(join(home.path, "jobs", "noise.yaml"), binary);
  await writeFile(cutFile, whole.subarray(0, whole.length / 2));
  await node.when((event) => event.event === "slots" && event.jobId === "cut" && event.reason === "held");
  const heldAt = node.events.length;
  await untilTrue("the good one goes on", () =>
    node.events.slice(heldAt).some((event) => isRun(event) && event.run.jobId === "good"),
  );

  const status = JSON.parse((await home.cli("status")).stdout) as {
    attention: { jobId: string; state: string }[];
    unusedFiles: { source: string }[];
  };
  expect(status.attention).toMatchObject([{ jobId: "cut", state: "held" }]);
  expect(status.unusedFiles.map(({ source }) => source)).toContain("jobs/noise.yaml");
  expect(await readFile(cutFile)).toEqual(whole.subarray(0, whole.length / 2));
  expect(await readFile(join(home.path, "jobs", "noise.yaml"))).toEqual(binary);

  await writeFile(cutFile, whole);
  const repairedAt = node.events.length;
  await untilTrue("it runs again", () =>
    node.events.slice(repairedAt).some((event) => isRun(event) && event.run.jobId === "cut"),
  );
  node.signal("SIGTERM");
  await node.exited;
  await expectWhole(home);
});

const canMount = tryMount();

function tryMount(): boolean {
  return (
    process.getuid?.() === 0 &&
    spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"]).status === 0
  );
}

test.skipIf(!canMount)(
  "L11: on a full disk nothing that ended is lost: its closing is written once there is room [needs mount]",
  { timeout: 40_000 },
  async () => {
    const home = await faultHome();
    const small = join(home.path, "small");
    await mkdir(small);
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=3m", "nightshift-test", small]);
    expect(mounted.status, String(mounted.stderr)).toBe(0);
    onTestFinished(() => void spawnSync("umount", ["-l", small]));
    for (const folder of ["jobs", "scripts"])
      spawnSync("cp", ["-a", join(home.path, folder), join(small, folder)]);
    await writeFile(join(small, "config.yaml"), await readFile(join(home.path, "config.yaml")));
    for (const id of ["a", "b", "c", "d"]) {
      const job = home.document({ id, seconds: 1, overlap: "allow" });
      await writeFile(join(small, "jobs", `${id}.yaml`), JSON.stringify(job));
    }
    const onSmall = {
      ...home,
      path: small,
      store: `sqlite:${join(small, "ledger.db")}`,
      cli: (...args: string[]) => cli({ home: small }, ...args),
    };

    const node = await startNode({ home: small });
    await node.when(isRun);
    spawnSync("sh", ["-c", `cat /dev/zero > ${join(small, "filler")} 2>/dev/null`]);
    // A script takes a second: whatever still counts as running after three has ended without a word on record.
    await untilTrue("ends cannot be written", async () => {
      const stuck = `SELECT "id" FROM "runs" WHERE "state" = 'running' AND "startedAt" < ${Date.now() - 3_000}`;
      return (await query(onSmall, stuck)).length > 0;
    });
    const told = node.events.length;
    await rm(join(small, "filler"));
    await untilTrue("it goes on", () => node.events.slice(told).filter(isRun).length >= 2);

    node.signal("SIGTERM");
    expect(await node.exited).toMatchObject({ code: 0 });
    const { rows } = await expectWhole(onSmall);
    expect(rows.filter(({ state }) => state === "unknown")).toEqual([]);
  },
);

const isRoot = process.getuid?.() === 0;
/** Root may write anywhere, so the node runs as nobody there. */
const somebody = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const BIN = join(import.meta.dirname, "../../bin/nightshift.js");
const canRunAsSomebody = spawnSync(process.execPath, [BIN, "--version"], somebody).status === 0;

test.skipIf(!canRunAsSomebody)(
  "U1: a home that cannot be written is refused in one line, and nothing is left in it [needs a readable checkout]",
  {
    timeout: 20_000,
  },
  async () => {
    const home = await faultHome();
    await home.jobFiles([{ id: "work" }]);
    if (isRoot) await chown(home.path, 65_534, 65_534);
    await chmod(home.path, 0o500);
    onTestFinished(() => chmod(home.path, 0o700));
    const child = spawn(process.execPath, [BIN, "--home", home.path, "up", "--no-http"], {
      ...somebody,
      env: { PATH: process.env.PATH ?? "", HOME: "/" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
    });
    const code = await new Promise<number | null>((resolve) => {
      child.once("close", resolve);
    });

    expect(code).toBe(2);
    expect(said.trim().split("\n")).toHaveLength(1);
    expect(said).toContain(home.path);
    expect(said).not.toContain("a bug in Nightshift");
    expect(await home.deeds()).toEqual([]);
  },
);

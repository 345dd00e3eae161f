// A real container engine for tests: a dockerd of its own with an image made here, without any network.

import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The image that `startEngine` makes: busybox and nothing else. */
export const TEST_IMAGE = "nightshift-test/busybox:1";

export interface Engine {
  /** What a docker client needs to find it. */
  env: Record<string, string>;
  docker(...args: string[]): Promise<string>;
  /** Ends the daemon with its containers and starts it again, as an upgrade does; resolves when it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Why no engine can be started here; undefined when one can. */
export function whyNoEngine(): string | undefined {
  if (process.getuid?.() !== 0) return "dockerd needs root";
  for (const program of ["dockerd", "docker", "busybox"])
    if (!canFind(program)) return `${program} is not installed`;
  return undefined;
}

function canFind(program: string): boolean {
  try {
    execFileSync("/bin/sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Starts it (under a second) and makes the image. */
export async function startEngine(): Promise<Engine> {
  const folder = join(tmpdir(), `nightshift-engine-${randomBytes(4).toString("hex")}`);
  await mkdir(folder, { mode: 0o700 });
  const socket = `unix://${folder}/docker.sock`;
  let said = "";
  const start = () => {
    const daemon = spawn("dockerd", daemonWords(folder, socket), { stdio: ["ignore", "ignore", "pipe"] });
    daemon.stderr.on("data", (chunk) => {
      said = (said + String(chunk)).slice(-4_000);
    });
    return { daemon, ended: new Promise<void>((resolve) => daemon.once("close", () => resolve())) };
  };
  let running = start();
  const env = { PATH: process.env.PATH ?? "", HOME: folder, DOCKER_HOST: socket };
  const docker = async (...args: string[]) => (await run("docker", args, { env })).stdout.trim();
  const stop = async () => {
    running.daemon.kill("SIGTERM");
    await running.ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilAnswers(docker, running.daemon);
    await makeImage(folder, docker);
    const restart = async () => {
      running.daemon.kill("SIGTERM");
      await running.ended;
      running = start();
      await untilAnswers(docker, running.daemon);
    };
    return { env, docker, restart, stop };
  } catch (error) {
    await stop();
    throw new Error(`dockerd did not start:\n${said}`, { cause: error });
  }
}

function daemonWords(folder: string, socket: string): string[] {
  return [
    ...["-H", socket, "--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
    ...["-p", join(folder, "pid"), "--iptables=false", "--bridge=none"],
  ];
}

async function untilAnswers(docker: Engine["docker"], daemon: { exitCode: number | null }): Promise<void> {
  for (let turn = 0; turn < 300; turn++) {
    const isUp = await docker("version").then(
      () => true,
      () => false,
    );
    if (isUp) return;
    if (daemon.exitCode !== null) throw new Error(`it exited with ${daemon.exitCode}`);
    await sleep(50);
  }
  throw new Error("it does not answer");
}

async function makeImage(folder: string, docker: Engine["docker"]): Promise<void> {
  const root = join(folder, "root");
  for (const name of ["bin", "tmp", "etc", "root", "proc", "var/tmp", "run"])
    await mkdir(join(root, name), { recursive: true });
  await writeFile(
    join(root, "etc/passwd"),
    "root:x:0:0:root:/root:/bin/sh\nguest:x:1000:1000::/tmp:/bin/sh\n",
  );
  const busybox = (await run("/bin/sh", ["-c", "command -v busybox"])).stdout.trim();
  await copyFile(busybox, join(root, "bin/busybox"));
  const applets = (await run(busybox, ["--list"])).stdout.trim().split("\n");
  for (const name of applets)
    if (name !== "busybox" && !existsSync(join(root, "bin", name)))
      await symlink("busybox", join(root, "bin", name));
  await run("tar", ["-C", root, "-cf", join(folder, "root.tar"), "."]);
  await docker("import", join(folder, "root.tar"), TEST_IMAGE);
}

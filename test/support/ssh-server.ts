// A real OpenSSH server for tests, on loopback, with a plain user of its own.

import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { connect as connectTo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const SSHD = "/usr/sbin/sshd";

/** Why no server can be started here; undefined when one can. */
export function whyNoServer(): string | undefined {
  if (process.getuid?.() !== 0) return "sshd with a user of its own needs root";
  for (const program of [SSHD, "ssh", "ssh-keygen", "useradd"])
    try {
      execFileSync("/bin/sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore" });
    } catch {
      return `${program} is not installed`;
    }
  return undefined;
}

export interface SshServer {
  user: string;
  port: number;
  identityFile: string;
  knownHosts: string;
  /** Kills the server and every connection, at once. */
  cut(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it. */
export async function startServer(): Promise<SshServer> {
  const tag = randomBytes(3).toString("hex");
  const folder = join(tmpdir(), `nightshift-sshd-${tag}`);
  const user = `nightshift-${tag}`;
  await mkdir(folder, { mode: 0o755 });
  await mkdir("/run/sshd", { recursive: true });
  await run("useradd", ["-M", "-d", folder, "-s", "/bin/sh", user]);
  // A locked account is refused; `*` means no password can match.
  await run("usermod", ["-p", "*", user]);
  for (const name of ["host", "id"])
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)]);
  await copyFile(join(folder, "id.pub"), join(folder, "authorized"));
  await chmod(join(folder, "authorized"), 0o644);
  const port = await freePort();
  const lines = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${folder}/host`,
    `PidFile ${folder}/pid`,
    `AuthorizedKeysFile ${folder}/authorized`,
    "PasswordAuthentication no",
    "UsePAM no",
    "StrictModes no",
    "MaxSessions 100",
    "MaxStartups 100",
  ];
  await writeFile(join(folder, "config"), `${lines.join("\n")}\n`);
  const server = spawn(SSHD, ["-D", "-f", join(folder, "config"), "-E", join(folder, "log")], {
    stdio: "ignore",
    detached: true,
  });
  const ended = new Promise<void>((resolve) => server.once("close", () => resolve()));
  await untilListens(port);
  const cut = async () => {
    // Its children, one for each connection, first: they would outlive it.
    await run("pkill", ["-KILL", "-u", user, "sshd"]).catch(() => {});
    await run("pkill", ["-KILL", "-P", String(server.pid)]).catch(() => {});
    server.kill("SIGKILL");
    await ended;
  };
  return {
    user,
    port,
    identityFile: join(folder, "id"),
    knownHosts: join(folder, "known"),
    cut,
    async stop() {
      await cut();
      for (let turn = 0; turn < 100; turn++) {
        if (
          await run("userdel", [user]).then(
            () => true,
            () => false,
          )
        )
          break;
        await sleep(50);
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilListens(port: number): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connectTo(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.once("close", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (isUp) return;
    await sleep(20);
  }
  throw new Error("sshd does not listen");
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

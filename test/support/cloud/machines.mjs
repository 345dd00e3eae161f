// What stands for a cloud's machines in tests: each sandbox is a folder and the processes that run in it, on this machine.
// The servers beside this file put the services' protocols in front. They run as programs of their own.
//
// I1. A process of a sandbox carries its id in the environment: it is found by it and ended with the sandbox, whatever it
//     did. Nothing of the server's own environment reaches it.
// I2. Where namespaces may be made a sandbox sees only its own processes and a /tmp of its own.

import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

const MARK = "NIGHTSHIFT_TEST_SANDBOX";

export class Machines {
  #folder;
  #count = 0;
  /** By id. @type {Map<string, Machine>} */
  all = new Map();

  constructor(folder) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** @param {Partial<Machine>} facts @param {string} [from] a folder to begin with */
  create(facts, from) {
    this.#count += 1;
    const id = facts.id ?? `machine-${this.#count}`;
    const root = join(this.#folder, id);
    if (from) cpSync(from, root, { recursive: true, verbatimSymlinks: true });
    for (const name of ["home", "tmp"]) mkdirSync(join(root, name), { recursive: true });
    const machine = { labels: {}, ...facts, id, root, home: join(root, "home") };
    this.all.set(id, machine);
    this.start(machine);
    return machine;
  }

  /** A machine that was halted runs again, with its files. */
  start(machine) {
    machine.state = "running";
    mkdirSync(join(machine.root, "tmp"), { recursive: true });
    if (!HAS_NAMESPACES) return;
    const walls = ["--pid", "--mount", "--fork", "--kill-child", "--mount-proc"];
    // It reaps what ends without a parent, as a machine's first process does.
    const init = 'mount --bind "$1" /tmp && echo ready && while :; do sleep 3600 & wait $!; done';
    machine.init = spawn("unshare", [...walls, "sh", "-c", init, "sh", join(machine.root, "tmp")], {
      env: this.#envOf(machine),
      stdio: ["ignore", "pipe", "inherit"],
    });
    machine.ready = new Promise((resolve) => machine.init.stdout.once("data", resolve));
  }

  #envOf(machine) {
    const tmp = HAS_NAMESPACES ? "/tmp" : join(machine.root, "tmp");
    return { PATH: process.env.PATH, HOME: machine.home, TMPDIR: tmp, [MARK]: markOf(machine.id) };
  }

  /** Those that still are something. */
  living() {
    return [...this.all.values()].filter(({ state }) => state !== "removed");
  }

  /** A program inside, with pipes. */
  async spawn(machine, argv, options = {}) {
    await machine.ready;
    const into = HAS_NAMESPACES
      ? ["nsenter", `--target=${firstChildOf(machine.init.pid)}`, ...ENTER, "--"]
      : [];
    const [command, ...args] = [...into, ...argv];
    const child = spawn(command, args, {
      cwd: machine.cwd ?? machine.home,
      env: { ...this.#envOf(machine), ...options.env },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.on("error", () => {});
    // Node throws away what an ended child wrote and nobody has begun to read.
    const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => stream.pipe(new PassThrough()));
    return { child, stdin: child.stdin, stdout, stderr, exit: exitOf(child) };
  }

  /** Where a sandbox's own path lies on this machine; a link at its end is followed. */
  #outside(machine, path) {
    const outside = HAS_NAMESPACES && path.startsWith("/tmp/") ? join(machine.root, path) : path;
    try {
      return this.#outside(machine, readlinkSync(outside));
    } catch {
      return outside;
    }
  }

  readFile = (machine, path) => readFileSync(this.#outside(machine, path));

  writeFile(machine, path, bytes) {
    const outside = this.#outside(machine, path);
    mkdirSync(dirname(outside), { recursive: true });
    writeFileSync(outside, bytes);
  }

  /** Its processes end, its files stay. */
  async halt(machine) {
    machine.init?.kill("SIGKILL");
    for (let turn = 0; turn < 100; turn++) {
      const pids = processesOf(machine.id);
      if (pids.length === 0) return;
      for (const pid of pids)
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // It went by itself.
        }
      await sleep(10);
    }
  }

  /** What a machine's memory is not: only its files. Returns a folder that `create` can begin with. */
  snapshot(machine, name) {
    const folder = join(this.#folder, name);
    cpSync(machine.root, folder, { recursive: true, verbatimSymlinks: true });
    rmSync(join(folder, "tmp"), { recursive: true, force: true });
    return folder;
  }

  async remove(machine) {
    machine.state = "removed";
    await machine.ready;
    await this.halt(machine);
    rmSync(machine.root, { recursive: true, force: true });
  }

  async close() {
    for (const machine of this.living()) await this.remove(machine);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const ENTER = ["--pid", "--mount", "--wd=."];
const HAS_NAMESPACES =
  spawnSync("unshare", ["--pid", "--mount", "--fork", "--mount-proc", "true"], { stdio: "ignore" }).status ===
  0;

/** The first process of the sandbox, by this machine's numbering. */
const firstChildOf = (pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0];

/** Several servers may run at once, each with ids of its own. */
const markOf = (id) => `${process.pid}/${id}`;

function processesOf(id) {
  const own = Buffer.from(`${MARK}=${markOf(id)}\0`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`).includes(own) && !isZombie(pid);
      } catch {
        return false;
      }
    })
    .map(Number);
}

function isZombie(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
}

/** How a child ended, as shells say. */
const exitOf = (child) =>
  new Promise((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code, signal) => resolve(code ?? 128 + (SIGNALS[signal] ?? 9)));
  });

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGPIPE: 13, SIGTERM: 15 };

/**
 * Serves the test that started this program: it says where it listens, answers `state`, and does what it is told.
 * @param {{machines: Machines, port: number, commands: Record<string, (message: any) => unknown>, close(): Promise<void>}} server
 */
export function serveTest({ machines, port, commands, close }) {
  const all = {
    state: () => machines.living().map(({ id, name, labels, state }) => ({ id, name, labels, state })),
    /** The service ends it, of its own accord. */
    vanish: async () => {
      for (const machine of machines.living()) if (machine.state === "running") await commands.end(machine);
    },
    /** Away with it, whatever became of it. */
    forget: ({ id }) => machines.remove(machines.all.get(id)),
    label: ({ id, labels }) => {
      machines.all.get(id).labels = labels;
    },
    stop: async () => {
      await close();
      await machines.close();
    },
    ...commands,
  };
  process.on("message", async ({ ticket, command, ...message }) => {
    try {
      process.send({ ticket, answer: await all[command](message) });
    } catch (error) {
      process.send({ ticket, error: String(error?.stack ?? error) });
    }
    if (command === "stop") process.disconnect();
  });
  process.on("disconnect", async () => {
    await machines.close();
    process.exit(0);
  });
  process.send({ port });
}

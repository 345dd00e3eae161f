// Python functions in warm workers: the real python3, real processes, real kills.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { PythonWorkers } from "../../../src/app/executors/python-workers.ts";
import { listProcesses, readProcess } from "../../../src/execute/process-table.ts";
import { cliHome } from "../../cli/run-cli.ts";
import { leftOf, makeContext, newId, printed, until } from "../../execute/room.ts";
import { manualClock } from "../../support/clock.ts";
import { hasPython } from "../../support/python.ts";
import { executorHome } from "./home.ts";

const WORK = `
import os, subprocess, sys, time
from nightshift import Unavailable, call, emit, executor, touch

@executor
def pid(): return os.getpid()

@executor
def place(name: str = ""):
    os.environ["LEFT"] = "behind"
    return {"cwd": os.getcwd(), "env": os.environ.get("GIVEN"), "tz": time.tzname[0],
            "run": os.environ["NIGHTSHIFT_RUN_ID"], "left": os.environ.get("BEFORE"), "call": call()}

@executor("slow")
def wait(seconds: float = 60, file: str = ""):
    try:
        print("begun", flush=True)
        time.sleep(seconds)
    finally:
        if file: open(file, "w").write("tidied")

@executor
def fails(how: str):
    print("before")
    if how == "raise": raise ValueError("no route")
    if how == "unavailable": raise Unavailable("busy")
    if how == "exit": sys.exit(3)
    if how == "die": os._exit(3)
    if how == "zero": os._exit(0)
    if how == "kill": os.kill(os.getpid(), 9)
    if how == "set": return {1, 2}
    if how == "nan": return float("nan")

@executor
async def later(n: int): return n + 1

@executor
def nothing(): pass

@executor
def noisy():
    os.write(1, b'{"id": 1, "result": "forged"}\\n')
    subprocess.run(["sh", "-c", "echo from a program"])
    print("one", "line")
    print("to stderr", file=sys.stderr)
    touch("counting"); emit("progress", done=1)
    return "done"

@executor
def leaves():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    return child.pid
`;

const workHome = () => executorHome({ files: { "executors/work.py": WORK } });

describe.skipIf(!hasPython())("a Python function", () => {
  test("seed 003 §3.3: its own file is registered and runs as it is written there", async () => {
    const home = await executorHome({
      files: {
        "executors/inventory_executor.py": `
def check_inventory(host: str, user: str) -> dict:
    """
    检查仓库服务器磁盘使用率

    hermes:timeout 60
    hermes:retry 2
    hermes:resources {cpu: 1, memory_mb: 64}
    """
    return {"host": host, "usage_percent": 72, "status": "ok"}

# 注册为Executor
from hermes import register_executor
register_executor("inventory_check", check_inventory)
register_executor("own_check", check_inventory, user="monitor")
`,
      },
    });

    expect(await home.executor("inventory_check")).toMatchObject({
      kind: "python",
      description: "检查仓库服务器磁盘使用率",
      contract: {
        timeoutMs: 60_000,
        retry: { max: 2 },
        resources: { cpu: 1, memoryMb: 64 },
        input: { required: ["host", "user"], properties: { host: { type: "string" } } },
      },
    });
    expect(
      await home.run("inventory_check", { host: "warehouse-server.local", user: "monitor" }),
    ).toMatchObject({
      state: "succeeded",
      outcome: { result: { host: "warehouse-server.local", usage_percent: 72, status: "ok" } },
    });
    expect((await home.executor("own_check")).contract.input).toMatchObject({ required: ["host"] });
    expect(await home.call("own_check", { host: "h" })).toMatchObject({ result: { host: "h" } });
    expect(await home.call("own_check", { host: "h", user: "x" })).toMatchObject({
      error: { code: "params" },
    });
  });

  test("a second call is served by the same warm process; two at once have one each", async () => {
    const home = await workHome();

    const first = await home.call("pid");
    const second = await home.call("pid");
    const slow = makeContext();
    const waiting = home.call("slow", { seconds: 60 }, { ctx: slow });
    await slow.next(printed("begun"));
    const third = await home.call("pid");
    slow.abort({ kind: "cancel", by: "ada" });

    expect(first).toMatchObject({ state: "succeeded" });
    expect(second).toEqual(first);
    expect(third.state === "succeeded" && third.result).not.toEqual(
      first.state === "succeeded" && first.result,
    );
    expect(await waiting).toEqual({ state: "cancelled", by: "ada" });
  });

  test("S2: each call has its own variables, zone and folder, and leaves none of them to the next", async () => {
    const home = await workHome();
    const ctx = makeContext();

    const first = await home.call("place", {}, { ctx, env: { GIVEN: "${HOME}" }, timezone: "Asia/Tokyo" });
    const second = await home.call("place", {}, { workdir: home.path });

    expect(first).toMatchObject({
      result: {
        ...{ cwd: join(home.path, "workspaces", ctx.run.id), env: "${HOME}", tz: "JST", run: ctx.run.id },
        call: { run_id: ctx.run.id, attempt: 1, idempotency_key: ctx.run.idempotencyKey },
      },
    });
    expect(second).toMatchObject({ result: { cwd: home.path, env: null, tz: "UTC" } });
  });

  test("what it prints is its live log, and can never be taken for its answer", async () => {
    const home = await workHome();
    const ctx = makeContext();

    const outcome = await home.call("noisy", {}, { ctx });
    await ctx.next(({ kind, data }) => kind === "stderr" && String(data.text).includes("from a program"));

    expect(outcome).toMatchObject({ state: "succeeded", output: "done", result: "done" });
    const said = (stream: string) =>
      ctx.events.flatMap(({ kind, data }) => (kind === stream ? [String(data.text)] : [])).join("");
    expect(said("stdout")).toBe("one line\n");
    expect(said("stderr")).toContain("forged");
    expect(said("stderr")).toContain("to stderr\n");
    expect(ctx.events).toContainEqual({ kind: "progress", data: { done: 1 } });
    expect(ctx.touched).toContain("counting");
  });

  test("however it ends, the attempt says so, what it printed is kept, and the next call finds a worker", async () => {
    const home = await workHome();
    const ends: Record<string, object> = {
      raise: {
        code: "exception",
        message: "ValueError: no route",
        stderrTail: expect.stringContaining("in fails"),
      },
      unavailable: { code: "unavailable", message: "Unavailable: busy" },
      exit: { code: "exception", message: "SystemExit: 3" },
      die: { code: "exit", message: "exited 3", exitCode: 3 },
      zero: { code: "exit", exitCode: 1 },
      kill: { code: "signal", message: "ended by SIGKILL", signal: "SIGKILL" },
      set: { code: "result" },
      nan: { code: "result" },
    };

    for (const [how, error] of Object.entries(ends)) {
      const ctx = makeContext();
      expect(await home.call("fails", { how }, { ctx })).toMatchObject({ state: "failed", error });
      expect(ctx.events).toContainEqual({ kind: "stdout", data: { text: "before\n" } });
    }
    expect(await home.call("later", { n: 1 })).toMatchObject({ result: 2 });
    // `None` is nothing to say.
    expect(await home.call("nothing")).toEqual({
      state: "succeeded",
      output: "",
      isSilent: true,
      result: null,
    });
  });

  test("a cancel ends it: its finally runs, and nothing of it is left", async () => {
    const home = await workHome();
    const ctx = makeContext();
    const file = join(home.path, "tidied");
    const outcome = home.call("slow", { file }, { ctx });
    await ctx.next(printed("begun"));

    ctx.abort({ kind: "cancel", by: "ada" });

    expect(await outcome).toEqual({ state: "cancelled", by: "ada" });
    expect(await readFile(file, "utf8")).toBe("tidied");
    expect(leftOf(ctx)).toEqual([]);
  });

  test("what it started and left is ended with its call", async () => {
    const home = await workHome();

    const outcome = await home.call("leaves");

    const pid = outcome.state === "succeeded" ? Number(outcome.result) : 0;
    expect(pid).toBeGreaterThan(1);
    await until(() => readProcess(pid)?.isZombie ?? true, "the program that was left is gone");
  });

  test("L3: a call that may not begin never reaches Python", async () => {
    const home = await workHome();
    const file = join(home.path, "tidied");

    const outcome = await home.call("slow", { seconds: 0, file }, { ctx: makeContext(() => false) });

    expect(outcome).toEqual({ state: "cancelled", by: "beforeStart" });
    await expect(readFile(file)).rejects.toThrow();
  });

  test("a time limit of its registration ends a task, told as that", async () => {
    const home = await executorHome({
      files: {
        "executors/work.py": WORK,
        "config.yaml": "executors: {brief: {extends: slow, timeout: 1}}\n",
      },
    });

    expect(await home.run("brief")).toMatchObject({
      state: "timedOut",
      outcome: { limit: "total", limitMs: 1_000 },
    });
  });

  test("a changed file, and a changed module that it imports, show without a restart; what runs ends on the old code", async () => {
    const home = await executorHome({
      files: {
        "executors/a.py":
          "from nightshift import executor\nfrom shared import say\n@executor\ndef a(): return say()\n",
        "executors/shared.py":
          "import time\ndef say():\n    print('begun')\n    time.sleep(0.5)\n    return 'old'\n",
      },
    });
    const ctx = makeContext();
    const running = home.call("a", {}, { ctx });
    await ctx.next(printed("begun"));

    await home.write("executors/shared.py", "def say(): return 'new, and longer'\n");
    home.later();

    expect(await home.call("a")).toMatchObject({ result: "new, and longer" });
    expect(await running).toMatchObject({ result: "old" });
  });

  test("module: and function: of the config find it in executors/ and on PYTHONPATH", async () => {
    const home = await executorHome({
      config: `executors:
  cv_detect: {module: my_cv_module, function: detect_objects, timeout: 15, resources: {gpu: true, memory_mb: 1024}, metadata: {version: v2.1.0}}
  far: {module: parts.deep, function: answer}
  none: {module: nowhere, function: f}
  half: {module: my_cv_module}
`,
      files: {
        "executors/my_cv_module.py":
          "def detect_objects(image_path: str, limit: int = 3):\n    '''Finds things.\n    hermes:retry 1\n    '''\n    return [image_path, limit]\n",
        "lib/parts/__init__.py": "",
        "lib/parts/deep.py": "def answer(): return 42\n",
      },
      env: { PYTHONPATH: "" },
    });
    const onPath = await executorHome({
      config: "executors: {far: {module: parts.deep, function: answer}}\n",
      env: { PYTHONPATH: join(home.path, "lib") },
    });

    expect(await home.executor("cv_detect")).toMatchObject({
      version: "v2.1.0",
      description: "Finds things.",
      contract: { timeoutMs: 15_000, retry: { max: 1 }, resources: { gpu: 1, gpuMemoryMb: 1_024 } },
    });
    expect(await home.call("cv_detect", { image_path: "/tmp/a.jpg" })).toMatchObject({
      result: ["/tmp/a.jpg", 3],
    });
    expect(await onPath.call("far")).toMatchObject({ result: 42 });
    expect(await home.problems()).toEqual([
      expect.stringContaining("config.yaml: executors.far: there is no module parts.deep"),
      expect.stringContaining("config.yaml: executors.none: there is no module nowhere"),
      expect.stringContaining(
        "config.yaml: executors.half: my_cv_module: a Python module needs its function",
      ),
    ]);
  });

  test("idle workers end after a while", async () => {
    const home = await workHome();
    const clock = manualClock(0);
    const { commands, place, module } = await workerParts(home);
    const workers = new PythonWorkers({
      place: () => place,
      commands: () => ({ ...commands, clock }),
      idleMs: 60_000,
    });
    onTestFinished(() => workers.close());

    const taken = await workers.take(module, "1");
    if (typeof taken === "string") throw new Error(taken);
    taken.worker.release();
    taken.giveBack();
    expect(workers.size).toBe(1);
    await clock.advance(60_000);
    // Ending waits by the same clock that stands still.
    await until(() => {
      void clock.advance(10);
      return workers.size === 0;
    }, "the idle worker is gone");
  });
});

async function workerParts(home: Awaited<ReturnType<typeof workHome>>) {
  const { scriptDeps } = await import("../../../src/app/script-work.ts");
  const { pythonPlace } = await import("../../../src/app/executors/scan-python.ts");
  const { executorsFolder } = home.context.home.paths;
  return {
    commands: scriptDeps(home.context, undefined),
    place: pythonPlace(home.context),
    module: { module: "work", path: join(executorsFolder, "work.py"), folders: [executorsFolder] },
  };
}

describe.skipIf(!hasPython())("a node that is killed", () => {
  test("kill -9: its worker, the function in it and what that started are gone by themselves", async () => {
    const home = await cliHome();
    const mark = newId();
    await home.write(
      "executors/work.py",
      `import subprocess\nfrom nightshift import executor\n@executor\ndef hang():\n    subprocess.run(["sh", "-c", "echo up ${mark}; sleep 600 # ${mark}"])\n`,
    );
    await home.write("job.yaml", "id: hang\nrun: {task: {executor: hang}}\ntimeout: {total: 0}\n");
    await home.json("job", "apply", "-f", join(home.path, "job.yaml"));
    const node = home.start(["up", "--port", "0", "--json"]);
    await node.said(/"ready"/);
    await home.json("job", "run", "hang");
    const ours = () => listProcesses().filter(({ pid }) => isOurs(pid, home.path, mark));
    await until(() => ours().length >= 2, "the worker and its program run");

    node.child.kill("SIGKILL");

    await until(() => ours().length === 0, "nothing of the worker is left");
    await node.ended;
  });
});

function isOurs(pid: number, home: string, mark: string): boolean {
  const entry = readProcess(pid);
  if (!entry || entry.isZombie) return false;
  const line = commandLine(pid);
  return line.includes(mark) || (line.includes("python-worker.py") && line.includes(home));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

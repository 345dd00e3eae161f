// Scripts in a container, on another machine and behind bubblewrap: each as on this machine, each against the real thing.

import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeScopeLocks } from "../../src/execute/environments/scope-locks.ts";
import type { ScriptEnd, ScriptWork } from "../../src/execute/prepare-script.ts";
import { runScriptInside, type ScriptEnvironment } from "../../src/execute/run-script-inside.ts";
import type { EnvironmentSpec } from "../../src/records/environment-spec.ts";
import type { Outcome } from "../../src/records/outcome.ts";
import { hasBubblewrap } from "../contract/environment/local-harness.ts";
import { type Engine, startEngine, TEST_IMAGE, whyNoEngine } from "../support/docker-engine.ts";
import { type SshServer, startServer, whyNoServer } from "../support/ssh-server.ts";
import { makeContext, openRoom, printed, type Room, type TestContext, workOf } from "./room.ts";

interface Kind {
  name: string;
  whyNot: string | undefined;
  spec(): EnvironmentSpec;
}

let engine: Engine | undefined;
let server: SshServer | undefined;

beforeAll(async () => {
  if (!whyNoEngine()) engine = await startEngine();
  if (!whyNoServer()) server = await startServer();
});
afterAll(async () => {
  await engine?.stop();
  await server?.stop();
});

const DOCKER = { backend: "docker", image: TEST_IMAGE, network: "none" } as const;

const kinds: Kind[] = [
  { name: "docker", whyNot: whyNoEngine(), spec: () => DOCKER },
  {
    name: "ssh",
    whyNot: whyNoServer(),
    spec: () => ({
      backend: "ssh",
      host: "127.0.0.1",
      user: server?.user ?? "",
      port: server?.port ?? 0,
      identityFile: server?.identityFile ?? "",
      knownHosts: server?.knownHosts ?? "",
    }),
  },
  {
    name: "bubblewrap",
    whyNot: hasBubblewrap() ? undefined : "bubblewrap cannot be used here",
    spec: () => ({ backend: "local", sandbox: "bubblewrap" }),
  },
];

interface Inside {
  room: Room;
  place: ScriptEnvironment;
  run(script: string, options?: { work?: Partial<ScriptWork>; context?: TestContext }): Promise<Outcome>;
}

async function openInside(spec: EnvironmentSpec, isRepeatable = false): Promise<Inside> {
  const room = await openRoom({ graceMs: 300 });
  room.deps.nodeEnv = { ...process.env, ...engine?.env, OPENAI_API_KEY: "sk-secret" };
  const place = { spec, isRepeatable, tempFolder: join(room.deps.workspacesFolder, "..", "t") };
  return {
    room,
    place,
    run: (script, { work = {}, context = makeContext() } = {}) =>
      runScriptInside(room.deps, workOf(script, work), { ctx: context, place }),
  };
}

const containers = async () =>
  ((await engine?.docker("ps", "--all", "--quiet")) ?? "").split("\n").filter(Boolean);

describe.each(kinds)("a script in $name", ({ name, whyNot, spec }) => {
  test.skipIf(whyNot)(
    "exit 0: stdout is the output, byte for byte, and stderr is not part of it",
    async () => {
      const inside = await openInside(spec());
      const script = await inside.room.script("talk.sh", "printf '  two\\n\\nlines \\n'; echo noise >&2");
      const context = makeContext();

      expect(await inside.run(script, { context })).toEqual({
        state: "succeeded",
        output: "  two\n\nlines \n",
        isSilent: false,
      });
      expect(context.touched).toEqual(expect.arrayContaining(["stdout", "stderr"]));
      expect(context.sha256).toMatch(/^[0-9a-f]{64}$/);
      expect(existsSync(inside.place.tempFolder)).toBe(false);
    },
  );

  test.skipIf(whyNot)(
    "exit ≠ 0 fails with the code, the last line of stderr and the partial output",
    async () => {
      const inside = await openInside(spec());
      const script = await inside.room.script(
        "fail.sh",
        "echo partial; echo first >&2; echo disk full >&2; exit 3",
      );

      expect(await inside.run(script)).toEqual({
        state: "failed",
        output: "partial\n",
        error: {
          code: "exit",
          message: "exited 3: disk full",
          exitCode: 3,
          stderrTail: "first\ndisk full\n",
        },
      });
    },
  );

  test.skipIf(whyNot)(
    "S2: it gets its arguments verbatim, its job's variables and zone, and no key of the node",
    async () => {
      const inside = await openInside(spec());
      const script = await inside.room.script(
        "say.sh",
        'printf "[%s]" "$0" "$@" "$GIVEN" "$TZ" "$NIGHTSHIFT_ATTEMPT" "${OPENAI_API_KEY-none}"; cat',
      );
      const args = ["a b", "it's", '"$HOME"', "two\nlines", "夜", ""];

      const outcome = await inside.run(script, { work: { args, env: { GIVEN: "by 'the' job" } } });

      const said = outcome.state === "succeeded" ? outcome.output : "";
      expect(said).toContain(
        "/say.sh][a b][it's][\"$HOME\"][two\nlines][夜][][by 'the' job][Europe/Berlin][1][none]",
      );
    },
  );

  test.skipIf(whyNot)(
    "cancelled: what it printed is kept, and it may tidy up before it is killed",
    async () => {
      const inside = await openInside(spec());
      const script = await inside.room.script(
        "long.sh",
        "trap 'echo tidied; exit' TERM; echo before; sleep 71999 & wait; echo never",
      );
      const context = makeContext();
      const running = inside.run(script, { context });
      await context.next(printed("before"));
      context.abort({ kind: "totalTimeout", limitMs: 5, lastActivity: "stdout", lastActivityAt: 1 });

      expect(await running).toMatchObject({
        state: "timedOut",
        limit: "total",
        // bubblewrap itself goes at once, and its namespace with it.
        output: name === "bubblewrap" ? expect.stringMatching(/^before\n/) : "before\ntidied\n",
      });
      expect(await containers()).toEqual([]);
    },
  );

  test.skipIf(whyNot)(
    "its own exit 127 is its exit; an interpreter that is not there could not be started",
    async () => {
      const inside = await openInside(spec());
      const own = await inside.room.script("own.sh", "exit 127");
      const foreign = await inside.room.script("foreign", "#!/usr/bin/env no-such-interpreter\n");

      expect(await inside.run(own)).toMatchObject({ error: { code: "exit", exitCode: 127 } });
      expect(await inside.run(foreign)).toMatchObject({
        state: "failed",
        error: { code: "spawn", message: expect.stringContaining("there is no no-such-interpreter in ") },
      });
    },
  );

  test.skipIf(whyNot)(
    "a command's result comes out of $NIGHTSHIFT_OUTPUT, and its values are not code",
    async () => {
      const inside = await openInside(spec());
      const ends: ScriptEnd[] = [];
      const work = {
        command: 'echo said; printf %s "$NIGHTSHIFT_VALUE_1" > "$NIGHTSHIFT_OUTPUT"',
        literalEnv: { NIGHTSHIFT_VALUE_1: "$(id) ${HOME}" },
        onEnd: (end: ScriptEnd) => void ends.push(end),
      };

      expect(await inside.run("say", { work })).toMatchObject({ state: "succeeded", output: "said\n" });
      expect(ends).toMatchObject([{ exitCode: 0, stdout: "said\n", file: "$(id) ${HOME}" }]);
    },
  );

  test.skipIf(whyNot)(
    "W7: what set it off is in the file that a variable names, inside the place",
    async () => {
      const inside = await openInside(spec());
      const script = await inside.room.script("who.sh", 'cat "$NIGHTSHIFT_EVENT_FILE"');

      expect(await inside.run(script, { work: { event: '{"from": "夜"}' } })).toMatchObject({
        state: "succeeded",
        output: '{"from": "夜"}',
      });
    },
  );

  test.skipIf(whyNot)("a secret of the job that it prints is hidden in output and live log", async () => {
    const inside = await openInside(spec());
    const script = await inside.room.script("leak.sh", 'echo "$API_TOKEN"; exit 1');
    const context = makeContext();

    const outcome = await inside.run(script, { work: { env: { API_TOKEN: "hunter2hunter2" } }, context });

    expect(JSON.stringify([outcome, context.events])).not.toContain("hunter2hunter2");
  });
});

test.skipIf(whyNoServer())(
  "a workdir of this machine is brought to another one, and what the script made comes back",
  async () => {
    const inside = await openInside(kinds[1]?.spec() ?? DOCKER);
    const workdir = join(inside.room.deps.scriptsFolder, "..", "given");
    await mkdir(workdir);
    await writeFile(join(workdir, "in"), "from here");
    await writeFile(join(workdir, ".env"), "SECRET=1");
    const script = await inside.room.script(
      "copy.sh",
      "cat in; ls -A | grep -v in; echo made >out; rm in; exit 3",
    );

    expect(await inside.run(script, { work: { workdir } })).toMatchObject({
      state: "failed",
      output: "from here",
      error: { exitCode: 3 },
    });
    expect(readdirSync(workdir).sort()).toEqual([".env", "out"]);
    expect(await readFile(join(workdir, "out"), "utf8")).toBe("made\n");
  },
);

test.skipIf(whyNoServer())(
  "law 4: a connection that is cut under a script leaves it unknown, and blocks the next before it begins",
  async () => {
    const lost = await startServer();
    try {
      const { user, port, identityFile, knownHosts } = lost;
      const inside = await openInside({
        backend: "ssh",
        host: "127.0.0.1",
        user,
        port,
        identityFile,
        knownHosts,
      });
      const script = await inside.room.script("long.sh", "echo before; sleep 60");
      const context = makeContext();
      const running = inside.run(script, { context });
      await context.next(printed("before"));
      await lost.cut();
      expect(await running).toMatchObject({ state: "unknown", output: "before\n" });

      expect(await inside.run(script)).toMatchObject({ state: "failed", error: { code: "preflight" } });
    } finally {
      await lost.stop();
    }
  },
);

test("W6: two runs that share an environment have it one after the other", async () => {
  const inside = await openInside({ backend: "local", scope: "shared" });
  Object.assign(inside.place, { scopeKey: "k", locks: makeScopeLocks() });
  const workdir = join(inside.room.deps.scriptsFolder, "..", "given");
  await mkdir(workdir);
  const script = await inside.room.script(
    "alone.sh",
    'mkdir busy || exit 9; n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done; rmdir busy; echo "$NIGHTSHIFT_RUN_ID"',
  );
  const [one, other] = [makeContext(), makeContext()];

  const outcomes = await Promise.all(
    [one, other].map((context) => inside.run(script, { work: { workdir }, context })),
  );

  expect(outcomes).toMatchObject([{ output: `${one.run.id}\n` }, { output: `${other.run.id}\n` }]);
});

describe.skipIf(whyNoEngine())("a script's container", () => {
  test("L3: `running` is committed before the container is made; when it is refused none is made", async () => {
    const inside = await openInside(DOCKER);
    const script = await inside.room.script("hi.sh", "echo hi");
    let atBegin: string[] = ["not asked"];
    const context = makeContext(async () => {
      atBegin = await containers();
      return false;
    });

    expect(await inside.run(script, { context })).toEqual({ state: "cancelled", by: "beforeStart" });
    expect(atBegin).toEqual([]);
    expect(await containers()).toEqual([]);
  });

  test("law 8: an image that may not be fetched blocks the run before anything began", async () => {
    const inside = await openInside({ ...DOCKER, image: "nightshift-test/absent:1", pull: "never" });
    const script = await inside.room.script("hi.sh", "echo hi");
    let hasBegun = false;
    const context = makeContext(() => {
      hasBegun = true;
      return true;
    });

    expect(await inside.run(script, { context })).toMatchObject({
      state: "failed",
      error: { code: "preflight", message: expect.stringContaining("docker pull nightshift-test/absent:1") },
    });
    expect(hasBegun).toBe(false);
  });

  test("the run's folder is where it works; what it leaves there and the file brought in are gone with it", async () => {
    const inside = await openInside(DOCKER);
    const workdir = join(inside.room.deps.scriptsFolder, "..", "given");
    await mkdir(workdir);
    await writeFile(join(workdir, "in"), "from outside");
    const script = await inside.room.script("copy.sh", "cat in; echo made >out");

    expect(await inside.run(script, { work: { workdir } })).toMatchObject({ output: "from outside" });
    expect(await readFile(join(workdir, "out"), "utf8")).toBe("made\n");
    expect(readdirSync(workdir).sort()).toEqual(["in", "out"]);
    expect(await containers()).toEqual([]);
  });

  test("law 4: a container that dies under an external script leaves it unknown, with what it said", async () => {
    const inside = await openInside(DOCKER);
    const script = await inside.room.script("long.sh", "echo before; sleep 60");
    const context = makeContext();
    const running = inside.run(script, { context });
    await context.next(printed("before"));
    await engine!.docker("kill", ...(await containers()));

    expect(await running).toMatchObject({
      state: "unknown",
      why: expect.stringContaining("is gone"),
      output: "before\n",
    });
    expect(await containers()).toEqual([]);
  });

  test("hermes#36266: where repeating is declared safe the script runs once more, in a new container", async () => {
    const inside = await openInside(DOCKER, true);
    const workdir = join(inside.room.deps.scriptsFolder, "..", "given");
    await mkdir(workdir);
    const script = await inside.room.script(
      "twice.sh",
      "[ -e first ] && exec echo second; >first; echo up; sleep 60",
    );
    const context = makeContext();
    const running = inside.run(script, { context, work: { workdir } });
    await context.next(printed("up"));
    await engine!.docker("kill", ...(await containers()));

    expect(await running).toMatchObject({ state: "succeeded", output: "second\n" });
    expect(context.events.map(({ kind }) => kind)).toContain("environment-recreated");
    expect(await containers()).toEqual([]);
  });

  test("L13: somebody in a hurry does not wait for the script's whole grace", async () => {
    const inside = await openInside(DOCKER);
    inside.room.deps.graceMs = 600_000;
    const script = await inside.room.script("deaf.sh", "trap '' TERM; echo up; while :; do sleep 1; done");
    const context = makeContext();
    const running = inside.run(script, { context });
    await context.next(printed("up"));
    context.abort({ kind: "nodeStopped", graceMs: 100 });

    expect(await running).toMatchObject({ state: "cancelled", by: "nodeStopped", output: "up\n" });
    expect(await containers()).toEqual([]);
  });
});

// Tasks of jobs: checked when the job is made, run by what their executor promises, told as it deserves.

import { describe, expect, test } from "vitest";
import { addJob } from "../../../src/app/jobs.ts";
import { executorHome } from "./home.ts";

describe("a job with a task", () => {
  test("law 8: an executor that there is not, and params that do not fit, are refused when the job is made", async () => {
    const home = await executorHome({
      files: { "executors/check.sh": "#!/bin/sh\n# param host string\n" },
    });
    const add = (executor: string, params: Record<string, unknown>) =>
      addJob(home.context, { id: "a", run: { task: { executor, params } } });

    await expect(add("chekc", {})).rejects.toMatchObject({
      code: "executor.unknown",
      message: 'there is no executor "chekc"',
      hint: 'Did you mean "check"?',
    });
    await expect(add("check", { hots: "x" })).rejects.toMatchObject({
      code: "executor.params",
      message: 'check: host is missing; add it. unknown parameter "hots"; did you mean "host"?',
    });
    await expect(add("check", { host: "x" })).resolves.toBeDefined();
  });

  test("retries and the time limit of its executor hold where the job says nothing; the job's word wins", async () => {
    let calls = 0;
    const failing = () => {
      calls += 1;
      throw new Error("no");
    };
    const home = await executorHome({
      executors: {
        twice: { name: "twice", retry: { max: 1, delay: "1ms" }, run: failing },
        brief: {
          name: "brief",
          timeout: 1,
          run: (_, { signal }) =>
            new Promise((_, reject) =>
              signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true }),
            ),
        },
      },
    });

    expect(await home.run("twice")).toMatchObject({ state: "failed", attempt: 2 });
    expect(await home.run("twice", {}, { retry: { max: 0 } })).toMatchObject({ state: "failed", attempt: 1 });
    expect(calls).toBe(3);
    expect(await home.run("brief")).toMatchObject({ state: "timedOut", outcome: { limitMs: 1_000 } });
  });

  test("status: error in a result fails it, warning does not", async () => {
    const home = await executorHome({
      executors: {
        bad: () => ({ status: "error", error: "disk full" }),
        odd: () => ({ status: "warning" }),
      },
    });

    expect(await home.run("bad")).toMatchObject({
      state: "failed",
      outcome: { error: { code: "status", message: "disk full" } },
    });
    expect(await home.run("odd")).toMatchObject({ state: "succeeded" });
  });

  test("its variables may hand over the node's, as a script job's do; the place is its executor's unless it names one", async () => {
    const home = await executorHome({
      config: "executors: {where: {shell: 'echo $GIVEN $PWD', workdir: /}}\n",
      env: { TOKEN: "t0" },
    });

    expect(await home.run("where", {}, { env: { GIVEN: "${TOKEN}" } })).toMatchObject({
      outcome: { output: "t0 /\n" },
    });
    expect(await home.run("where", {}, { env: { GIVEN: "${MISSING}" } })).toMatchObject({
      state: "blocked",
      outcome: { error: { code: "preflight" } },
    });
    expect(await home.run("where", {}, { workdir: home.path })).toMatchObject({
      outcome: { output: `${home.path}\n` },
    });
  });
});

describe("messages", () => {
  test("deliver: puts a message into the outbox, once however often the attempt is repeated; its result names the rows", async () => {
    const home = await executorHome({
      config:
        "executors: {tell: {deliver: {to: local, subject: 'Line {{ params.line }}', body: '{{ params.text }}'}}}\n",
    });

    const run = await home.run("tell", { line: "A", text: "stopped" }, { deliver: [] });
    const again = await home.call("tell", { line: "A", text: "stopped" });

    const rows = await home.context.ledger.deliveries({ runId: run.id });
    expect(rows).toMatchObject([
      { target: { text: "local" }, body: "Line A\n\nstopped", state: "delivered" },
    ]);
    expect(run.outcome).toMatchObject({
      isSilent: true,
      result: { status: "ok", deliveries: [{ id: rows[0]?.id, target: "local", state: "queued" }] },
    });
    expect(await home.executor("tell")).toMatchObject({ contract: { effects: "idempotent" } });
    expect(again).toMatchObject({ state: "succeeded" });
  });

  test("email_notify, as the seed calls it: mails go to the configured home, else stay here and say so", async () => {
    const config =
      "deliver: {email: {host: 127.0.0.1, port: 1, security: none, from: n@example.org, home: ops@example.org}}\n";
    const home = await executorHome({ config });
    const without = await executorHome();
    const params = { subject: "质检流程中断", body: { task: "t1", message: "no route" } };

    const mailed = await home.run("email_notify", params, { deliver: [] });
    const kept = await without.run("email_notify", params, { deliver: [] });

    const [row] = await home.context.ledger.deliveries({ runId: mailed.id });
    expect(row).toMatchObject({ target: { text: "email:ops@example.org" }, kind: "result" });
    expect(row?.body).toMatch(/^质检流程中断\n\n\{/);
    expect(kept.outcome).toMatchObject({
      result: {
        status: "warning",
        deliveries: expect.arrayContaining([expect.objectContaining({ state: "dead" })]),
      },
    });
    expect(await home.call("email_notify", { subject: "x", body: "y", to: "a b" })).toMatchObject({
      error: { code: "preflight" },
    });
  });
});

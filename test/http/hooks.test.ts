// Webhooks that come in, over a real socket: who is let in, what becomes a run, what a repetition means.

import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { diagnose } from "../../src/app/doctor.ts";
import { listHooks } from "../../src/app/hooks/hooks.ts";
import { pauseJob } from "../../src/app/jobs.ts";
import { tickOnce } from "../../src/app/node.ts";
import { openContext } from "../../src/app/open-context.ts";
import { retryRun, showRun } from "../../src/app/runs.ts";
import { signatureHeaders } from "../../src/deliver/webhook-signature.ts";
import { MINUTE } from "../../src/kernel/time.ts";
import { tempFolder } from "../support/temp.ts";
import { addScript, serve } from "./server.ts";

const KEY = Buffer.from("a secret of at least sixteen bytes");
const GITHUB_SECRET = "It's a Secret to Everybody";
const CONFIG = `
http:
  hooks:
    deploy: {secret: "\${env:DEPLOY_HOOK_SECRET}"}
    github: {secret: "\${env:GITHUB_HOOK_SECRET}", signature: github}
    gitea: {secret: "\${env:GITHUB_HOOK_SECRET}", signature: {header: X-Gitea-Signature, keyHeader: X-Gitea-Delivery}}
    lost: {secret: "\${env:NOBODY_SET_THIS}"}
`;

/** A served home with the hooks above and a job that prints what set it off. */
async function hooked(job: Record<string, unknown> = {}) {
  const path = await tempFolder();
  await writeFile(join(path, "config.yaml"), CONFIG, { mode: 0o600 });
  const context = await openContext({
    path,
    storeUrl: undefined,
    actor: "test",
    isDebug: false,
    env: {
      PATH: process.env.PATH,
      HOME: path,
      DEPLOY_HOOK_SECRET: `whsec_${KEY.toString("base64")}`,
      GITHUB_HOOK_SECRET: GITHUB_SECRET,
    },
    version: "0.0.0-test",
  });
  onTestFinished(() => context.close());
  await addScript(context, "show.sh", '#!/bin/sh\npwd\ncat "$NIGHTSHIFT_EVENT_FILE"\n');
  const served = await serve({ context });
  const added = await served.call("POST", "/api/jobs", {
    body: { id: "show", on: [{ webhook: "deploy" }, { webhook: "github" }], run: "show.sh", ...job },
  });
  expect([added.status, added.json.understood]).toEqual([201, "on webhook deploy, and on webhook github"]);
  const send = async (hook: string, body: string, headers: Record<string, string>) => {
    const response = await fetch(`${served.server.url}/hooks/${hook}`, { method: "POST", body, headers });
    const json: ReturnType<typeof JSON.parse> = await response.json();
    return { status: response.status, json };
  };
  const deploy = (body: string, id = "msg-1", at = context.clock.now()) =>
    send("deploy", body, {
      "content-type": "application/json",
      ...signatureHeaders(KEY, { id, now: at, body }),
    });
  return { ...served, context, send, deploy };
}

const hmac = (body: string, secret = GITHUB_SECRET) =>
  createHmac("sha256", secret).update(body).digest("hex");

describe("W7, S5: a webhook that comes in", () => {
  test("its own signature is enough: the job runs once, with the data in a file of its workspace", async () => {
    const { context, deploy } = await hooked();

    const { status, json } = await deploy('{"ref": "main", "who": "夜"}');
    await tickOnce({ context });

    expect([status, json]).toMatchObject([
      202,
      { isNew: true, event: { key: "webhook/deploy/msg-1" }, runs: [{ jobId: "show", state: "queued" }] },
    ]);
    const run = await showRun(context, json.runs[0].runId);
    const [folder = "", ...lines] = (run.outcome?.output ?? "").split("\n");
    expect([run.state, run.trigger, folder.endsWith(run.id)]).toEqual(["succeeded", "event", true]);
    expect(JSON.parse(lines.join("\n"))).toEqual(run.event);
    expect(run.event).toMatchObject({
      trigger: { kind: "webhook", name: "deploy" },
      key: "webhook/deploy/msg-1",
      contentType: "application/json",
      headers: { "webhook-id": "msg-1" },
      data: { ref: "main", who: "夜" },
    });
    expect(run.event?.headers).not.toHaveProperty("webhook-signature");
  });

  test("a repetition starts nothing and answers with the first run; the same id with other data is a conflict", async () => {
    const { deploy } = await hooked();
    const first = await deploy("{}");

    expect(await deploy("{}")).toEqual({ status: 200, json: { ...first.json, isNew: false } });
    expect(await deploy('{"other": 1}')).toMatchObject({
      status: 409,
      json: { error: { code: "input.conflict" } },
    });
  });

  test("a person's retry is of the same event", async () => {
    const { context, deploy } = await hooked();
    const { json } = await deploy('{"n": 7}');
    await tickOnce({ context });

    const again = await retryRun(context, json.runs[0].runId, { isSameKey: false });
    await tickOnce({ context });

    expect(await showRun(context, again.id)).toMatchObject({ state: "succeeded", event: { data: { n: 7 } } });
  });

  test.each<
    [string, (hook: Awaited<ReturnType<typeof hooked>>) => Promise<{ status: number; json: unknown }>]
  >([
    ["no signature", ({ send }) => send("deploy", "{}", {})],
    [
      "another secret",
      ({ send }) =>
        send(
          "deploy",
          "{}",
          signatureHeaders(Buffer.from("x".repeat(20)), { id: "m", now: Date.now(), body: "{}" }),
        ),
    ],
    [
      "a changed body",
      ({ send }) => send("deploy", "{ }", signatureHeaders(KEY, { id: "m", now: Date.now(), body: "{}" })),
    ],
    [
      "an old one sent again (replay)",
      ({ deploy, context }) => deploy("{}", "m", context.clock.now() - 6 * MINUTE),
    ],
    ["one from the future", ({ deploy, context }) => deploy("{}", "m", context.clock.now() + 6 * MINUTE)],
    [
      "the bearer token instead",
      ({ send, context }) => send("deploy", "{}", { authorization: `Bearer ${context.home.token}` }),
    ],
    ["a hook whose secret is not set", ({ send }) => send("lost", "{}", { "webhook-id": "m" })],
    [
      "GitHub's form without its prefix",
      ({ send }) => send("github", "{}", { "x-hub-signature-256": hmac("{}") }),
    ],
  ])("401: %s", async (_name, attempt) => {
    const hook = await hooked();

    const { status, json } = await attempt(hook);

    expect([status, json]).toMatchObject([
      401,
      { error: { code: "auth.refused", hint: expect.stringContaining("Sign") } },
    ]);
    expect(JSON.stringify(json)).not.toContain("NOBODY_SET_THIS");
    expect(await hook.context.ledger.runs({})).toEqual([]);
  });

  test("404 for a name nobody configured and for a hook that no job waits for; 405 for GET; 413 beyond a megabyte", async () => {
    const { send, server } = await hooked();
    const body = "{}";

    expect(await send("nobody", body, {})).toMatchObject({
      status: 404,
      json: { error: { hint: expect.stringContaining("http.hooks") } },
    });
    expect(await send("gitea", body, { "x-gitea-signature": hmac(body) })).toMatchObject({
      status: 404,
      json: { error: { hint: "Add `on: {webhook: gitea}` to a job." } },
    });
    expect((await fetch(`${server.url}/hooks/deploy`)).status).toBe(405);
    const big = "x".repeat(1_000_001);
    expect((await send("github", big, { "x-hub-signature-256": `sha256=${hmac(big)}` })).status).toBe(413);
  });

  test("GitHub's own example of a signature is taken; its delivery id is the key, its event is in the headers", async () => {
    // @source docs.github.com "Validating webhook deliveries": secret, payload and signature of the test values.
    const { context, send } = await hooked();
    const body = "Hello, World!";
    const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    const { status, json } = await send("github", body, {
      "x-hub-signature-256": signature,
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "x-github-event": "push",
      "x-api-key": "not-for-keeping",
    });

    expect([status, json.event.key]).toEqual([202, "webhook/github/72d3162e-cc78-11e3-81ab-4c9367dc0958"]);
    const { event } = await showRun(context, json.runs[0].runId);
    expect(event?.data).toBe(body);
    expect(event?.headers["x-github-event"]).toBe("push");
    expect(JSON.stringify(event)).not.toMatch(/not-for-keeping|757107ea/);
  });

  test("T7, D4: a busy job skips, a paused one too; both are on record with the reason", async () => {
    const { context, deploy } = await hooked();
    await deploy("{}", "m-1");

    const busy = await deploy("{}", "m-2");
    await tickOnce({ context });
    await pauseJob(context, "show", {});
    const paused = await deploy("{}", "m-3");

    expect(
      [busy, paused].map(({ status, json }) => [status, json.runs[0].state, json.runs[0].reason]),
    ).toEqual([
      [202, "skipped", "overlap"],
      [202, "skipped", "paused"],
    ]);
    expect((await context.ledger.runs({})).map(({ state }) => state)).toEqual([
      "skipped",
      "skipped",
      "succeeded",
    ]);
  });

  test("a job that waits for what nobody configured is refused at creation, and found by doctor when dropped in", async () => {
    const { call, context } = await hooked();

    const refused = await call("POST", "/api/jobs", {
      body: { id: "x", on: { webhook: "deplot" }, run: "show.sh" },
    });

    expect([refused.status, refused.json.error.hint]).toEqual([422, 'Did you mean "deploy"?']);
    expect((await diagnose(context)).findings.map(({ code }) => code)).not.toContain("hookMissing");
    const dropped = "on: {webhook: lost}\nrun: show.sh\n";
    await writeFile(join(context.home.paths.root, "jobs/dropped.yaml"), dropped);
    const { utimes } = await import("node:fs/promises");
    await utimes(join(context.home.paths.root, "jobs/dropped.yaml"), 1, 1);
    await tickOnce({ context });
    const finding = (await diagnose(context)).findings.find(({ code }) => code === "hookMissing");
    expect(finding?.what).toMatch(/"lost", which sets off dropped, takes nothing: .*NOBODY_SET_THIS/);
    expect((await listHooks(context)).map(({ name, jobs, isUsable }) => [name, jobs, isUsable])).toEqual([
      ["deploy", ["show"], true],
      ["gitea", [], true],
      ["github", ["show"], true],
      ["lost", ["dropped"], false],
    ]);
  });
});

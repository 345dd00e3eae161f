import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkEnvironment, diagnose } from "../../../src/app/doctor.ts";
import { addJob } from "../../../src/app/jobs.ts";
import { fail, say } from "../../support/model-server.ts";
import { tempFolder } from "../../support/temp.ts";
import { agentJob, scriptedHome, writeIn } from "./scripted-home.ts";

const asking = { isAskingModels: true, signal: new AbortController().signal };

test("check-env --models asks each model once and tells which answers, which does not, and what to do", async () => {
  const { context, server } = await scriptedHome(
    ({ body }) =>
      body.model === "scripted" ? say("OK") : fail(401, { message: "bad key sk-abcdefghijklmnopqrstuvwx" }),
    { models: "  cheap: gone\n" },
  );
  const { baseUrl } = server;
  Object.assign(context.config.models.named, {
    other: { provider: "openai-compatible", id: "other", baseUrl },
    hosted: { provider: "anthropic", id: "x" },
  });

  const { findings, checked, isHealthy } = await checkEnvironment(context, asking);

  expect(isHealthy).toBe(false);
  expect(checked.at(-1)).toMatch(/^model main answers in \d+ ms$/);
  expect(server.requests).toHaveLength(2);
  const told = findings
    .filter(({ code }) => code === "modelUnusable")
    .map(({ what, todo }) => `${what} ${todo}`);
  expect(told).toEqual([
    'config.yaml refers to the model "gone", which there is not. Add it under models.named, or correct the name.',
    expect.stringMatching(/^Model "other" does not answer\. .*The key was refused\./),
    expect.stringMatching(/^Model "hosted" cannot be asked\. .*ANTHROPIC_API_KEY is not set/),
  ]);
  expect(told.join()).not.toContain("sk-abcdefghijklmnopqrstuvwx");
});

test("S1: doctor tells of agent jobs that could not run now, and where nothing hides the home from their commands", async () => {
  const bare = await tempFolder();
  await writeIn(bare, "sh", "#!/bin/sh\nexec /bin/sh\n");
  await chmod(join(bare, "sh"), 0o700);
  const { context } = await scriptedHome([], { env: { PATH: bare, HOME: bare } });
  await mkdir(join(context.home.paths.skillsFolder, "triage"), { recursive: true });
  const file = await writeIn(
    context.home.paths.skillsFolder,
    "triage/SKILL.md",
    "---\nname: triage\ndescription: x\n---\ny\n",
  );
  await addJob(context, agentJob("watch", { prompt: "x", skills: ["triage"] }));
  await rm(join(file, ".."), { recursive: true });

  const { findings } = await diagnose(context);

  expect(findings.filter(({ code }) => code === "jobCannotRun")).toEqual([
    {
      code: "jobCannotRun",
      what: 'Agent job "watch" cannot run now.',
      todo: expect.stringContaining('There is no skill "triage"'),
    },
  ]);
  expect(findings.find(({ code }) => code === "localIsOpen")?.what).toContain(
    'the agent jobs "watch" can read this home',
  );
});

test("a job whose named environment the config has no more is a finding of doctor's, not its end", async () => {
  const { context } = await scriptedHome([], {
    config: "environments: {box: {backend: local, scope: home}}\n",
  });
  await addJob(context, agentJob("boxed", { prompt: "x" }, { environment: "box" }));
  context.config.environments = {};
  const { findings } = await diagnose(context);
  expect(findings.filter(({ code }) => code === "jobCannotRun")).toEqual([
    {
      code: "jobCannotRun",
      what: 'Agent job "boxed" cannot run now.',
      todo: expect.stringContaining('"box"'),
    },
  ]);
});

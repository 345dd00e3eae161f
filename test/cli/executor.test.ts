// `executor list | show | check`, tasks of jobs and `check-config`, as people type them.

import { expect, test } from "vitest";
import { cliHome } from "./run-cli.ts";

const CHECK = `#!/bin/sh
# Checks a disk.
# nightshift: timeout=60 retry=2 memoryMb=64
# param host string
# param limit integer=85
echo "{\\"host\\": \\"$PARAM_HOST\\", \\"limit\\": $PARAM_LIMIT}"
`;

test("an old script is listed, shown, checked and run as a job's task, by the bundled program", async () => {
  const home = await cliHome();
  await home.write("executors/check.sh", CHECK);
  await home.write(
    "executors/double.mjs",
    'import { defineExecutor } from "nightshift"; export default defineExecutor({ name: "double", run: ({ n }) => 2 * n });',
  );

  const listed = await home.json<{ name: string; source: string }[]>("executor", "list");
  expect(listed.filter(({ source }) => source !== "built in").map(({ name }) => name)).toEqual([
    "check",
    "double",
  ]);
  expect((await home.run(["executor", "show", "check"])).stdout).toBe(`check 1: Checks a disk.
  kind     script
  source   executors/check.sh
  limits   1m, retry 2, 64 MB
  effects  external
  params
    host string
    limit integer = 85
  result   anything
`);
  expect(await home.json("executor", "check")).toMatchObject({ isValid: true, problems: [] });

  await home.write("check.yaml", "id: disk\nrun: {task: {executor: check, params: {host: a}}}\n");
  await home.write("double.yaml", "id: twice\nrun: {task: {executor: double, params: {n: 4}}}\n");
  await home.json("job", "apply", "-f", `${home.path}/check.yaml`);
  await home.json("job", "apply", "-f", `${home.path}/double.yaml`);
  const disk = await home.run(["job", "run", "disk", "--json"]);
  const twice = await home.run(["job", "run", "twice", "--json"]);
  expect(JSON.parse(disk.stdout)).toMatchObject({
    state: "succeeded",
    outcome: { result: { host: "a", limit: 85 } },
  });
  expect(JSON.parse(twice.stdout)).toMatchObject({ state: "succeeded", outcome: { result: 8 } });
});

test("what is wrong is said with its place, and ends with the right code", async () => {
  const home = await cliHome();
  await home.write("executors/bad.sh", '#!/bin/sh\n# nightshift: memoryMb="64"\n');

  const checked = await home.run(["executor", "check"]);
  const shown = await home.run(["executor", "show", "shell_exce"]);
  const file = await home.run(["executor", "check", `${home.path}/executors/none.sh`]);

  expect(checked).toMatchObject({ exitCode: 1 });
  expect(checked.stdout).toContain(
    '✗ executors/bad.sh:2: resources.memoryMb is a number in quotes; write 64, not "64"',
  );
  expect(shown).toMatchObject({ exitCode: 2 });
  expect(shown.stderr).toContain('there is no executor "shell_exce". Did you mean "shell_exec"?');
  expect(file).toMatchObject({ exitCode: 2 });
});

test("check-config reads the orchestrator's part strictly and says what it reads otherwise (W3)", async () => {
  const home = await cliHome();
  await home.write(
    "config.yaml",
    "executors: {cv: {script: hi.sh, resources: {gpu: true, memory_mb: 1024}}}\n",
  );
  const fine = await home.json<{ warnings: string[] }>("check-config");
  await home.write("config.yaml", 'orchestrator:\n  max_task_history: "1000"\n');
  const quoted = await home.run(["check-config"]);

  expect(fine.warnings).toContain('Executor "cv": memory_mb beside gpu is read as GPU memory (1024 MB).');
  expect(quoted).toMatchObject({ exitCode: 2 });
  expect(quoted.stderr).toContain("config.yaml:2:21: orchestrator.maxTaskHistory is a number in quotes");
});

test("a rollout as people type it: begun, looked at, ended; half a sentence and two at once are refused", async () => {
  const home = await cliHome();
  await home.write("executors/one.sh", "#!/bin/sh\n# nightshift: name=work version=v1\n");
  await home.write("executors/two.sh", "#!/bin/sh\n# nightshift: name=work version=v2\n");

  const begun = await home.run(["executor", "rollout", "work", "--version", "v2", "--traffic", "20"]);
  expect(begun.stdout).toMatch(/^work: 20 of 100 tasks go to v2, the others to v1\nVERSION +ATTEMPTS/);
  const refused = await Promise.all([
    home.run(["executor", "rollout", "work", "--version", "v2"]),
    home.run(["executor", "rollout", "work", "--stop", "--finish"]),
    home.run(["executor", "rollout", "work", "--version", "v2", "--traffic", "120"]),
    home.run(["executor", "rollout", "--stop"]),
  ]);
  expect(refused.map(({ exitCode, stderr }) => [exitCode, stderr.split("\n")[0]])).toEqual([
    [2, expect.stringContaining("a rollout needs a version and its share of the tasks")],
    [2, expect.stringContaining("--finish does not go with --stop")],
    [2, expect.stringContaining('--traffic cannot be "120"')],
    [2, expect.stringContaining("whose rollout?")],
  ]);
  expect((await home.run(["executor", "rollout", "work", "--stop"])).stdout).toMatch(
    /^work: stopped at \S+, every task goes to v1\nbecause stopped by /,
  );
  expect(await home.json("executor", "rollout")).toMatchObject([{ executor: "work", state: "stopped" }]);
});

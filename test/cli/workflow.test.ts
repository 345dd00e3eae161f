// `workflow list | check | graph | run`, `run retry --from`, `run resolve` and `executor submit`, as people type them.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RunDocument } from "../../src/app/documents.ts";
import type { RunTreeDocument } from "../../src/app/runs.ts";
import { cliHome } from "./run-cli.ts";

const REPORT = `
params: {day: {type: string, enum: [monday, sunday]}, factor: {type: integer, default: 2}}
tasks:
  - {id: fetch, shell: "echo fetched >> $HOME/deeds; echo '{\\"rows\\": 3}'"}
  - {id: sum, dependsOn: [fetch], retry: 0, shell: 'test -e "$HOME/ready" || exit 7; echo "{{ fetch.result.rows * params.factor }} rows on {{ params.day }}"'}
  - {id: note, dependsOn: [sum], shell: "echo noted >> $HOME/deeds"}
outputs: {message: "{{ sum.result.stdout }}", rows: "{{ fetch.result.rows * params.factor }}"}
`;

const BAD = `tasks:
  - id: a
    shell: echo
    timeout: "30"
  - id: b
    dependsOn: [c]
    shel: x
`;

/** The seed's file as it is written there; its executors are not this home's. */
const SEED = join(import.meta.dirname, "../orchestrate/fixtures/inspection_workflow.yaml");

describe("workflows on the command line", () => {
  test("list names what is wrong with a file; check says every mistake, each with line and column, and exits with 2", async () => {
    const home = await cliHome();
    await home.write("workflows/report.yaml", REPORT);
    await home.write("workflows/bad.yaml", BAD);

    const listed = await home.run(["workflow", "list"]);
    const fine = await home.run(["workflow", "check", "report"]);
    const bad = await home.run(["workflow", "check", "bad"]);
    const seed = await home.run(["workflow", "check", SEED]);

    expect(listed.stdout.split("\n")).toEqual([
      "NAME    TASKS  PARAMS       STATE",
      'bad     0                   workflows/bad.yaml:4:14: tasks.0.timeout is a number in quotes; write 30, not "30"',
      "report  3      day, factor  ok",
      "",
    ]);
    expect(fine).toEqual({
      exitCode: 0,
      stdout: "report: 3 tasks, nothing is wrong with it.\n",
      stderr: "",
    });
    expect(bad).toMatchObject({ exitCode: 2, stdout: "" });
    expect(bad.stderr.trim().split("\n")).toEqual([
      'nightshift: workflows/bad.yaml:4:14: tasks.0.timeout is a number in quotes; write 30, not "30"',
      expect.stringContaining(
        'workflows/bad.yaml:5:5: task "b" names no work; write one of executor, shell,',
      ),
      'workflows/bad.yaml:7:5: unknown key "shel"; did you mean "shell"?',
    ]);
    // W2: it is read as it is written; only what this home has not is wrong with it.
    expect(seed).toMatchObject({ exitCode: 2 });
    expect(seed.stderr.trim().split("\n")).toHaveLength(5);
    expect(seed.stderr).toContain('inspection_workflow.yaml:5:15: unknown executor "plc_read"');
  });

  test("graph draws a workflow as text, Mermaid and SVG, and refuses other forms", async () => {
    const home = await cliHome();
    await home.write("workflows/report.yaml", REPORT);
    const draw = (format: string) => home.run(["workflow", "graph", "report", "--format", format]);

    const [text, mermaid, svg, other] = await Promise.all(["text", "mermaid", "svg", "png"].map(draw));

    expect(text?.stdout).toBe("report\n└─ fetch (shell)\n   └─ sum (shell)\n      └─ note (shell)\n");
    expect(mermaid?.stdout).toMatch(/^flowchart TD\n/);
    expect(mermaid?.stdout).toContain("t_fetch --> t_sum");
    expect(svg?.stdout).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"[\s\S]*<\/svg>\n$/);
    expect(other).toMatchObject({ exitCode: 2, stdout: "" });
    expect(other?.stderr).toContain("Write --format text, mermaid or svg.");
  });

  test("params that do not fit are refused before anything begins, with what would fit", async () => {
    const home = await cliHome();
    await home.write("workflows/report.yaml", REPORT);
    const run = (...params: string[]) =>
      home.run(["workflow", "run", "report", ...params.flatMap((param) => ["--param", param])]);

    const refused = await Promise.all([
      run("day=monday", "dya=x"),
      run("day=friday"),
      run("day=monday", "factor=many"),
      run(),
      run("day"),
    ]);

    expect(refused.map(({ exitCode, stdout }) => [exitCode, stdout])).toEqual(refused.map(() => [2, ""]));
    expect(refused.map(({ stderr }) => stderr)).toEqual([
      'nightshift: report: there is no param "dya"; did you mean "day"? Its params are day, factor.\n',
      'nightshift: report: the param "day" is "friday"; allowed are "monday", "sunday". Its params are day, factor.\n',
      'nightshift: the param "factor" takes a value of type integer, and "many" is none. Write it as JSON: --param factor=3.\n',
      'nightshift: report: the param "day" is missing. Its params are day, factor.\n',
      'nightshift: "day" is no NAME=VALUE. Write --param line=A.\n',
    ]);
    expect(await home.json("run", "list")).toEqual([]);
  });

  test("a run that failed goes on from the task that failed, and its outputs are printed", async () => {
    const home = await cliHome();
    await home.write("workflows/report.yaml", REPORT);
    const deeds = () => readFile(join(home.path, "../deeds"), "utf8");

    const failed = await home.run(["workflow", "run", "report", "--param", "day=sunday", "--wait"]);
    const [, first = ""] = /^Run (\S+): failed: task sum failed – sum: exited 7\n$/.exec(failed.stdout) ?? [];
    const tree = await home.run(["run", "tree", first]);
    const drawn = await home.run(["workflow", "graph", "--run", first]);
    await home.write("../ready", "");
    const queued = await home.run(["run", "retry", first, "--from", "sum"]);
    const [, second = ""] = /^Queued as run (\w+)\./.exec(queued.stdout) ?? [];
    const unknown = await home.run(["run", "retry", first, "--from", "summ"]);
    await home.run(["tick"]);
    const retried = await home.json<RunDocument>("run", "show", second);

    expect(failed).toMatchObject({ exitCode: 1 });
    expect(
      tree.stdout.split("\n").map((line) => line.replace(/\w{26}/, "RUN").replace(/\d[\d.]* m?s$/, "TIME")),
    ).toEqual([
      "RUN  report manual  failed (task)  TIME",
      "├─ RUN  fetch  succeeded  TIME",
      "├─ RUN  sum  failed (exit)  TIME",
      "└─ RUN  note  skipped (upstreamFailed)  –",
      "",
    ]);
    expect(drawn.stdout).toMatch(
      /fetch \(shell\).*succeeded[\s\S]*sum \(shell\).*failed[\s\S]*note \(shell\).*skipped/,
    );
    expect(queued.stderr).toContain("No node is up to run it");
    expect(unknown).toMatchObject({ exitCode: 2 });
    expect(unknown.stderr).toContain('report has no task "summ". Did you mean sum?');
    expect(retried).toMatchObject({
      state: "succeeded",
      outcome: { output: "6 rows on sunday\n", result: { message: "6 rows on sunday\n", rows: 6 } },
    });
    expect(await deeds()).toBe("fetched\nnoted\n");
  });

  test("an approval waits for a person's word, and says how to give it", async () => {
    const home = await cliHome();
    await home.write(
      "workflows/gate.yaml",
      `tasks:
  - {id: build, shell: "echo v7", effects: idempotent}
  - {id: ask, approval: "Ship {{ build.result.stdout }}?", dependsOn: [build]}
  - {id: ship, shell: "echo shipped", dependsOn: [ask]}
`,
    );

    const going = home.start(["workflow", "run", "gate"]);
    const [, run = ""] = await going.said(/here as (\w+) …/);
    let asked: RunDocument | undefined;
    while (!asked)
      [asked] = await home.json<RunDocument[]>("run", "list", "--state", "waiting", "--limit", "1");
    const explained = await home.run(["run", "explain", asked.id]);
    await home.json("run", "resolve", asked.id, "--as", "succeeded", "--note", "looked at it");
    const ended = await going.ended;

    expect(asked).toMatchObject({ unit: "ask", parentId: run, reason: "approval" });
    expect(explained.stdout).toContain(
      `It waits for a person: \`nightshift run resolve ${asked.id} --as succeeded\` approves`,
    );
    expect(ended).toMatchObject({ exitCode: 0 });
    const { children } = await home.json<RunTreeDocument>("run", "tree", run);
    expect(children.map(({ unit, state }) => [unit, state])).toEqual([
      ["build", "succeeded"],
      ["ask", "succeeded"],
      ["ship", "succeeded"],
    ]);
  });

  test("executor submit does one task, its params checked before it is queued", async () => {
    const home = await cliHome();
    await home.write(
      "executors/add.sh",
      '#!/bin/sh\n# param a integer\n# param b integer=1\necho "{\\"sum\\": $((PARAM_A + PARAM_B))}"\n',
    );

    const done = await home.run(["executor", "submit", "add", "--param", "a=4", "--wait", "--json"]);
    const refused = await home.run(["executor", "submit", "add", "--param", "a=four"]);
    const missing = await home.run(["executor", "submit", "ad"]);

    expect(JSON.parse(done.stdout)).toMatchObject({
      kind: "task",
      work: "add",
      state: "succeeded",
      outcome: { result: { sum: 5 } },
    });
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(refused.stderr).toMatch(/^nightshift: add: .*\ba\b.*See `nightshift executor show add`\.\n$/);
    expect(missing).toMatchObject({ exitCode: 2, stdout: "" });
    expect(missing.stderr).toContain('there is no executor "ad"');
    expect(await home.json("run", "list")).toHaveLength(1);
  });
});

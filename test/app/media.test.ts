// Files of a run from the script that makes them to the platform that gets them, and to their end.

import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Housekeeping } from "../../src/app/housekeeping.ts";
import { addJob, queueRun } from "../../src/app/jobs.ts";
import { tickOnce } from "../../src/app/node.ts";
import { showRun } from "../../src/app/runs.ts";
import { DAY, HOUR } from "../../src/kernel/time.ts";
import { openMediaFiles } from "../../src/store/files/media-files.ts";
import { openOutputFiles } from "../../src/store/files/output-files.ts";
import { serve } from "../deliver/loopback.ts";
import { BARE_ENV, testContext, writeScript } from "../support/home.ts";
import { tempFolder } from "../support/temp.ts";

async function homeWith(config = "") {
  const path = join(await tempFolder(), "home");
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "config.yaml"), config);
  return testContext({ path, env: { ...BARE_ENV, BOT: "1:t" } });
}

const PLOT = `#!/bin/sh
printf pixels > chart.png
printf 'a,b' > table.csv
ln -s /etc/passwd out.txt
echo "Load is fine."
echo "MEDIA:chart.png | CPU"
echo "MEDIA:table.csv"
echo "MEDIA:out.txt"
`;

test("kept before the workspace is swept, sent each on its own behind the text, and named where they may not leave", async () => {
  const server = await serve((response) => response.end('{"ok":true,"result":{"message_id":7}}'));
  const base = new URL(server.url).origin;
  const context = await homeWith(
    `deliver: {telegram: {token: "\${env:BOT}", baseUrl: "${base}"}, allowPrivate: [127.0.0.1]}\n`,
  );
  await writeScript(context, "plot.sh", PLOT);
  await addJob(context, { id: "plot", run: { script: "plot.sh" }, deliver: ["telegram:-1001"] });

  const { id } = await queueRun(context, "plot");
  await tickOnce({ context });

  const run = await showRun(context, id);
  expect(server.received.map(({ path }) => path?.split("/").at(-1))).toEqual([
    "sendMessage",
    "sendPhoto",
    "sendDocument",
  ]);
  expect(JSON.parse(server.received[0]?.body ?? "").text).toBe(
    "Load is fine.\n\nNot sent: out.txt: it lies outside of the run's folders, or is hidden.",
  );
  expect(server.received[1]?.body).toContain("pixels");
  expect(run.deliveries.map(({ state, media }) => [state, media?.name])).toEqual([
    ["delivered", undefined],
    ["delivered", "chart.png"],
    ["delivered", "table.csv"],
  ]);
  expect(await readdir(context.home.paths.workspacesFolder)).toEqual([]);
});

test("a script names files in $NIGHTSHIFT_OUTPUT, and a task in its result: they go without a word printed", async () => {
  const server = await serve((response) => response.end('{"ok":true,"result":{"message_id":7}}'));
  const base = new URL(server.url).origin;
  const context = await homeWith(
    `deliver: {telegram: {token: "\${env:BOT}", baseUrl: "${base}"}, allowPrivate: [127.0.0.1]}\n`,
  );
  const script = `#!/bin/sh
printf pixels > chart.png
printf '{"attachments": [{"path": "chart.png", "caption": "CPU"}, {"file": "x"}]}' > "$NIGHTSHIFT_OUTPUT"
`;
  await writeScript(context, "quiet.sh", script);
  await mkdir(join(context.home.paths.root, "executors"), { recursive: true });
  await writeFile(join(context.home.paths.root, "executors", "draw.sh"), script, { mode: 0o755 });
  const deliver = ["telegram:-1001"];
  await addJob(context, { id: "script", run: { script: "quiet.sh" }, deliver });
  await addJob(context, { id: "task", run: { task: { executor: "draw" } }, deliver });

  for (const id of ["script", "task"]) {
    server.received.length = 0;
    const run = await queueRun(context, id);
    await tickOnce({ context });

    const { state, outcome } = await showRun(context, run.id);
    expect({ id, state, outcome }).toMatchObject({ state: "succeeded", outcome: { isSilent: false } });
    expect(
      server.received.map(({ path }) => path?.split("/").at(-1)),
      id,
    ).toEqual(["sendMessage", "sendPhoto"]);
    expect(JSON.parse(server.received[0]?.body ?? "").text).toBe(
      "Not sent: {&quot;file&quot;:&quot;x&quot;}: there is no such file.",
    );
    expect(server.received[1]?.body).toContain("CPU");
  }
});

test("local keeps them beside the output, and they go when the output goes", async () => {
  const context = await homeWith();
  await writeScript(context, "plot.sh", PLOT);
  await addJob(context, { id: "plot", run: { script: "plot.sh" } });
  const { id } = await queueRun(context, "plot");
  await tickOnce({ context });

  const run = await showRun(context, id);
  const folder = join(context.home.paths.outputFolder, "plot");
  const names = (await readdir(folder)).map((name) => name.slice(name.indexOf("."))).sort();
  expect(names).toEqual([".0-chart.png", ".1-table.csv", ".md"]);
  expect(await readFile(join(context.home.paths.root, run.outputFile ?? ""), "utf8")).toContain(
    "MEDIA:chart.png",
  );

  await openOutputFiles(context.home.paths.root).keepNewest("plot", 0);
  expect(await readdir(folder)).toEqual([]);
});

test("the kept file stays as long as its row may need it, and leaves with its text", async () => {
  const context = await homeWith();
  await writeScript(context, "plot.sh", PLOT);
  await addJob(context, { id: "plot", run: { script: "plot.sh" } });
  const { id } = await queueRun(context, "plot");
  await tickOnce({ context });
  const kept = async () => readdir(join(context.home.paths.outputFolder, "_media", id)).catch(() => []);
  const now = Date.now();
  const old = (now - 2 * HOUR) / 1_000;
  for (const name of await kept())
    await utimes(join(context.home.paths.outputFolder, "_media", id, name), old, old);
  const files = openMediaFiles({ root: context.home.paths.root, maxBytes: 1 });
  const sweep = () => files.sweep((named) => context.ledger.knownMediaFiles(named), now);

  expect(await sweep()).toEqual([]);
  expect(await kept()).toHaveLength(2);
  await context.ledger.blankDeliveries({ before: now + DAY, limit: 100 });
  await sweep();

  expect(await kept()).toEqual([]);
  expect((await showRun(context, id)).deliveries.every(({ media }) => media === null)).toBe(true);
  await new Housekeeping(context, openOutputFiles(context.home.paths.root)).keep();
});

test("a workflow sends what its tasks name, in their order, with its own message", async () => {
  const context = await homeWith();
  await writeScript(context, "plot.sh", PLOT);
  const tasks = [
    { id: "plot", script: "plot.sh" },
    { id: "say", shell: "echo fine", dependsOn: ["plot"] },
  ];
  const workflow = { inline: { name: "report", tasks, outputs: { message: "Done." } } };
  await addJob(context, { id: "report", run: { workflow } });
  const { id } = await queueRun(context, "report");
  await tickOnce({ context });

  const { deliveries, outcome } = await showRun(context, id);
  expect(outcome).toMatchObject({
    state: "succeeded",
    output: "Done.",
    media: { refused: [{ path: "out.txt" }] },
  });
  expect(deliveries.map(({ state, media }) => [state, media?.name])).toEqual([
    ["delivered", undefined],
    ["delivered", "chart.png"],
    ["delivered", "table.csv"],
  ]);
});

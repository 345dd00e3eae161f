// What a sync costs: a thousand files of which three changed, against all of them, over ssh.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openEnvironment } from "../../../src/execute/environments/index.ts";
import { FolderSync } from "../../../src/execute/environments/sync-files.ts";
import type { Environment } from "../../../src/records/environment.ts";
import { contractDeps } from "../../contract/environment/local-harness.ts";
import { startServer, whyNoServer } from "../../support/ssh-server.ts";
import { tempFolder } from "../../support/temp.ts";

/** Counts what goes in through a command's stdin and comes out of it. */
function counted(environment: Environment): { environment: Environment; bytes: () => number } {
  let bytes = 0;
  return {
    bytes: () => bytes,
    environment: {
      ...environment,
      async exec(command, options) {
        const result = await environment.exec(command, options);
        bytes += Buffer.byteLength(options.stdin ?? "") + result.stdout.length;
        return result;
      },
    },
  };
}

test.skipIf(whyNoServer())(
  "hermes#84402: three changed files of 1,000 cost at most a tenth of the bytes of all of them",
  async () => {
    const server = await startServer();
    try {
      const folder = await tempFolder();
      const { user, port, identityFile, knownHosts } = server;
      const deps = contractDeps(folder);
      const spec = { backend: "ssh", host: "127.0.0.1", user, port, identityFile, knownHosts } as const;
      const opened = await openEnvironment(deps, spec);
      const { environment, bytes } = counted(opened);
      const here = join(folder, "many");
      await mkdir(here);
      for (let index = 0; index < 1_000; index++)
        await writeFile(join(here, `file-${index}`), `${index} `.repeat(1_000));
      const sync = new FolderSync(environment, { here, inside: environment.cwd });
      const signal = new AbortController().signal;

      const all = await timed(() => sync.bringIn({ signal }), bytes);
      for (const index of [1, 500, 999]) await writeFile(join(here, `file-${index}`), "changed");
      const three = await timed(() => sync.bringIn({ signal }), bytes);
      await opened.dispose();

      expect([all.report.written.length, three.report.written.length]).toEqual([1_000, 3]);
      console.log(
        `sync over ssh: all ${all.bytes} bytes in ${all.ms} ms, three of 1,000 ${three.bytes} bytes in ${three.ms} ms`,
      );
      expect(three.bytes).toBeLessThanOrEqual(all.bytes / 10);
    } finally {
      await server.stop();
    }
  },
);

async function timed<T>(work: () => Promise<T>, bytes: () => number) {
  const [before, startedAt] = [bytes(), performance.now()];
  const report = await work();
  return { report, bytes: bytes() - before, ms: Math.round(performance.now() - startedAt) };
}

// The contract of every environment: the same tests for a local shell, a container and another machine.
//
// I1. A backend is right when this suite passes on it. What a place cannot do is named in its harness, with the reason.
// I2. One environment serves most tests of a run: a container or a connection is made once.

import { afterAll, beforeAll, describe } from "vitest";
import type { EnvironmentDeps } from "../../../src/execute/environments/place.ts";
import type { Environment } from "../../../src/records/environment.ts";
import { closingRules } from "./closing.ts";
import { commandRules } from "./commands.ts";
import { endingRules } from "./endings.ts";
import { fileRules } from "./files.ts";
import { sessionRules } from "./sessions.ts";
import { spawnRules } from "./spawned.ts";
import { syncRules } from "./syncing.ts";

export interface Bench {
  environment: Environment;
  deps: EnvironmentDeps;
}

export interface Harness {
  name: string;
  /** Why it cannot run on this machine; undefined when it can. */
  whyNot?: string | undefined;
  /** Whatever the place needs beside itself: a daemon, a server. Runs once. */
  start?(): Promise<void>;
  stop?(): Promise<void>;
  /** A fresh environment. */
  open(): Promise<Bench>;
  /** What a test may expect. */
  has: {
    bash: boolean;
    /** Whether one call's processes see those of another (false behind a process namespace a call). */
    sharedProcesses: boolean;
    /** Whether a command sees other processes of this machine that are not ours. */
    boundary: boolean;
    /** How the end of the shell itself by TERM is told: 143, or 255 by OpenSSH. */
    codeOfSignal15: number;
    /** Whether commands can be started at a terminal. Default: no. */
    terminal?: boolean;
  };
  /** What the environment made outside of itself and has not removed: folders, containers, processes. */
  leftovers(): Promise<string[]>;
}

/** Declares the suite for one backend. */
export function environmentContract(harness: Harness): void {
  const title = harness.whyNot ? `${harness.name} (skipped: ${harness.whyNot})` : harness.name;
  describe.skipIf(harness.whyNot !== undefined)(`the environment contract on ${title}`, () => {
    let bench: Bench | undefined;
    beforeAll(async () => {
      await harness.start?.();
      bench = await harness.open();
    });
    afterAll(async () => {
      try {
        await bench?.environment.dispose();
      } finally {
        await harness.stop?.();
      }
    });
    const get = () => {
      if (!bench) throw new Error("the environment was not opened");
      return bench;
    };
    commandRules(get, harness);
    sessionRules(get, harness);
    endingRules(get, harness);
    fileRules(get);
    spawnRules(get, harness);
    syncRules(get);
    closingRules(harness);
  });
}

// The registry of a context, made when somebody first asks: commands that know no executors pay nothing for it.

import { invariant } from "../../kernel/errors.ts";
import type { KnownExecutors } from "../../records/executor.ts";
import type { Context } from "../context.ts";
import type { RemoteMachines } from "../remote/remote-machines.ts";
import type { FileReading } from "./read-folder.ts";
import type { Executors, RegistryOptions } from "./registry.ts";
import type { Serving } from "./room.ts";

/** The registrations of one home. */
export interface HomeExecutors extends KnownExecutors {
  /** A node says how it runs commands, agents and workflows; the last one to say so counts. */
  serve(serving: Serving): void;
  /** What was read otherwise than its words say, one sentence each. */
  notes(): Promise<readonly string[]>;
  /** What one file would register, wherever it lies. Throws Fault `input.not-found`. */
  check(path: string): Promise<FileReading>;
  /** The machines behind `remoteExecutors`, as the config is now. */
  remotes(): Promise<RemoteMachines>;
}

const opened = new WeakMap<object, HomeExecutors>();

/** What stands behind the executors of a context that `openContext` made. */
export function homeExecutorsOf({ executors }: Pick<Context, "executors">): HomeExecutors {
  const found = opened.get(executors);
  invariant(found, "the context was opened by openContext");
  return found;
}

export function lazyExecutors(context: () => Context, options: RegistryOptions): HomeExecutors {
  let serving: Serving | undefined;
  let made: Promise<Executors> | undefined;
  let registered: Executors | undefined;
  const registry = async () => {
    made ??= import("./registry.ts").then((room) => {
      registered = new room.Executors(context(), options);
      if (serving) registered.serve(serving);
      return registered;
    });
    return made;
  };
  const executors: HomeExecutors = {
    serve(given) {
      serving = given;
      void made?.then((executors) => executors.serve(given));
    },
    list: async () => (await registry()).list(),
    named: async (name) => (await registry()).named(name),
    problems: async () => (await registry()).problems(),
    notes: async () => (await registry()).notes(),
    check: async (path) => (await registry()).check(path),
    knows: (name) => registered?.knows(name),
    isInProcess: (name) => registered?.isInProcess(name) ?? Object.hasOwn(options.program, name),
    async remotes() {
      const executors = await registry();
      await executors.list();
      return executors.remotes;
    },
    close: async () => (await made)?.close(),
  };
  opened.set(executors, executors);
  return executors;
}

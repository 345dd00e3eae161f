// A set of registrations without any.

import type { ExecutorRegistry } from "../../records/executor.ts";

export const NO_EXECUTORS: ExecutorRegistry = {
  list: async () => [],
  named: async () => [],
  problems: async () => [],
  close: async () => {},
};

// The light public entry, `nightshift/executors`: what a file of executors/ needs, and nothing of a node. A home without a
// package of its own is offered it under the name `nightshift` (app/executors/load-module.ts).

export {
  type DefinedExecutor,
  defineExecutor,
  type ExecutorDefinition,
  type ExecutorSchema,
  type ExecutorTools,
  type StandardSchema,
} from "./orchestrate/executors/define-executor.ts";

// What the loop is given by a run, live or replayed.

import type { LoopDeps } from "../../agent/loop/loop-types.ts";
import { estimateMessages } from "../../agent/models/estimate-tokens.ts";
import { classOfModelError } from "../../agent/models/model-error.ts";
import { DEFAULT_CONTEXT_TOKENS } from "../../agent/models/price.ts";
import type { CallModel } from "../../records/model.ts";
import type { ModelConfig } from "../../records/models-config.ts";
import type { Tool } from "../../records/tool.ts";
import type { Context } from "../context.ts";
import type { Place } from "./open-place.ts";
import type { Telling } from "./tell-events.ts";

export interface LoopParts {
  callModel: CallModel;
  /** Of the model that is asked first; absent keys take the usual size. */
  config: Pick<ModelConfig, "contextLength" | "maxOutputTokens">;
  maxTurns: number;
  place: Place;
  telling: Telling;
  tools: readonly Tool[];
}

export function loopDeps(
  context: Context,
  { callModel, config, maxTurns, place, telling, tools }: LoopParts,
): LoopDeps {
  return {
    callModel,
    tools,
    clock: context.clock,
    emit: telling.emit,
    window: {
      contextLength: config.contextLength ?? DEFAULT_CONTEXT_TOKENS,
      maxOutputTokens: config.maxOutputTokens,
      estimate: estimateMessages,
      summarise: callModel,
    },
    maxTurns,
    redact: place.redact,
    log: context.log,
    errorClassOf: classOfModelError,
  };
}

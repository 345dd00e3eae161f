// Model ports for tests: real configs against the scripted server, a hand-driven clock where a wait is tested.

import { chooseModels, type ModelChain } from "../../../src/agent/models/choose-model.ts";
import { type ModelPortDeps, makeModelPort } from "../../../src/agent/models/model-port.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import type { Budget, BudgetLedger, Reservation, Spending } from "../../../src/records/ledger/budgets.ts";
import type { CallModel, CallOptions, ModelRequest } from "../../../src/records/model.ts";
import { type ModelConfig, modelsOf } from "../../../src/records/models-config.ts";
import { manualClock } from "../../support/clock.ts";
import type { ModelServer } from "../../support/model-server.ts";
import { seededRandom } from "../../support/random.ts";

export const START = Date.parse("2026-11-29T06:00:00Z");

export const PRICE = { input: 2, output: 10, cachedInput: 0.5 };

/** A priced model on the scripted server. */
export function scripted(server: ModelServer, more: Partial<ModelConfig> = {}): ModelConfig {
  return { provider: "openai-compatible", id: "scripted", baseUrl: server.baseUrl, price: PRICE, ...more };
}

/** The chain of models in the order given; the first is asked, the rest is its fallback. */
export function chainOf(
  named: Record<string, ModelConfig>,
  variables: Record<string, string> = {},
): ModelChain {
  const [first = "", ...fallback] = Object.keys(named);
  return chooseModels({
    models: modelsOf({ default: first, fallback, named }),
    variable: (name) => variables[name],
  });
}

export interface TestPort {
  call: CallModel;
  clock: ReturnType<typeof manualClock>;
}

export function portFor(chain: ModelChain, more: Partial<ModelPortDeps> = {}): TestPort {
  const clock = manualClock(START);
  const call = makeModelPort({
    primary: chain,
    auxiliary: chain,
    fetch: globalThis.fetch,
    clock,
    random: seededRandom(),
    log: silentLog,
    ...more,
  });
  return { call, clock };
}

export const asks = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [
    { role: "system", text: "You are brief." },
    { role: "user", text },
  ],
  tools: [],
  ...more,
});

export const LOOK = {
  name: "look",
  description: "Looks at a place.",
  parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
};

export const calling = (more: Partial<CallOptions> = {}): CallOptions => ({
  role: "primary",
  signal: new AbortController().signal,
  ...more,
});

/** A budget in memory that keeps what was asked of it: one row, as the ledger's (S3). */
export function bookkeeper(limits: { maxTokens?: number; maxMicroUsd?: number } = {}) {
  const open: Reservation[] = [];
  const settled: { reservation: Reservation; spent: Spending }[] = [];
  const ledger: Pick<BudgetLedger, "reserve" | "settle"> = {
    async reserve(reservation) {
      const budget = row();
      const { maxTokens = Number.POSITIVE_INFINITY, maxMicroUsd = Number.POSITIVE_INFINITY } = budget;
      const tokens = budget.spent.inputTokens + budget.spent.outputTokens + budget.reservedTokens;
      const money = budget.spent.microUsd + budget.reservedMicroUsd;
      if (tokens + reservation.tokens > maxTokens || money + reservation.microUsd > maxMicroUsd)
        return { kind: "refused", budget };
      open.push(reservation);
      return { kind: "reserved" };
    },
    async settle(reservation, spent) {
      open.splice(open.indexOf(reservation), 1);
      settled.push({ reservation, spent });
    },
  };
  const sum = (pick: (spent: Spending) => number) =>
    settled.reduce((total, { spent }) => total + pick(spent), 0);
  const row = (): Budget => ({
    rootId: "root",
    maxTokens: limits.maxTokens,
    maxMicroUsd: limits.maxMicroUsd,
    spent: {
      inputTokens: sum(({ inputTokens }) => inputTokens),
      outputTokens: sum(({ outputTokens }) => outputTokens),
      microUsd: sum(({ microUsd }) => microUsd),
      calls: sum(({ calls }) => calls),
    },
    reservedTokens: open.reduce((total, { tokens }) => total + tokens, 0),
    reservedMicroUsd: open.reduce((total, { microUsd }) => total + microUsd, 0),
  });
  return { ledger, row, settled };
}

// Requests that no machine can ever meet (W5): refused where they are made, before they wait for ever.

import { Fault } from "../../kernel/errors.ts";
import { whyImpossible } from "../../orchestrate/check/resource-issues.ts";
import { eligible, needsOf } from "../../orchestrate/resources/choose.ts";
import type { Executor, ExecutorContract } from "../../records/executor.ts";
import { asksForAnything } from "../../records/resources.ts";
import type { Resources } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import { readCapacities } from "./machines.ts";

/** Throws Fault `input.refused` where no registration of the name can ever run on any machine; passes where none is known. */
export async function requirePossible(
  context: Context,
  registered: readonly Executor[],
  wish: { version?: string | undefined; resources?: Resources | undefined },
): Promise<void> {
  const candidates = eligible(registered, wish.version);
  const needs = candidates.map((one) => needsOf(one, wish.resources));
  if (needs.some((one) => !asksForAnything(one))) return;
  const [preferred] = needs;
  if (!preferred) return;
  const machines = await readCapacities(context);
  if (machines.length === 0) return;
  if (needs.some((one) => whyImpossible(one, machines) === undefined)) return;
  throw new Fault(
    "input.refused",
    `${registered[0]?.name} ${whyImpossible(preferred, machines)}, so it would wait for ever.`,
    { hint: "Ask for less, or add a machine. See `nightshift executor resources`." },
  );
}

/** The contract that a check judges: of the first registration that some machine can meet, else of the preferred one. */
export function possibleContract(
  registered: readonly Executor[],
  machines: readonly Resources[] | undefined,
): (ExecutorContract & { isElsewhere: boolean }) | undefined {
  const [preferred] = registered;
  if (!preferred) return undefined;
  const isElsewhere = registered.some(({ kind }) => kind === "remote");
  const candidates = eligible(registered, undefined);
  const found = machines && candidates.find(({ contract }) => !whyImpossible(contract.resources, machines));
  return { ...preferred.contract, resources: (found ?? preferred).contract.resources, isElsewhere };
}

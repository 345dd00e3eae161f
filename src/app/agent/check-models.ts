// `check-env --models`: one tiny call to each model, and what is wrong with those that cannot be asked.

import { chooseModels, type ResolvedModel } from "../../agent/models/choose-model.ts";
import { findLocalModels } from "../../agent/models/find-local-models.ts";
import { probeModel } from "../../agent/models/probe-model.ts";
import { isFault, sayFault } from "../../kernel/errors.ts";
import { unknownModelNames } from "../../records/models-config.ts";
import type { Context } from "../context.ts";
import type { Finding } from "../diagnosis.ts";

export interface ModelsCheck {
  findings: Finding[];
  /** Each model that answers, with how long it took. */
  checked: string[];
}

/** Every configured model, else those that run on this machine. Costs a few tokens each. */
export async function checkModels(context: Context, signal: AbortSignal): Promise<ModelsCheck> {
  const { models } = context.config;
  const check: ModelsCheck = { findings: unknownModelNames(models).map(referredTo), checked: [] };
  const names = Object.keys(models.named);
  const asked =
    names.length > 0 ? names.map((name) => resolve(context, name)) : await localModels(context, signal);
  if (asked.length === 0) check.checked.push("no model is configured, and none runs on this machine");
  for (const one of await Promise.all(asked.map((model) => probed(context, model, signal)))) {
    if (typeof one === "string") check.checked.push(one);
    else check.findings.push(one);
  }
  return check;
}

function referredTo(name: string): Finding {
  const what = `config.yaml refers to the model "${name}", which there is not.`;
  return { code: "modelUnusable", what, todo: "Add it under models.named, or correct the name." };
}

function resolve(context: Context, name: string): ResolvedModel | Finding {
  const { models } = context.config;
  try {
    return chooseModels({ models, asked: name, variable: (one) => context.variable(one) }).first;
  } catch (error) {
    if (!isFault(error)) throw error;
    return { code: "modelUnusable", what: `Model "${name}" cannot be asked.`, todo: sayFault(error) };
  }
}

async function localModels(context: Context, signal: AbortSignal): Promise<ResolvedModel[]> {
  const { models } = context.config;
  const found = await findLocalModels({ fetch, clock: context.clock }, signal);
  const variable = (name: string) => context.variable(name);
  return found.map((config) => chooseModels({ models, local: [config], variable }).first);
}

async function probed(
  context: Context,
  model: ResolvedModel | Finding,
  signal: AbortSignal,
): Promise<string | Finding> {
  if ("code" in model) return model;
  const probe = await probeModel({ ...context, fetch }, model, signal);
  if (probe.ok) return `model ${model.name} answers in ${probe.latencyMs} ms`;
  const what = `Model "${model.name}" does not answer.`;
  return { code: "modelUnusable", what, todo: context.redact(probe.error) };
}

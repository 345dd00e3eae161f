// A unit's templates with their values in: what its executor is given. Called when an attempt is about to start, with the
// secrets; and by `advance` without them, so that a template that cannot be filled ends the task before it is dispatched.

import type { Instant } from "../../kernel/time.ts";
import type { Evaluated, Scope } from "../expressions/expression.ts";
import { renderValue } from "../expressions/render-value.ts";
import { renderShell } from "../expressions/shell-template.ts";
import { renderTemplate, textOf } from "../expressions/template.ts";
import type { Plan, PlannedTask } from "./plan.ts";
import { type Progress, unitParts } from "./progress.ts";
import { scopeOf } from "./scope.ts";

export interface RenderedUnit {
  params: Record<string, unknown>;
  env: Record<string, string>;
  /** `agent`, `http`, `approval`: the task's own map. */
  work: Record<string, unknown>;
  /** `shell`: the command; its values are in `env`. */
  shell: string | undefined;
  /** The same for every attempt (L6). */
  idempotencyKey: string;
  workdir: string | undefined;
}

export type Rendered = { ok: true; value: RenderedUnit } | Extract<Evaluated, { ok: false }>;

/** @throws Error for a unit that the plan does not know: a bug. */
export function renderUnit(
  plan: Plan,
  progress: Progress,
  request: {
    unit: string;
    now: Instant;
    activatedBy?: string | undefined;
    secrets?: Readonly<Record<string, string>>;
  },
): Rendered {
  const planned = plan.tasks.get(unitParts(request.unit).task);
  if (!planned) throw new Error(`no task has the unit ${request.unit}`);
  return renderIn(planned, scopeOf(plan, progress, { ...request, heads: planned.heads }), {
    key: `${progress.start.runId}/${request.unit}`,
  });
}

function renderIn(planned: PlannedTask, scope: Scope, { key }: { key: string }): Rendered {
  const params = renderValue(planned.params, scope);
  if (!params.ok) return params;
  const env = renderValue(planned.env, scope);
  if (!env.ok) return env;
  const work = renderValue(planned.work, scope);
  if (!work.ok) return work;
  const ownKey = planned.idempotencyKey && renderTemplate(planned.idempotencyKey, scope);
  if (ownKey && !ownKey.ok) return ownKey;
  const workdir = planned.workdir && renderTemplate(planned.workdir, scope);
  if (workdir && !workdir.ok) return workdir;
  const shell = planned.shell && renderShell(planned.shell, scope);
  if (shell && !shell.ok) return shell;
  const commands: Record<string, string> = {};
  const variables: Record<string, string> = { ...shell?.value.env };
  for (const [name, template] of Object.entries(planned.shellParams)) {
    const command = renderShell(template, scope);
    if (!command.ok) return command;
    commands[name] = command.value.command;
    Object.assign(variables, command.value.env);
  }
  return {
    ok: true,
    value: {
      params: { ...mapOf(params.value), ...commands },
      env: { ...texts(mapOf(env.value)), ...variables },
      work: mapOf(work.value),
      shell: shell?.value.command,
      idempotencyKey: ownKey ? textOf(ownKey.value) : key,
      workdir: workdir && textOf(workdir.value),
    },
  };
}

function mapOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function texts(values: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));
}

// Templates in an executor's own texts: `{{ params.sku }}` in a URL, a prompt, a command (W1).
//
// I1. What a person wrote may refer to secrets (`${env:NAME}`); what a task gives may not: references are resolved in
//     the written text only, never in a value.
// I2. A value inside a URL is percent-encoded: it can add no path, host or query of its own.

import type { ExecutorCall } from "../../records/executor.ts";
import type { Compiler, Evaluated, Scope } from "../expressions/expression.ts";
import { loadCompiler } from "../expressions/load.ts";
import { compileValue, renderValue, type TemplateValue, templatesOf } from "../expressions/render-value.ts";
import { compileShell, renderShell, type ShellTemplate } from "../expressions/shell-template.ts";
import { type Language, parseTemplate, type Template, textOf } from "../expressions/template.ts";
import { invalid } from "./contract.ts";

/** Names that an executor's templates know. */
const HEADS = new Set(["params", "run", "attempt", "idempotencyKey", "env"]);

let compiler: Promise<Compiler> | undefined;

/** One a process: it keeps nothing but CEL's environment. */
async function language(): Promise<Language> {
  compiler ??= loadCompiler();
  return { compiler: await compiler, isHead: (name) => HEADS.has(name) };
}

/** Whether a text holds anything that could be a template: without one CEL is not loaded. */
function mayHoldTemplate(value: unknown): boolean {
  return JSON.stringify(value ?? null).includes("{");
}

/** What a call's templates see. */
export function scopeOfCall({ params, env, ctx }: ExecutorCall): Scope {
  const { run } = ctx;
  return {
    params,
    env,
    run: { id: run.id, jobId: run.jobId ?? null, rootId: run.rootId },
    attempt: { number: run.attempt },
    idempotencyKey: run.idempotencyKey,
  };
}

export type ResolveText = (text: string) => string;

/** A value with templates, compiled once. Throws Fault `executor.invalid` for one that cannot be read. */
export async function compileTemplates(
  value: unknown,
  of: string,
): Promise<(scope: Scope, resolve?: ResolveText) => Evaluated> {
  if (!mayHoldTemplate(value)) return (_, resolve) => ({ ok: true, value: resolved(value, resolve) });
  const compiled = compileValue(value, await language());
  requireReadable(
    templatesOf(compiled).map(({ template }) => template),
    of,
  );
  return (scope, resolve) => renderValue(resolve ? resolvedTemplates(compiled, resolve) : compiled, scope);
}

/** A URL's text (I2). One that is a template and nothing else is the value itself. */
export async function compileUrl(
  source: string,
  of: string,
): Promise<(scope: Scope, resolve: ResolveText) => Evaluated> {
  if (!mayHoldTemplate(source)) return (_, resolve) => ({ ok: true, value: resolve(source) });
  const template = parseTemplate(source, await language());
  requireReadable([template], of);
  return (scope, resolve) => {
    let text = "";
    for (const part of template.parts) {
      if ("text" in part) {
        text += resolve(part.text);
        continue;
      }
      const value = part.expression.evaluate(scope);
      if (!value.ok) return value;
      text += template.parts.length === 1 ? textOf(value.value) : encodeURIComponent(textOf(value.value));
    }
    return { ok: true, value: text };
  };
}

/** A shell command: its values travel as variables, never as text. */
export async function compileCommand(
  source: string,
  of: string,
): Promise<(scope: Scope) => ReturnType<typeof renderShell>> {
  if (!mayHoldTemplate(source)) return () => ({ ok: true, value: { command: source, env: {} } });
  const template: ShellTemplate = compileShell(parseTemplate(source, await language()));
  requireReadable([template], of);
  return (scope) => renderShell(template, scope);
}

function requireReadable(templates: readonly Pick<Template, "issues">[], of: string): void {
  const [issue] = templates.flatMap(({ issues }) => issues);
  if (issue) throw invalid(`${of}: ${issue.what}`, issue.hint);
}

/** (I1) */
function resolvedTemplates(value: TemplateValue, resolve: ResolveText): TemplateValue {
  switch (value.kind) {
    case "plain":
      return value;
    case "list":
      return { kind: "list", items: value.items.map((item) => resolvedTemplates(item, resolve)) };
    case "map":
      return {
        kind: "map",
        entries: value.entries.map(([key, item]) => [key, resolvedTemplates(item, resolve)] as const),
      };
    case "template": {
      const parts = value.template.parts.map((part) =>
        "text" in part ? { text: resolve(part.text) } : part,
      );
      return { kind: "template", template: { ...value.template, parts } };
    }
  }
}

function resolved(value: unknown, resolve: ResolveText | undefined): unknown {
  if (!resolve) return value;
  if (typeof value === "string") return resolve(value);
  if (Array.isArray(value)) return value.map((item) => resolved(item, resolve));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, resolve)]));
}

// Templates inside a value (params, outputs, env): every text in it is a template, keys are the person's own.

import type { Evaluated, Expression, Scope } from "./expression.ts";
import { type Language, parseTemplate, renderTemplate, type Template } from "./template.ts";

export type ValuePath = readonly (string | number)[];

/** A value whose texts are parsed. */
export type TemplateValue =
  | { kind: "plain"; value: unknown }
  | { kind: "template"; template: Template }
  | { kind: "list"; items: readonly TemplateValue[] }
  | { kind: "map"; entries: readonly (readonly [string, TemplateValue])[] };

export interface PlacedTemplate {
  path: ValuePath;
  template: Template;
}

/** Parses every text in a value. Never throws. */
export function compileValue(value: unknown, language: Language): TemplateValue {
  if (typeof value === "string") return { kind: "template", template: parseTemplate(value, language) };
  if (Array.isArray(value)) return { kind: "list", items: value.map((item) => compileValue(item, language)) };
  if (typeof value !== "object" || value === null) return { kind: "plain", value };
  return {
    kind: "map",
    entries: Object.entries(value).map(([key, member]) => [key, compileValue(member, language)] as const),
  };
}

/** The value with every template replaced; the first one that cannot be evaluated is the answer. */
export function renderValue(value: TemplateValue, scope: Scope): Evaluated {
  if (value.kind === "plain") return { ok: true, value: value.value };
  if (value.kind === "template") return renderTemplate(value.template, scope);
  const isList = value.kind === "list";
  const members = isList ? value.items.map((item) => ["", item] as const) : value.entries;
  const rendered: [string, unknown][] = [];
  for (const [key, member] of members) {
    const result = renderValue(member, scope);
    if (!result.ok) return result;
    rendered.push([key, result.value]);
  }
  return { ok: true, value: isList ? rendered.map(([, item]) => item) : Object.fromEntries(rendered) };
}

/** Every template in a value with its place. */
export function templatesOf(value: TemplateValue, path: ValuePath = []): PlacedTemplate[] {
  if (value.kind === "template") return [{ path, template: value.template }];
  if (value.kind === "list") return value.items.flatMap((item, index) => templatesOf(item, [...path, index]));
  if (value.kind === "map")
    return value.entries.flatMap(([key, member]) => templatesOf(member, [...path, key]));
  return [];
}

/** The one expression a text consists of; undefined for any other text. */
export function wholeExpression(template: Template): Expression | undefined {
  const [first] = template.parts;
  return template.parts.length === 1 && first && "expression" in first ? first.expression : undefined;
}
